"""First difference of two plays of the same episodes, tick by tick."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from netlab.envs.tick_log import TickRecord
from netlab.errors import LabError
from netlab.tables.parity_wrapper import EpisodeTick

__all__ = ["FirstDifference", "by_episode", "first_differences", "of_log"]


class FirstDifference(NamedTuple):
    """Where two plays of an episode part.

    Attributes:
        episode: Number of the episode in its run.
        tick: Number of the tick in its episode.
        what: ``tick`` (one side left one out), ``source``, ``age``, ``action``, ``reward`` or ``end``: the first
            of these that differs.
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
    """Return where each episode that does not agree parts.

    Args:
        here: Ticks of one play, in their order.
        there: Of the other.

    Raises:
        LabError: One play has an episode that the other has not.
    """
    ours, theirs = ({ticks[0].episode: ticks for ticks in by_episode(side)} for side in (here, there))
    alone = sorted(ours.keys() ^ theirs.keys())
    if alone:
        raise LabError(
            f"{len(ours)} episodes on one side, {len(theirs)} on the other: episode {alone[0]} is on one alone",
            hint="one of them ended before its time; run the same command again",
        )
    found = (_first(ours[episode], theirs[episode]) for episode in sorted(ours))
    return [difference for difference in found if difference is not None]


def _first(ours: Sequence[EpisodeTick], theirs: Sequence[EpisodeTick]) -> FirstDifference | None:
    for one, other in zip(ours, theirs, strict=False):
        for what, left, right in (
            ("tick", one.tick, other.tick),
            ("source", one.source, other.source),
            ("age", one.age_ticks, other.age_ticks),
            ("action", one.action, other.action),
            ("reward", one.reward, other.reward),
        ):
            if left != right:
                return FirstDifference(one.episode, min(one.tick, other.tick), what, one, other)
    if len(ours) == len(theirs):
        return None
    place = min(len(ours), len(theirs))
    left, right = (ticks[place] if place < len(ticks) else None for ticks in (ours, theirs))
    return FirstDifference(ours[0].episode, (left or right or ours[-1]).tick, "end", left, right)
