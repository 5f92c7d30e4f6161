"""PlayLog: what a Player did, step by step, and the totals of it. Pure: no clock, no kernel."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from netlab.namespaces.timeline import Cue

__all__ = ["PlayLog", "PlayedStep", "PlayerCounts"]

DEFAULT_LOG_STEPS = 1_000_000

Outcome = Literal["applied", "superseded", "failed"]


class PlayedStep(Struct, frozen=True, gc=False):
    """One line of the log; without references to be collected, so that a long log makes no pauses.

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
        verified: Read-backs that showed the state asked for; the log itself knows of none.
        late_max_s: Greatest time from asked to acknowledged.
        late_mean_s: Mean of that time.
    """

    applied: int = 0
    superseded: int = 0
    failed: int = 0
    verified: int = 0
    late_max_s: float = 0.0
    late_mean_s: float = 0.0


class PlayLog:
    """The newest steps and the totals of all.

    Args:
        steps: How many of the newest steps are kept.
    """

    def __init__(self, steps: int = DEFAULT_LOG_STEPS) -> None:
        self._steps: deque[PlayedStep] = deque(maxlen=steps)
        self._applied = self._superseded = self._failed = 0
        self._late_max_s = self._late_sum_s = 0.0

    @property
    def steps(self) -> list[PlayedStep]:
        """The newest steps, oldest first."""
        return list(self._steps)

    @property
    def counts(self) -> PlayerCounts:
        """The totals."""
        return PlayerCounts(
            applied=self._applied,
            superseded=self._superseded,
            failed=self._failed,
            late_max_s=self._late_max_s,
            late_mean_s=self._late_sum_s / self._applied if self._applied else 0.0,
        )

    def note_applied(self, cues: Sequence[Cue], applied_s: float) -> None:
        """Note that states are in force, all since one moment."""
        self._applied += len(cues)
        for cue in cues:
            late_s = applied_s - cue.asked_s
            self._late_sum_s += late_s
            self._late_max_s = max(self._late_max_s, late_s)
            self._steps.append(PlayedStep(cue.track.name, cue.count, cue.asked_s, applied_s, "applied"))

    def note_superseded(self, cues: Sequence[Cue]) -> None:
        """Note that the successors of states were due before they could be applied."""
        self._superseded += len(cues)
        for cue in cues:
            self._steps.append(PlayedStep(cue.track.name, cue.count, cue.asked_s, None, "superseded"))

    def note_failed(self, cue: Cue, error: str) -> None:
        """Note that the kernel refused a state."""
        self._failed += 1
        self._steps.append(PlayedStep(cue.track.name, cue.count, cue.asked_s, None, "failed", error))
