"""Report: results as documents for machines and as tables for people.

Roof. Knows the shape of a result and how to show it; measures nothing.
"""

from __future__ import annotations

import math

from msgspec import Struct

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.control.counters import EdgeCounters
from netlab.control.histogram import Histogram
from netlab.messages import horizon_word

__all__ = ["CellResult", "ExperimentResult", "Milliseconds", "cell_table"]


class Milliseconds(Struct, frozen=True, kw_only=True):
    """A distribution of durations in milliseconds; None where there were none."""

    mean: float | None
    sd: float | None
    p50: float | None
    p99: float | None
    n: int

    @classmethod
    def of(cls, durations_us: Histogram) -> Milliseconds:
        """Summarise a histogram of microseconds."""
        n = durations_us.count
        if not n:
            return cls(mean=None, sd=None, p50=None, p99=None, n=0)
        mean_us = durations_us.mean
        variance = sum((value - mean_us) ** 2 * count for value, count in durations_us.pairs()) / n
        return cls(
            mean=mean_us / 1e3,
            sd=math.sqrt(variance) / 1e3,
            p50=durations_us.quantile(0.50) / 1e3,
            p99=durations_us.quantile(0.99) / 1e3,
            n=n,
        )


class CellResult(Struct, frozen=True, kw_only=True):
    """What one policy did over one network.

    Attributes:
        network: The network as it was asked for.
        reading: How its figures were read: ``rtt`` or ``oneway``.
        network_toml: What it is in full, where it is not a preset by name; empty for those.
        policy: Name of the policy.
        actuator: ``newest``, ``scheduled``, ``planned`` or ``stop-and-wait``.
        horizon_ticks: D, how many ticks ahead a decision is made.
        fallback: What a tick does when nothing is there to play.
        inference_s: What a decision was declared to cost in virtual time.
        seeds: Seeds of the labs that played it.
        link_seeds: The seeds of the forward direction that the kernel showed when each lab's link was made.
        returns: Return of each episode.
        return_mean: Their mean; None where no episode was played to its end.
        return_se: Standard error of that mean; None below two episodes.
        asked_round_trip_ms: Mean and deviation of the round trip as it was asked for.
        expected_round_trip_ms: What the link is to deliver of that to one packet a tick: computed, with
            delays clipped at zero and, on an ordered link, waits for the packet before.
        latency_ms: From an observation leaving to the first arrival of an action based on it, as measured:
            the round trip with the services' own time in it. Observations that are overtaken go unanswered,
            so on an unordered link it is below the link's own mean.
        answered_ratio: Share of the observations whose answer arrived at all.
        age_p50_ticks: Median of the labs' median ages of the action that a tick played; None without one.
        age_p99_ticks: The largest of the labs' 99th percentiles of that age.
        ticks: Ticks played.
        action_miss_ratio: Share of the ticks that fell back, the first of each episode included.
        deadline_miss_ratio: Share of the ticks that began more than 2 ms late; None in virtual time, where
            none can: nothing is to be claimed of it.
        skipped_ticks: Ticks that never began.
        disconnected_ticks: Ticks without a connection to the agent.
        counters: What was played, missed and dropped, over all labs.
        changes: How the schedule was played; None without one.
    """

    network: str
    reading: str
    network_toml: str
    policy: str
    actuator: str
    horizon_ticks: int
    fallback: str
    seeds: tuple[int, ...]
    link_seeds: tuple[int | None, ...]
    returns: tuple[float, ...]
    return_mean: float | None
    return_se: float | None
    asked_round_trip_ms: tuple[float, float]
    expected_round_trip_ms: tuple[float, float]
    latency_ms: Milliseconds
    answered_ratio: float
    age_p50_ticks: float | None
    age_p99_ticks: float | None
    ticks: int
    action_miss_ratio: float
    deadline_miss_ratio: float | None
    skipped_ticks: int
    disconnected_ticks: int
    counters: EdgeCounters
    changes: ChangeCounts | None = None
    inference_s: float = 0.0


class ChangeCounts(Struct, frozen=True, kw_only=True):
    """How a schedule was played over all labs of a cell.

    Attributes:
        applied: Changes put in force.
        superseded: Changes whose successor was due before they were applied.
        late_mean_ms: Mean time from a change's deadline to the kernel's acknowledgement.
        late_max_ms: The largest.
    """

    applied: int
    superseded: int
    late_mean_ms: float
    late_max_ms: float


class ExperimentResult(Struct, frozen=True, kw_only=True):
    """A whole result document.

    Attributes:
        netlab: Version.
        experiment: Its name.
        started: When, in UTC.
        engine: Which kernel, and why.
        machine: Where it was measured.
        task: Name of the task.
        rate_hz: Ticks a second.
        transport: ``datagram`` or ``stream``.
        seed: The run's seed, of which all others are made.
        seeded: Whether seeds decided what the links did; netem takes them from Linux 6.6 on.
        labs_at_once: How many labs ran beside one another.
        cells: The results.
        warnings: What the profiles warn of.
    """

    netlab: str
    experiment: str
    started: str
    engine: str
    machine: dict[str, object]
    task: str
    rate_hz: float
    transport: str
    seed: int
    seeded: bool
    labs_at_once: int
    cells: tuple[CellResult, ...]
    warnings: tuple[str, ...] = ()


def cell_table(result: ExperimentResult) -> list[tuple[str, ...]]:
    """Return the table people read: a heading row, then a row a cell; narrow enough for 80 columns.

    ``asked`` is the round trip as it was written, ``expect`` what the links are to deliver of it, and p50/p99 the
    measured time from an observation leaving to an action based on it arriving.
    """
    rows: list[tuple[str, ...]] = [
        (
            "network",
            "policy",
            "D",
            "return",
            "asked\nrtt ms",
            "expect\nrtt ms",
            "p50/p99\nms",
            "action\nmisses",
            "late\nticks",
        )
    ]
    for cell in result.cells:
        rows.append(
            (
                cell.network,
                cell.policy,
                _ahead(cell),
                _plus_minus(cell.return_mean, cell.return_se),
                _plus_minus(*cell.asked_round_trip_ms),
                _plus_minus(*cell.expected_round_trip_ms),
                f"{_number(cell.latency_ms.p50)}/{_number(cell.latency_ms.p99)}",
                f"{cell.action_miss_ratio:.1%}",
                _percent(cell.deadline_miss_ratio),
            )
        )
    return rows


def _ahead(cell: CellResult) -> str:
    """Return D; a dash for the newest action, which has none, and the name of any other actuator without one."""
    traits = ACTUATOR_TRAITS[cell.actuator]
    if traits.has_horizon:
        return str(horizon_word(cell.horizon_ticks))
    return cell.actuator if traits.goes_by_turns else "-"


def _plus_minus(mean: float | None, deviation: float | None) -> str:
    if mean is None:
        return "-"
    return f"{mean:.0f}" if deviation is None else f"{mean:.0f}±{deviation:.0f}"


def _percent(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.1%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
