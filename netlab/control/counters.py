"""Counters of the two halves: what was played, what was missed, what was dropped and why.

Plain numbers, JSON-ready through msgspec; docs/control.md gives the meaning of each.
"""

from __future__ import annotations

from msgspec import Struct, structs

from netlab.control.histogram import Histogram

__all__ = ["AgeSummary", "EdgeCounters", "RemoteCounters"]


class EdgeCounters(Struct, kw_only=True):
    """What the edge has done. ``ticks == played_remote + missed`` and ``frames_received`` equals the sum of
    ``frames_accepted`` and all ``dropped_*``.

    Attributes:
        ticks: Ticks played.
        played_remote: Ticks that played an action of the peer.
        missed_neutral: Ticks that fell back to the task's neutral action.
        missed_hold: Ticks that fell back to the last remote action.
        missed_local: Ticks that fell back to a local policy.
        missed_failed: Ticks that were neutral because the fallback failed or offered what is no action.
        frames_received: Action frames that arrived.
        frames_accepted: Frames of which at least one action was put up for playing.
        dropped_stale: Frames overtaken: what they hold has been replaced by a newer decision.
        dropped_late: Frames all of whose target ticks had passed.
        dropped_old_episode: Frames of an earlier episode.
        dropped_old_run: Frames of another run.
        dropped_invalid: Frames with NaN, a wrong size, out-of-bounds actions or impossible ticks.
        dropped_duplicate: Further frames based on an observation that has been answered.
    """  # noqa: D205 - the equations belong to the first sentence

    ticks: int = 0
    played_remote: int = 0
    missed_neutral: int = 0
    missed_hold: int = 0
    missed_local: int = 0
    missed_failed: int = 0
    frames_received: int = 0
    frames_accepted: int = 0
    dropped_stale: int = 0
    dropped_late: int = 0
    dropped_old_episode: int = 0
    dropped_old_run: int = 0
    dropped_invalid: int = 0
    dropped_duplicate: int = 0

    @property
    def missed(self) -> int:
        """Return the ticks at which nothing of the peer's was there to play."""
        return self.missed_neutral + self.missed_hold + self.missed_local + self.missed_failed

    @property
    def dropped(self) -> int:
        """Return the frames that were of no use."""
        return (
            self.dropped_stale
            + self.dropped_late
            + self.dropped_old_episode
            + self.dropped_old_run
            + self.dropped_invalid
            + self.dropped_duplicate
        )

    def add(self, other: EdgeCounters) -> None:
        """Add another's counts to these."""
        for field in structs.fields(EdgeCounters):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


class RemoteCounters(Struct, kw_only=True):
    """What the remote has done. ``observations`` equals ``answered`` plus all ``dropped_*``.

    Attributes:
        observations: Observation frames that arrived.
        answered: Those that were answered with an action frame.
        decisions: Target ticks decided.
        decided_by_prediction: Those decided together with a later one: their own observation never came, or the
            horizon has grown.
        dropped_duplicate: Observations that had been seen.
        dropped_overtaken: Observations older than the newest.
        dropped_old_episode: Observations of an earlier episode.
        dropped_other_run: Observations of another run than the session's.
        dropped_invalid: Observations of the wrong size or not finite.
    """

    observations: int = 0
    answered: int = 0
    decisions: int = 0
    decided_by_prediction: int = 0
    dropped_duplicate: int = 0
    dropped_overtaken: int = 0
    dropped_old_episode: int = 0
    dropped_other_run: int = 0
    dropped_invalid: int = 0

    def add(self, other: RemoteCounters) -> None:
        """Add another's counts to these."""
        for field in structs.fields(RemoteCounters):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


class AgeSummary(Struct, frozen=True, kw_only=True):
    """Ages at play, in ticks; -1 where nothing was played.

    Attributes:
        count: Ticks that played a remote action.
        p50: Median age.
        p99: 99th percentile.
        maximum: Largest age.
    """

    count: int
    p50: int
    p99: int
    maximum: int

    @classmethod
    def of(cls, ages: Histogram) -> AgeSummary:
        """Summarise a histogram of ages."""
        return cls(count=ages.count, p50=ages.quantile(0.5), p99=ages.quantile(0.99), maximum=ages.maximum)
