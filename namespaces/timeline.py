"""Timeline: which states are due by now. Pure: no clock, no thread, no kernel.

::

    Track forward  |s0------|s1------|s2------|s0' ...     a track: states of one qdisc and their start times
    Track back     |s0------|s1------|s2------|s0' ...
                            ^ one deadline, both directions
    due(now) -> the newest cue of each track, and those it came too late for
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from netlab.errors import SpecError
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.schedule import Schedule

__all__ = ["Cue", "Due", "Timeline", "Track", "schedule_track"]


class Track(Struct, frozen=True, kw_only=True):
    """The states of one qdisc over time.

    Attributes:
        name: What the log calls it.
        starts_s: When each state begins, from the start of play; strictly increasing, the first at 0.
        states: The states, one a start.
        duration_s: When the last state ends; a loop begins again there.
        loop: Begin again for ever; else the last state stays.
        seed_of: Seed of a step, counted over all passes, so that no pass repeats the losses of the one
            before; None keeps the seeds of ``states``.
    """

    name: str
    starts_s: tuple[float, ...]
    states: tuple[QdiscState, ...]
    duration_s: float
    loop: bool = False
    seed_of: Callable[[int], int] | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be played.

        Raises:
            SpecError: Not one start a state, not from 0, not increasing, or not ending after the last.
        """
        if not self.states or len(self.starts_s) != len(self.states):
            raise SpecError(f"{len(self.starts_s)} starts for {len(self.states)} states", key=self.name)
        if self.starts_s[0] != 0.0:
            raise SpecError(f"begins at {self.starts_s[0]:g} s: must begin at 0", key=self.name)
        edges = (*self.starts_s, self.duration_s)
        for earlier, later in pairwise(edges):
            if not (math.isfinite(later) and earlier < later):
                raise SpecError(f"{later:g} s follows {earlier:g} s: times must increase", key=self.name)

    def cue(self, count: int) -> Cue | None:
        """Return the cue of a step, counted over all passes; None past the end."""
        passes, step = divmod(count, len(self.states))
        if passes and not self.loop:
            return None
        return Cue(self, count, passes * self.duration_s + self.starts_s[step])

    def state(self, count: int) -> QdiscState:
        """Return the state of a step, counted over all passes, with its seed."""
        state = self.states[count % len(self.states)]
        return state if self.seed_of is None else state.replace(seed=self.seed_of(count))


def schedule_track(name: str, schedule: Schedule, seed_of: Callable[[int], int] | None = None) -> Track:
    """Return a schedule as the states of a qdisc.

    Args:
        name: What the log calls it.
        schedule: One direction of a link over time.
        seed_of: Seed of a step, counted over all passes; None leaves seeds to the kernel.
    """
    return Track(
        name=name,
        starts_s=tuple(step.start_s for step in schedule.steps),
        states=schedule.to_qdisc_states(lambda _: None),  # each gets its own seed when it is played
        duration_s=schedule.duration_s,
        loop=schedule.loop,
        seed_of=seed_of,
    )


class Cue:
    """One state to be put in force at one time.

    Attributes:
        track: Where it belongs.
        count: Which step, counted over all passes.
        asked_s: When, from the start of play.
    """

    def __init__(self, track: Track, count: int, asked_s: float) -> None:
        self.track = track
        self.count = count
        self.asked_s = asked_s

    @cached_property
    def state(self) -> QdiscState:
        """What is to be in force; made once, and never for a cue that is superseded."""
        return self.track.state(self.count)


class Due(NamedTuple):
    """What must happen now.

    Attributes:
        cues: The newest due cue of each track, in the order of the tracks.
        superseded: Cues whose successor is due as well: too late for them.
    """

    cues: tuple[Cue, ...]
    superseded: tuple[Cue, ...]


class Timeline:
    """The cues of several tracks in the order of time."""

    def __init__(self, tracks: Sequence[Track]) -> None:
        self._next: list[Cue | None] = [track.cue(0) for track in tracks]
        # Without a loop, play lasts until the last state has had its time.
        loops = any(track.loop for track in tracks)
        self.end_s = math.inf if loops else max((track.duration_s for track in tracks), default=0.0)

    def next_s(self) -> float | None:
        """Return when the next cue is due; None when there is none left."""
        return min((cue.asked_s for cue in self._next if cue is not None), default=None)

    def prepare(self) -> None:
        """Make the states of the next cues now, while there is time."""
        for cue in self._next:
            if cue is not None:
                cue.state  # noqa: B018 - made and kept

    def due(self, now_s: float) -> Due:
        """Take out every cue due by now."""
        cues: list[Cue] = []
        superseded: list[Cue] = []
        for position, cue in enumerate(self._next):
            newest = None
            while cue is not None and cue.asked_s <= now_s:
                if newest is not None:
                    superseded.append(newest)
                newest, cue = cue, cue.track.cue(cue.count + 1)  # noqa: PLW2901 - walks along one track
            self._next[position] = cue
            if newest is not None:
                cues.append(newest)
        return Due(tuple(cues), tuple(superseded))
