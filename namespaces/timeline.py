"""Timeline: which states are due by now. Pure: no clock, no thread, no kernel.

::

    Track forward  |s0------|s1------|s2------|s0' ...     a track: states of one qdisc and their start times
    Track back     |s0------|s1------|s2------|s0' ...
                            ^ one deadline, both directions
    take(until) -> the next cues, before they are due
    due(now) ----> the newest cue of each track, and those it came too late for
"""

from __future__ import annotations

import heapq
import math
import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from netlab.errors import SpecError
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.schedule import Schedule

__all__ = ["Cue", "Due", "Taken", "Timeline", "Track", "schedule_track"]


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

    def cue(self, count: int, position: int = 0) -> Cue | None:
        """Return the cue of a step, counted over all passes; None past the end.

        Args:
            count: Which step.
            position: Which of the tracks that are played together this is.
        """
        passes, step = divmod(count, len(self.states))
        if passes and not self.loop:
            return None
        return Cue(self, count, passes * self.duration_s + self.starts_s[step], position)

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


class Cue(Struct, gc=False):
    """One state to be put in force at one time; refers to nothing that refers back, so nothing has to collect it.

    Attributes:
        track: Where it belongs.
        count: Which step, counted over all passes.
        asked_s: When, from the start of play.
        position: Which of the tracks that are played together, counted from 0.
    """

    track: Track
    count: int
    asked_s: float
    position: int = 0
    _state: QdiscState | None = None
    _next: Cue | None = None

    @property
    def state(self) -> QdiscState:
        """What is to be in force; made once, and never for a cue that is superseded."""
        state = self._state
        if state is None:
            state = self._state = self.track.state(self.count)
        return state

    @property
    def next(self) -> Cue | None:
        """The cue after this one; None past the end."""
        following = self._next
        if following is None:
            following = self._next = self.track.cue(self.count + 1, self.position)
        return following


class Taken(NamedTuple):
    """What comes next.

    Attributes:
        cues: One a track at most, in the order of time.
        moments: On how many different moments they are due.
    """

    cues: Sequence[Cue]
    moments: int

    @property
    def last_s(self) -> float:
        """When the last of them is due."""
        return self.cues[-1].asked_s


_NOTHING = Taken((), 0)


class Due(NamedTuple):
    """What must happen now.

    Attributes:
        cues: The newest due cue of each track, in the order of the tracks.
        superseded: Cues whose successor is due as well: too late for them.
        moments: On how many different moments all of these were due.
    """

    cues: Sequence[Cue]
    superseded: Sequence[Cue]
    moments: int


class Timeline:
    """The cues of several tracks in the order of time.

    Each track has one cue that is next. Those of one moment lie together, and a heap holds the moments, not the
    tracks: tracks in step with one another cost an append each, however many there are.
    """

    def __init__(self, tracks: Sequence[Track]) -> None:
        self._next: dict[float, list[Cue]] = {}
        self._moments: list[float] = []
        self._unmade: list[Cue] = []
        for position, track in enumerate(tracks):
            self._line_up(track.cue(0, position))
        # Without a loop, play lasts until the last state has had its time.
        loops = any(track.loop for track in tracks)
        self.end_s = math.inf if loops else max((track.duration_s for track in tracks), default=0.0)

    def next_s(self) -> float | None:
        """Return when the next cue is due; None when there is none left."""
        return self._moments[0] if self._moments else None

    def prepare(self) -> list[Cue]:
        """Make the states of the next cues now, and the cues after them, while there is time.

        Returns:
            Those cues that are new since it was asked last.
        """
        made, self._unmade = self._unmade, []
        for cue in made:
            cue.state, cue.next  # noqa: B018 - made and kept
        return made

    def take(self, until_s: float = -math.inf) -> Taken:
        """Take out the cues of the next moment, due or not; nothing where none is left.

        Args:
            until_s: And of the moments up to this one, as long as no track comes twice.
        """
        if not self._moments:
            return _NOTHING
        cues, moments = self._take_moment(), 1
        if not self._moments or self._moments[0] > until_s:
            return Taken(cues, moments)
        cues, positions = list(cues), {cue.position for cue in cues}
        while self._moments and self._moments[0] <= until_s:
            before = len(positions)
            later = self._next[self._moments[0]]
            positions.update([cue.position for cue in later])
            if len(positions) < before + len(later):
                break
            cues += self._take_moment()
            moments += 1
        return Taken(cues, moments)

    def _take_moment(self) -> list[Cue]:
        cues = self._next.pop(heapq.heappop(self._moments))
        for cue in cues:
            self._line_up(cue.next)
        return cues

    def due(self, now_s: float, taken: Taken = _NOTHING) -> Due:
        """Take out every cue due by now.

        Args:
            now_s: The time.
            taken: What ``take`` took out before, if that is due as well.
        """
        if not self._moments or self._moments[0] > now_s:
            return Due(taken.cues, (), taken.moments)
        newest = {cue.position: cue for cue in taken.cues}
        superseded: list[Cue] = []
        moments = taken.moments
        while self._moments and self._moments[0] <= now_s:
            moments += 1
            for cue in self._take_moment():
                overtaken = newest.get(cue.position)
                if overtaken is not None:
                    superseded.append(overtaken)
                newest[cue.position] = cue
        self._unmade = [cue for cue in self._unmade if cue.asked_s > now_s]
        return Due(sorted(newest.values(), key=_position), superseded, moments)

    def _line_up(self, cue: Cue | None) -> None:
        """Put a track's next cue among those of its moment."""
        if cue is None:
            return
        together = self._next.get(cue.asked_s)
        if together is None:
            together = self._next[cue.asked_s] = []
            heapq.heappush(self._moments, cue.asked_s)
        together.append(cue)
        self._unmade.append(cue)


_position = operator.attrgetter("position")
