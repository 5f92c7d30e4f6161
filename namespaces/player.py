"""Player: puts the states of a schedule in force on absolute deadlines and keeps a log of what it did.

::

    Timeline.due(now) --newest of each track--> NetemQdisc.apply_fast --> PlayedStep(asked, applied)
                      `-superseded------------> PlayedStep(asked, -)       nothing is left out silently
    with time to spare, and at the end: NetemQdisc.verify

A late step is applied late, or, when its successor is due as well, logged as superseded. Deadlines are
counted from one start, so lateness never adds up. Both directions of a link change on the same deadline, one
right after the other. Time and kernel are handed in: the tests jump.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from msgspec import Struct

from netlab.errors import KernelError, LabError
from netlab.namespaces.play_log import DEFAULT_LOG_STEPS, PlayedStep, PlayerCounts, PlayLog
from netlab.namespaces.player_clock import InterruptibleClock, PlayerClock
from netlab.namespaces.syscalls import set_timer_slack
from netlab.namespaces.timeline import Cue, Timeline, Track
from netlab.traces.qdisc_state import QdiscState

__all__ = ["Played", "PlayedQdisc", "Player"]

_VERIFY_EVERY_S = 1.0
# A read-back takes about 0.3 ms in a guest kernel.
_VERIFY_SLACK_S = 0.02


class PlayedQdisc(Protocol):
    """What the Player needs of a NetemQdisc."""

    def apply_fast(self, state: QdiscState) -> None:
        """Put a state in force; raise KernelError where the kernel refuses."""
        ...

    def verify(self) -> None:
        """Raise KernelError where the kernel shows another state than the last one sent."""
        ...


class Played(Struct, frozen=True):
    """A track and the qdisc it is played on."""

    track: Track
    qdisc: PlayedQdisc


class Player:
    """Plays tracks, each on its qdisc, in a thread of its own.

    Args:
        played: Tracks and qdiscs; those of one link belong together in one Player.
        clock: Where time comes from.
        log_steps: How many of the newest steps the log keeps.
    """

    def __init__(
        self, played: Sequence[Played], clock: PlayerClock | None = None, log_steps: int = DEFAULT_LOG_STEPS
    ) -> None:
        self._played = tuple(played)
        self._qdiscs = {one.track.name: one.qdisc for one in self._played}
        if len(self._qdiscs) != len(self._played):
            raise LabError("two tracks of one name in a player", hint="name them by link and direction")
        self._timeline = Timeline([one.track for one in self._played])
        self._clock: PlayerClock = clock or InterruptibleClock()
        self._log = PlayLog(log_steps)
        self._start_s = 0.0
        self._verified_s = 0.0
        self._unverified: dict[str, PlayedQdisc] = {}
        self._problem: BaseException | None = None
        self._interrupt = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def log(self) -> list[PlayedStep]:
        """The newest steps, oldest first."""
        return self._log.steps

    @property
    def counts(self) -> PlayerCounts:
        """What has been played so far."""
        return self._log.counts

    @property
    def duration_s(self) -> float:
        """How long it plays; infinite where a track loops."""
        return self._timeline.end_s

    def start(self) -> None:
        """Begin now, in a thread.

        Raises:
            LabError: It was started before; a Player plays once.
        """
        if self._thread is not None:
            raise LabError("this player has been started already", hint="make a new one")
        self._thread = threading.Thread(target=self._play_in_thread, name="netlab-player", daemon=True)
        self._thread.start()

    def is_playing(self) -> bool:
        """Tell whether it still changes qdiscs: it has been started, and neither ended nor been stopped."""
        return self._thread is not None and self._thread.is_alive()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it has played to the end; False when the time is up before."""
        if self._thread is None:
            return False
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def check(self) -> None:
        """Do nothing as long as every step was applied and every read-back showed it.

        Raises:
            KernelError: The first refusal or difference.
            BaseException: What else ended it.
        """
        if self._problem is not None:
            raise self._problem

    def stop(self) -> None:
        """Stop; the links stay as they are. Then read back what was applied last.

        Raises:
            KernelError: The first refusal or difference there has been.
        """
        self._interrupt.set()
        if self._thread is not None:
            self._thread.join()
        self._verify()
        self.check()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def play(self) -> None:
        """Play to the end or the interrupt, in the calling thread."""
        self._start_s = self._clock.now_s()
        while not self._interrupt.is_set():
            next_s = self._timeline.next_s()
            self._timeline.prepare()
            self._verify_where_idle(next_s)
            if next_s is None:
                self._clock.wait_until(self._start_s + self._timeline.end_s, self._interrupt)
                break
            self._clock.wait_until(self._start_s + next_s, self._interrupt)
            if not self._interrupt.is_set():
                # Start + next - start may come out a hair below next.
                self._play_due(max(next_s, self._now_s()))

    def _play_due(self, now_s: float) -> None:
        """Apply what is due by now and log it."""
        due = self._timeline.due(now_s)
        for cue in due.cues:
            self._apply(cue)
        for cue in due.superseded:
            self._log.note_superseded(cue)

    def _play_in_thread(self) -> None:
        try:
            set_timer_slack(1)  # this thread's sleeps end when they should
            self.play()
        except BaseException as error:  # for check(), in the thread that asks
            self._problem = self._problem or error

    def _now_s(self) -> float:
        return self._clock.now_s() - self._start_s

    def _apply(self, cue: Cue) -> None:
        qdisc = self._qdiscs[cue.track.name]
        try:
            qdisc.apply_fast(cue.state)
        except KernelError as error:
            self._problem = self._problem or error
            self._log.note_failed(cue, str(error))
            return
        self._log.note_applied(cue, self._now_s())
        self._unverified[cue.track.name] = qdisc

    def _verify_where_idle(self, next_s: float | None) -> None:
        """Read back now and then, only where it cannot make the next step late."""
        now_s = self._now_s()
        idle = next_s is None or next_s - now_s >= _VERIFY_SLACK_S * max(1, len(self._unverified))
        if self._unverified and idle and now_s - self._verified_s >= _VERIFY_EVERY_S:
            self._verify()
            self._verified_s = now_s

    def _verify(self) -> None:
        unverified, self._unverified = self._unverified, {}
        for qdisc in unverified.values():
            try:
                qdisc.verify()
                self._log.note_verified()
            except KernelError as error:
                self._problem = self._problem or error
