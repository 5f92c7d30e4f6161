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
import time
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Literal, Protocol, Self

from msgspec import Struct

from netlab.errors import KernelError, LabError
from netlab.namespaces.syscalls import set_timer_slack
from netlab.namespaces.timeline import Cue, Timeline, Track
from netlab.traces.qdisc_state import QdiscState

__all__ = ["Clock", "MonotonicClock", "Played", "PlayedQdisc", "PlayedStep", "Player", "PlayerCounts"]

DEFAULT_LOG_STEPS = 1_000_000
_VERIFY_EVERY_S = 1.0
# A read-back takes about 0.3 ms in a guest kernel.
_VERIFY_SLACK_S = 0.02

Outcome = Literal["applied", "superseded", "failed"]


class PlayedQdisc(Protocol):
    """What the Player needs of a NetemQdisc."""

    def apply_fast(self, state: QdiscState) -> None:
        """Put a state in force; raise KernelError where the kernel refuses."""
        ...

    def verify(self) -> None:
        """Raise KernelError where the kernel shows another state than the last one sent."""
        ...


class Clock(Protocol):
    """Where the Player gets its time from."""

    def now_s(self) -> float:
        """Return the time, from any beginning."""
        ...

    def wait_until(self, deadline_s: float, interrupt: threading.Event) -> None:
        """Return at the deadline, or earlier when interrupted."""
        ...


class MonotonicClock:
    """The machine's monotonic clock."""

    def now_s(self) -> float:
        """Return the seconds since some time in the past."""
        return time.monotonic()

    def wait_until(self, deadline_s: float, interrupt: threading.Event) -> None:
        """Sleep until the deadline or the interrupt."""
        while (left_s := deadline_s - time.monotonic()) > 0.0:
            if interrupt.wait(min(left_s, threading.TIMEOUT_MAX)):
                return


class Played(Struct, frozen=True):
    """A track and the qdisc it is played on."""

    track: Track
    qdisc: PlayedQdisc


class PlayedStep(Struct, frozen=True, kw_only=True):
    """One line of the log.

    Attributes:
        track: Name of the track.
        step: Which step, counted over all passes.
        asked_s: When it was to be in force, from the start of play.
        applied_s: When the kernel had acknowledged it; None where it was not applied.
        outcome: ``applied``, ``superseded`` or ``failed``.
        error: Why it failed.
    """

    track: str
    step: int
    asked_s: float
    applied_s: float | None
    outcome: Outcome
    error: str = ""


class PlayerCounts(Struct, frozen=True, kw_only=True):
    """What has been played so far; goes on counting when the log is full.

    Attributes:
        applied: Steps put in force.
        superseded: Steps whose successor was due before they were applied.
        failed: Steps the kernel refused.
        verified: Read-backs that showed the state asked for.
        late_max_s: Greatest time from asked to acknowledged.
        late_mean_s: Mean of that time.
    """

    applied: int = 0
    superseded: int = 0
    failed: int = 0
    verified: int = 0
    late_max_s: float = 0.0
    late_mean_s: float = 0.0


class Player:
    """Plays tracks, each on its qdisc, in a thread of its own.

    Args:
        played: Tracks and qdiscs; those of one link belong together in one Player.
        clock: Where time comes from.
        log_steps: How many of the newest steps the log keeps.
    """

    def __init__(
        self, played: Sequence[Played], clock: Clock | None = None, log_steps: int = DEFAULT_LOG_STEPS
    ) -> None:
        self._played = tuple(played)
        self._qdiscs = {one.track.name: one.qdisc for one in self._played}
        if len(self._qdiscs) != len(self._played):
            raise LabError("two tracks of one name in a player", hint="name them by link and direction")
        self._timeline = Timeline([one.track for one in self._played])
        self._clock: Clock = clock or MonotonicClock()
        self._log: deque[PlayedStep] = deque(maxlen=log_steps)
        self._applied = self._superseded = self._failed = self._verified = 0
        self._late_max_s = self._late_sum_s = 0.0
        self._start_s = 0.0
        self._verified_s = 0.0
        self._unverified: dict[str, PlayedQdisc] = {}
        self._problem: BaseException | None = None
        self._interrupt = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def log(self) -> list[PlayedStep]:
        """The newest steps, oldest first."""
        return list(self._log)

    @property
    def counts(self) -> PlayerCounts:
        """What has been played so far."""
        return PlayerCounts(
            applied=self._applied,
            superseded=self._superseded,
            failed=self._failed,
            verified=self._verified,
            late_max_s=self._late_max_s,
            late_mean_s=self._late_sum_s / self._applied if self._applied else 0.0,
        )

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
            self._superseded += 1
            self._note(cue, None, "superseded")

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
            self._failed += 1
            self._problem = self._problem or error
            self._note(cue, None, "failed", str(error))
            return
        applied_s = self._now_s()
        late_s = applied_s - cue.asked_s
        self._applied += 1
        self._late_sum_s += late_s
        self._late_max_s = max(self._late_max_s, late_s)
        self._unverified[cue.track.name] = qdisc
        self._note(cue, applied_s, "applied")

    def _note(self, cue: Cue, applied_s: float | None, outcome: Outcome, error: str = "") -> None:
        self._log.append(
            PlayedStep(
                track=cue.track.name,
                step=cue.count,
                asked_s=cue.asked_s,
                applied_s=applied_s,
                outcome=outcome,
                error=error,
            )
        )

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
                self._verified += 1
            except KernelError as error:
                self._problem = self._problem or error
