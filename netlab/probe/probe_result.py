"""ProbeResult: traces of both directions and of the round trip, from what a prober has recorded. Pure.

::

    forward      a row a probe    sent: the prober's stamp        arrived: the reflector's stamp, from its log
    back         a row a reply    sent: the reflector's stamp     arrived: the prober's stamp
    round trip   a row a probe    time away less the reflector's own

All three begin at one moment, the sending of the first probe, and their times are by the prober's clock: a reply
was sent when its probe was, plus the probe's delay, plus the time that the reflector took.
"""

from __future__ import annotations

from msgspec import Struct

from netlab.probe.one_way import OneWay
from netlab.probe.probe_clocks import Clocks, Reckoning, reckon
from netlab.probe.probe_evidence import ProbeEvidence, RoundTrips
from netlab.probe.probe_notes import truth_notes
from netlab.probe.probe_record import ProbeRecord
from netlab.traces.trace import ClockVerdict, Trace, TracedPath

__all__ = ["Clocks", "ProbeResult", "find_result"]

MAX_SOURCE = 1000
"""Characters of a trace's source: what a trace file has room for."""


class ProbeResult(Struct, frozen=True, kw_only=True, eq=False):
    """What a prober has measured.

    Attributes:
        forward: From the prober to the reflector.
        back: From the reflector to the prober, a row a reply; None where no replies were asked for.
        round_trip: There and back; None where no replies were asked for.
        clocks: What is known of the clocks of ``forward`` and ``back``.
        reordered: Packets that were overtaken, by path.
        has_log: Whether the reflector's whole log is part of it.
        late: Packets that came after the wait and count as lost, by path.
        notes: What bears on whether the traces are true; it is in their sources too.
    """

    forward: Trace
    back: Trace | None
    round_trip: Trace | None
    clocks: Clocks
    reordered: dict[str, int]
    has_log: bool
    late: dict[str, int]
    notes: list[str]

    @property
    def traces(self) -> list[Trace]:
        """Return the traces there are: round trip, forward, back."""
        return [trace for trace in (self.round_trip, self.forward, self.back) if trace is not None]


def find_result(record: ProbeRecord, *, one_way: bool, one_clock: bool, source: str) -> ProbeResult:
    """Return what a prober has measured.

    Args:
        record: What it has sent and learnt.
        one_way: Whether it asked for no replies.
        one_clock: Whether one clock stamps both ends.
        source: Where the traces come from, for a person; what is known of clocks and truth is added.
    """
    evidence = ProbeEvidence(record)
    forward, back, rounds = evidence.forward(), evidence.back(), evidence.round_trips()
    reckoning = reckon(forward, back, one_clock=one_clock)
    clocks = reckoning.clocks
    notes = truth_notes(record, rounds.impossible)
    one_way_source = _say(source, clocks.words, *notes)
    reordered = {TracedPath.FORWARD.value: forward.reordered}
    late = {TracedPath.FORWARD.value: record.late_probes}
    if not one_way:
        reordered |= {TracedPath.BACK.value: back.reordered, TracedPath.ROUND_TRIP.value: rounds.way.reordered}
        late |= {TracedPath.BACK.value: record.late_replies, TracedPath.ROUND_TRIP.value: record.late_replies}
    return ProbeResult(
        forward=forward.trace(TracedPath.FORWARD, clocks.verdict, reckoning.forward_s, one_way_source),
        back=None if one_way else _back(back, reckoning, one_way_source),
        round_trip=None if one_way else _round_trip(rounds, _say(source, *notes)),
        clocks=clocks,
        reordered=reordered,
        has_log=record.log is not None,
        late=late,
        notes=notes,
    )


def _back(back: OneWay, reckoning: Reckoning, source: str) -> Trace:
    return back.trace(TracedPath.BACK, reckoning.clocks.verdict, reckoning.back_s, source, reckoning.t_back_s)


def _round_trip(rounds: RoundTrips, source: str) -> Trace:
    return rounds.way.trace(TracedPath.ROUND_TRIP, ClockVerdict.ONE_CLOCK, rounds.delay_s, source)


def _say(*words: str) -> str:
    """Return what a trace file says of its origin, in its bounds."""
    said = "; ".join(words)
    return said if len(said) <= MAX_SOURCE else said[: MAX_SOURCE - 3] + "..."
