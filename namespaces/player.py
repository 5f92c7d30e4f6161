"""Player: puts the states of a schedule in force on absolute deadlines and keeps a log of what it did.

::

    Timeline.due(now) --newest of each track--> Wire.change_together --> PlayedStep(asked, applied)
                      `-superseded------------> PlayedStep(asked, -)      nothing is left out silently
    beside it, with time to spare, and at the end: Verifier

A late step is applied late, or, when its successor is due as well, logged as superseded; none is applied early.
Deadlines are counted from one start, so lateness never adds up. What is due on one deadline, both directions of
a link or many links, goes to the kernel in one message, which is ready before. Where deadlines come faster than
messages go, several wait for one: see ``_REST_S``. Time and kernel are handed in: the tests jump.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import msgspec
from msgspec import Struct

from netlab.errors import LabError
from netlab.namespaces.impairer import Change, ChangeTogether, Impairer, Refusals
from netlab.namespaces.play_log import DEFAULT_LOG_STEPS, PlayedStep, PlayerCounts, PlayLog
from netlab.namespaces.player_clock import InterruptibleClock, PlayerClock
from netlab.namespaces.staged_changes import Preparable, PreparedChanges, PreparesTogether
from netlab.namespaces.syscalls import set_timer_slack
from netlab.namespaces.timeline import Cue, Due, Taken, Timeline, Track
from netlab.namespaces.verifier import Verifier

__all__ = ["Played", "Player"]


_CROWD = 8
_BEHIND_S = 0.1e-3
_REST_S = 2e-3
"""Where one message had to carry what was due on so many moments, and the first of them had waited so long, the
next message goes so much later, or when a track would come twice, with all that is due by then: a message costs as
much as thirty changes. So a step is late by this much more at most. Never in virtual time, where nothing waits."""

_SOON_S = 1e-3


class Played(Struct, frozen=True):
    """A track and the direction of a link it is played on."""

    track: Track
    impairer: Impairer


class Player:
    """Plays tracks, each on its direction of a link, in a thread of its own.

    Args:
        played: Tracks and directions; those of one lab belong together in one Player.
        change_together: How what is due on one deadline is put in force: the wire's.
        clock: Where time comes from.
        log_steps: How many of the newest steps the log keeps.
        wire: Where changes can be made ready together before they are due; None where they cannot.
    """

    def __init__(
        self,
        played: Sequence[Played],
        change_together: ChangeTogether,
        clock: PlayerClock | None = None,
        log_steps: int = DEFAULT_LOG_STEPS,
        wire: PreparesTogether | None = None,
    ) -> None:
        self._played = tuple(played)
        self._change_together = change_together
        self._wire = wire
        self._impairers = [one.impairer for one in self._played]
        self._preparable = [one if isinstance(one, Preparable) else None for one in self._impairers]
        if len({one.track.name for one in self._played}) != len(self._played):
            raise LabError("two tracks of one name in a player", hint="name them by link and direction")
        self._timeline = Timeline([one.track for one in self._played])
        self._clock: PlayerClock = clock or InterruptibleClock()
        self._log = PlayLog(log_steps)
        self._start_s: float | None = None
        self._rested_s = -math.inf
        self._next_s: float | None = 0.0
        self._verifier = Verifier()
        self._problem: BaseException | None = None
        self._interrupt = threading.Event()
        self._thread: threading.Thread | None = None
        self._reading: threading.Thread | None = None

    @property
    def log(self) -> list[PlayedStep]:
        """The newest steps, oldest first."""
        return self._log.steps

    @property
    def counts(self) -> PlayerCounts:
        """What has been played so far."""
        return msgspec.structs.replace(self._log.counts, verified=self._verifier.verified)

    @property
    def start_s(self) -> float | None:
        """When play began, in seconds of the Player's clock, the monotonic one unless given; None before.

        What the log calls asked and applied counts from here.
        """
        return self._start_s

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
        self._reading = threading.Thread(target=self._read_back, name="netlab-read-back", daemon=True)
        self._reading.start()

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
            NetlabError: The first refusal or difference.
            BaseException: What else ended it.
        """
        problem = self._problem or self._verifier.problem
        if problem is not None:
            raise problem

    def stop(self) -> None:
        """Stop; the links stay as they are. Then read back what was applied last.

        Raises:
            NetlabError: The first refusal or difference there has been.
            BaseException: What else ended it.
        """
        self._interrupt.set()
        for thread in (self._thread, self._reading):
            if thread is not None:
                thread.join()
        try:
            self._verifier.finish()
        finally:
            self.check()  # what went wrong first counts

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def play(self) -> None:
        """Play to the end or the interrupt, in the calling thread."""
        while not self._interrupt.is_set():
            self._next_s = self._timeline.next_s()
            # All that can be done before the deadline is done before it; before the first one play has not begun.
            self._make_ready()
            taken = self._timeline.take(self._rested_s)
            changes = self._changes(taken.cues)
            prepared = self._wire.prepare_together(changes) if self._wire is not None else None
            if self._start_s is None:
                self._start_s = self._clock.now_s()
            if not taken.cues:
                self._clock.wait_until(self._start_s + self._timeline.end_s, self._interrupt)
                break
            self._clock.wait_until(self._start_s + taken.last_s, self._interrupt)
            if not self._interrupt.is_set():
                # Start + next - start may come out a hair below next.
                self._play_due(max(taken.last_s, self._now_s()), taken, changes, prepared)

    def _make_ready(self) -> None:
        """Make what comes next, while there is time."""
        for cue in self._timeline.prepare():
            impairer = self._preparable[cue.position]
            if impairer is not None:
                impairer.prepare(cue.state)

    def _changes(self, cues: Sequence[Cue]) -> list[Change]:
        return [Change(self._impairers[cue.position], cue.state) for cue in cues]

    def _play_due(
        self, now_s: float, taken: Taken, changes: list[Change], prepared: PreparedChanges | None
    ) -> None:
        """Apply what is due by now and log it.

        Args:
            now_s: The time.
            taken: What is due at least.
            changes: What that asks for.
            prepared: The same ready to be made; None where it is not.
        """
        # Those that waited for one message go at once: more would be due by now each time, and none is ready.
        is_ready = prepared is not None and taken.moments > 1 and now_s - taken.last_s < _REST_S
        due = Due(taken.cues, (), taken.moments) if is_ready else self._timeline.due(now_s, taken)
        if due.cues is not taken.cues:
            refusals, applied_s = self._change_together(self._changes(due.cues)), self._now_s()
        elif prepared is None:
            refusals, applied_s = self._change_together(changes), self._now_s()
        else:
            refusals, applied_s = prepared.carry_out(self._now_s)
        is_crowded = due.moments >= _CROWD and now_s - taken.cues[0].asked_s > _BEHIND_S
        self._rested_s = applied_s + _REST_S if is_crowded else -math.inf
        if any(refusals):
            self._note_each(due.cues, refusals, applied_s)
        else:
            self._note_applied(due.cues, applied_s)
        self._log.note_superseded(due.superseded)

    def _note_each(self, cues: Sequence[Cue], refusals: Refusals, applied_s: float) -> None:
        """Note each cue by what became of it, in their order."""
        for cue, refusal in zip(cues, refusals, strict=True):
            if refusal is None:
                self._note_applied([cue], applied_s)
                continue
            self._problem = self._problem or refusal
            self._log.note_failed(cue, str(refusal))

    def _note_applied(self, cues: Sequence[Cue], applied_s: float) -> None:
        self._log.note_applied(cues, applied_s)
        for cue in cues:
            self._verifier.note(cue.track.name, self._impairers[cue.position])

    def _play_in_thread(self) -> None:
        try:
            set_timer_slack(1)  # this thread's sleeps end when they should
            self.play()
        except BaseException as error:  # for check(), in the thread that asks
            self._problem = self._problem or error

    def _read_back(self) -> None:
        """Verify beside the thread that plays, until told to stop or play is over and all is read back."""
        wait_s = 0.0
        try:
            while not self._interrupt.wait(wait_s):
                next_s = self._next_s if self.is_playing() else None
                if self._start_s is None and self.is_playing():
                    wait_s = _SOON_S
                    continue
                if next_s is None and self._verifier.is_done():  # asked in this order: nothing comes in between
                    return
                wait_s = self._verifier.turn(self._now_s(), next_s)
        except BaseException as error:  # for check(), in the thread that asks
            self._problem = self._problem or error

    def _now_s(self) -> float:
        assert self._start_s is not None  # asked for in play alone
        return self._clock.now_s() - self._start_s
