"""Asked: what a direction was asked to do, as the states of a qdisc and when each begins. Pure.

::

    QdiscState | LinkProfile | Schedule --Asked.of--> states_at(sent_s): (state, packets from .. to) ...
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.errors import ProfileError
from netlab.traces.model.link_model import check_modelled
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.schedule import Schedule

__all__ = ["Asked", "Direction", "Stretch"]

Direction = QdiscState | LinkProfile | Schedule


class Stretch(NamedTuple):
    """Packets that meet one state.

    Attributes:
        state: What they meet, without a seed.
        first: Number of the first of them.
        end: Number after the last.
    """

    state: QdiscState
    first: int
    end: int


class Asked(NamedTuple):
    """States of one direction over time.

    Attributes:
        states: Without seeds; the first holds before the beginning as well.
        starts_s: When each begins, from the beginning.
        duration_s: When the last ends; infinite for one that holds for ever.
        loops: Whether it begins again then.
        begin_s: When it begins, on the clock of the packets.
    """

    states: tuple[QdiscState, ...]
    starts_s: tuple[float, ...]
    duration_s: float
    loops: bool
    begin_s: float

    @classmethod
    def of(cls, asked: Direction | Asked, begin_s: float = 0.0) -> Asked:
        """Return what a state, a profile or a schedule asks for.

        Args:
            asked: One direction of a link, or what it asks for already: a long schedule is made once.
            begin_s: When a schedule begins, on the clock of the packets; may be before the first.

        Raises:
            ProfileError: It asks for slots, which no model foresees.
        """
        if isinstance(asked, Asked):
            return asked._replace(begin_s=begin_s)
        if isinstance(asked, Schedule):
            states = asked.to_qdisc_states(lambda _: None)
            starts_s = tuple(step.start_s for step in asked.steps)
            made = cls(states, starts_s, asked.duration_s, asked.loop, begin_s)
        else:
            state = asked.to_qdisc_state(None) if isinstance(asked, LinkProfile) else asked.replace(seed=None)
            made = cls((state,), (0.0,), math.inf, False, begin_s)
        for state in made.states:
            _require_modelled(state)
        return made

    def stretches(self, sent_s: NDArray[np.float64]) -> Iterator[Stretch]:
        """Yield which packets meet which state, in order.

        Args:
            sent_s: When each is sent; never decreasing, ``[n]``.
        """
        counts = self._steps_at(sent_s)
        edges = np.flatnonzero(np.diff(counts)) + 1
        firsts, ends = [0, *edges.tolist()], [*edges.tolist(), sent_s.size]
        for first, end in zip(firsts, ends, strict=True):
            yield Stretch(self.states[int(counts[first]) % len(self.states)], first, end)

    def settled(self, sent_s: NDArray[np.float64], within_s: float) -> NDArray[np.bool_]:
        """Return which packets are not sent within some time after a change, ``[n]``."""
        if len(self.states) == 1:
            return np.ones(sent_s.size, dtype=bool)
        settled: NDArray[np.bool_] = self._steps_at(sent_s) == self._steps_at(sent_s - within_s)
        return settled

    def _steps_at(self, sent_s: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return which step holds at each time, counted over all passes, ``[n]``."""
        since_s = np.maximum(sent_s - self.begin_s, 0.0)
        passes = np.zeros(sent_s.size, dtype=np.int64)
        if self.loops:
            passes = np.floor_divide(since_s, self.duration_s).astype(np.int64)
            since_s = since_s - passes * self.duration_s
        within = np.searchsorted(np.asarray(self.starts_s), since_s, side="right") - 1
        return passes * len(self.states) + np.maximum(within, 0)


def _require_modelled(state: QdiscState) -> None:
    try:
        check_modelled(state)
    except ProfileError as error:
        if state.slot is None:
            raise
        problem = "slot: what slots deliver is not modelled, so there is nothing to judge it by"
        raise ProfileError(problem, hint="leave the slot out; netlab trace plot shows what it delivers") from error
