"""First difference of two plays of the same episodes, tick by tick."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from netlab.envs.tick_log import TickRecord
from netlab.tables.parity_wrapper import EpisodeTick

__all__ = ["FirstDifference", "by_episode", "first_differences", "of_log"]


class FirstDifference(NamedTuple):
    """Where two plays of an episode part.

    Attributes:
        episode: Number of the episode in its run.
        tick: Number of the tick in its episode.
        what: ``source``, ``age``, ``action``, ``reward`` or ``end``: the first of these that differs.
        here: That tick in the one play; None where it has ended.
        there: The same in the other.
    """

    episode: int
    tick: int
    what: str
    here: EpisodeTick | None
    there: EpisodeTick | None


def of_log(records: Iterable[TickRecord]) -> list[EpisodeTick]:
    """Return what a tick log says, with ticks counted from the beginning of their episode."""
    ticks: list[EpisodeTick] = []
    for episode, group in groupby(records, key=lambda record: record.episode):
        first: int | None = None
        for record in group:
            first = record.tick if first is None else first
            ticks.append(
                EpisodeTick(
                    episode, record.tick - first, record.source, record.age_ticks, record.action, record.reward
                )
            )
    return ticks


def by_episode(ticks: Iterable[EpisodeTick]) -> list[list[EpisodeTick]]:
    """Return the ticks of each episode, in their order."""
    return [list(group) for _, group in groupby(ticks, key=lambda tick: tick.episode)]


def first_differences(here: Sequence[EpisodeTick], there: Sequence[EpisodeTick]) -> list[FirstDifference]:
    """Return where each episode that does not agree parts; those that only one side has are left out.

    Args:
        here: Ticks of one play, in their order.
        there: Of the other.
    """
    found = []
    for ours, theirs in zip(by_episode(here), by_episode(there), strict=False):
        difference = _first(ours, theirs)
        if difference is not None:
            found.append(difference)
    return found


def _first(ours: Sequence[EpisodeTick], theirs: Sequence[EpisodeTick]) -> FirstDifference | None:
    for one, other in zip(ours, theirs, strict=False):
        for what, left, right in (
            ("source", one.source, other.source),
            ("age", one.age_ticks, other.age_ticks),
            ("action", one.action, other.action),
            ("reward", one.reward, other.reward),
        ):
            if left != right:
                return FirstDifference(one.episode, one.tick, what, one, other)
    if len(ours) == len(theirs):
        return None
    tick = min(len(ours), len(theirs))
    sides = [ticks[tick] if tick < len(ticks) else None for ticks in (ours, theirs)]
    return FirstDifference(ours[0].episode, tick, "end", *sides)
