"""What a run of an environment reports: episodes, counters, latencies, lateness; JSON through msgspec."""

from __future__ import annotations

import math
import platform
import statistics

import msgspec
from msgspec import Struct, structs

from netlab.control.counters import AgeSummary, EdgeCounters
from netlab.control.histogram import Histogram
from netlab.envs.config import EnvConfig

__all__ = ["DurationSummary", "EpisodeResult", "RunResult", "encode_result"]


class DurationSummary(Struct, frozen=True, kw_only=True):
    """A distribution of durations in milliseconds; null where there were none.

    Attributes:
        count: How many.
        p50_ms: Median.
        p99_ms: 99th percentile.
        maximum_ms: The largest.
        histogram_us: Pairs of a value in microseconds and how often it occurred, for pooling over runs
            (``Histogram.from_pairs``); only in a whole run's summary.
    """

    count: int
    p50_ms: float | None
    p99_ms: float | None
    maximum_ms: float | None
    histogram_us: list[tuple[int, int]] | None = None

    @classmethod
    def of(cls, durations_us: Histogram, *, pooled: bool = False) -> DurationSummary:
        """Summarise a histogram of microseconds; ``pooled`` adds the histogram itself."""
        pairs = durations_us.pairs() if pooled else None
        if not durations_us.count:
            return cls(count=0, p50_ms=None, p99_ms=None, maximum_ms=None, histogram_us=pairs)
        return cls(
            count=durations_us.count,
            p50_ms=durations_us.quantile(0.5) / 1e3,
            p99_ms=durations_us.quantile(0.99) / 1e3,
            maximum_ms=durations_us.maximum / 1e3,
            histogram_us=pairs,
        )


class EpisodeResult(Struct, frozen=True, kw_only=True):
    """One episode.

    Attributes:
        episode: Its number, from 0.
        seed: What the task was reset with.
        complete: False where the run was stopped within it.
        return_: Sum of rewards (``return`` in JSON).
        ticks: Its length.
        counters: What was played, missed and dropped.
        ages: Ages at play.
        latency: From an observation leaving to the first arrival of an action based on it.
        deadline_misses: Ticks that began more than 2 ms late; null in virtual time.
        skipped_ticks: Ticks that never began.
        disconnected_ticks: Ticks without a connection.
    """

    episode: int
    seed: int
    complete: bool
    return_: float = msgspec.field(name="return")
    ticks: int
    counters: EdgeCounters
    ages: AgeSummary
    latency: DurationSummary
    deadline_misses: int | None
    skipped_ticks: int
    disconnected_ticks: int


class RunResult(Struct, frozen=True, kw_only=True):
    """One run.

    Attributes:
        netlab: Version of netlab.
        python: Version of Python.
        machine: What it ran on, as the roof says it; empty where nobody did.
        spec: What was asked for, without the key; null where a service was composed by hand.
        policy: What the agent said it serves when it was last reached; empty where it never was.
        policy_sha256: Of that policy's file, as the agent said; empty where it has none.
        transport: ``datagram`` or ``stream``; empty as ``spec`` is null.
        task: Name of the task.
        rate_hz: Ticks a second.
        actuator: ``newest``, ``scheduled``, ``planned`` or ``stop-and-wait``.
        horizon_ticks: D; 0 where the agent chooses it (the tick log has it then).
        fallback: ``neutral``, ``hold`` or ``local``.
        seed: What the episodes' seeds were made of.
        complete: Whether all episodes asked for were played to their ends.
        stopped_by: Why not; empty where they were.
        episodes: The episodes, the incomplete one included.
        counters: Sum over episodes.
        ages: Ages at play over all episodes.
        latency: Observation-to-action latency over all episodes.
        lateness: How late ticks began; without a count in virtual time.
        deadline_misses: Ticks that began more than 2 ms late; null in virtual time.
        skipped_ticks: Ticks that never began.
        disconnected_ticks: Ticks without a connection.
        connections: How many times the agent was reached.
        send_dropped: Observations that did not leave.
        last_loss: Why the agent was last lost or could not be reached; empty where it never was.
        faults: What failed beside the ticks without ending the run: the fallback, the tick log.
        not_claimable: What this run says nothing of, and why; empty in real time.
    """

    netlab: str
    python: str = msgspec.field(default_factory=platform.python_version)
    machine: dict[str, object] = {}
    spec: EnvConfig | None = None
    policy: str
    policy_sha256: str = ""
    transport: str = ""
    task: str
    rate_hz: float
    actuator: str
    horizon_ticks: int
    fallback: str
    seed: int
    complete: bool
    stopped_by: str
    episodes: tuple[EpisodeResult, ...]
    counters: EdgeCounters
    ages: AgeSummary
    latency: DurationSummary
    lateness: DurationSummary
    deadline_misses: int | None
    skipped_ticks: int
    disconnected_ticks: int
    connections: int
    send_dropped: int
    last_loss: str
    faults: tuple[str, ...] = ()
    not_claimable: str = ""

    def without_deadlines(self, why: str) -> RunResult:
        """Return the result without what its clock does not let it claim: late ticks.

        Args:
            why: Stands in the result in their place.
        """
        unknown = DurationSummary.of(Histogram())
        episodes = tuple(structs.replace(episode, deadline_misses=None) for episode in self.episodes)
        return structs.replace(self, episodes=episodes, lateness=unknown, deadline_misses=None, not_claimable=why)

    @property
    def returns(self) -> list[float]:
        """Return the returns of the complete episodes."""
        return [episode.return_ for episode in self.episodes if episode.complete]

    @property
    def return_mean(self) -> float:
        """Return the mean return of the complete episodes; NaN where there are none."""
        return statistics.fmean(self.returns) if self.returns else math.nan

    @property
    def return_sem(self) -> float:
        """Return the standard error of that mean; NaN below two episodes."""
        returns = self.returns
        return statistics.stdev(returns) / math.sqrt(len(returns)) if len(returns) > 1 else math.nan


def encode_result(result: RunResult) -> bytes:
    """Return a result as one JSON document; ``msgspec.json.decode(..., type=RunResult)`` reads it."""
    return msgspec.json.encode(result)
