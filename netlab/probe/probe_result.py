"""ProbeResult: traces of both directions and of the round trip, from what a prober has recorded. Pure.

::

    forward      a row a probe    sent: the prober's stamp        arrived: the reflector's stamp, from its log
    back         a row a reply    sent: the reflector's stamp     arrived: the prober's stamp
    round trip   a row a probe    time away less the reflector's own

The reflector's log knows which probes arrived and when each was answered, whether or not the reply came. Without
the log (the reflector vanished) the replies speak for it: each carries what of the 64 probes before had arrived,
and a gap in their numbers is a reply that was lost; where they are silent, ``lost`` is unknown.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.probe.direction import Direction
from netlab.probe.probe_frame import SEEN_BITS, UNANSWERED_NS
from netlab.probe.probe_record import ProbeRecord
from netlab.traces.clock_sync import synchronise
from netlab.traces.trace import UNKNOWN, ClockVerdict, Trace, TracedPath

__all__ = ["Clocks", "ProbeResult", "find_result"]

_NANOSECONDS = 1e9
_BASE_NS = 1_000 * 1_000_000_000
"""Clocks further apart than this are first brought near by whole multiples of it, so that no digit is lost."""


class Clocks(Struct, frozen=True, kw_only=True):
    """What was found out about the two ends' clocks.

    Attributes:
        verdict: What the delays of one direction are.
        offset_s: What the reflector's clock is ahead of the prober's; None where unknown, or one clock.
        drift: What it gains, seconds a second.
        error_s: Standard error of the offset, an asymmetric path's share aside; None where unknown.
        words: For a person.
    """

    verdict: ClockVerdict
    offset_s: float | None = None
    drift: float = 0.0
    error_s: float | None = None
    words: str = "one clock stamped both ends"


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
    """

    forward: Trace
    back: Trace | None
    round_trip: Trace | None
    clocks: Clocks
    reordered: dict[str, int]
    has_log: bool
    late: dict[str, int]

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
        source: Where the traces come from, for a person.
    """
    log = record.log
    replies = _without_strays(record.replies, log)
    forward = _forward(record, replies, log)
    back = _back(replies, log)
    clocks, forward_s, back_s = _by_clocks(forward, back, one_clock=one_clock)
    reordered = {TracedPath.FORWARD.value: forward.reordered}
    late = {TracedPath.FORWARD.value: record.late_probes}
    round_trip = None
    if not one_way:
        rounds = Direction.of(record.sent_ns, replies["number"], replies["arrival_ns"])
        round_trip = _round_trip(record, rounds, replies, log, source)
        for path, reorderings in ((TracedPath.BACK, back.reordered), (TracedPath.ROUND_TRIP, rounds.reordered)):
            reordered[path.value] = reorderings
            late[path.value] = record.late_replies
    return ProbeResult(
        forward=forward.trace(TracedPath.FORWARD, clocks.verdict, forward_s, source),
        back=None if one_way else back.trace(TracedPath.BACK, clocks.verdict, back_s, source),
        round_trip=round_trip,
        clocks=clocks,
        reordered=reordered,
        has_log=log is not None,
        late=late,
    )


def _without_strays(replies: NDArray[np.void], log: NDArray[np.void] | None) -> NDArray[np.void]:
    """Leave out replies that the reflector's own log does not know."""
    if log is None:
        return replies
    return replies[replies["reply_number"] < int((log["turnaround_ns"] != UNANSWERED_NS).sum())]


def _forward(record: ProbeRecord, replies: NDArray[np.void], log: NDArray[np.void] | None) -> Direction:
    sent_ns = record.sent_ns
    if log is not None and not record.log_overflowed:
        return Direction.of(sent_ns, log["number"].astype(np.int64), log["receive_ns"].astype(np.int64))
    claimed, denied = _claims(replies, sent_ns.size)
    if log is None:
        _, places = np.unique(replies["reply_number"], return_index=True)
        numbers, receive_ns = replies["number"][places], replies["receive_ns"][places]
    else:
        numbers, receive_ns = log["number"].astype(np.int64), log["receive_ns"].astype(np.int64)
        denied[: int(numbers.max(initial=-1)) + 1] = True
    return Direction.of(sent_ns, numbers, receive_ns, is_complete=False, claimed=claimed, denied=denied)


def _claims(replies: NDArray[np.void], n: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return of which probes the replies say that they had arrived, and of which that they had not, ``[n]``.

    Only a reply to the newest probe so far speaks of all 64 before it.
    """
    claimed, denied = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    ordered = replies[np.argsort(replies["reply_number"], kind="stable")]
    if not ordered.size:
        return claimed, denied
    numbers = ordered["number"]
    is_newest = numbers == np.maximum.accumulate(numbers)
    for bit in range(SEEN_BITS):
        before = numbers - 1 - bit
        is_set = (ordered["seen"] >> np.uint64(bit) & np.uint64(1)).astype(np.bool_)
        claimed[before[(before >= 0) & is_set]] = True
        denied[before[(before >= 0) & ~is_set & is_newest]] = True
    return claimed, denied


def _back(replies: NDArray[np.void], log: NDArray[np.void] | None) -> Direction:
    numbers, arrival_ns = replies["reply_number"], replies["arrival_ns"]
    if log is not None:
        answered = log[log["turnaround_ns"] != UNANSWERED_NS]
        sent_ns = answered["receive_ns"].astype(np.int64) + answered["turnaround_ns"].astype(np.int64)
        return Direction.of(sent_ns, numbers, arrival_ns)
    known, places = np.unique(numbers, return_index=True)
    n = int(known[-1]) + 1 if known.size else 0
    if not n:
        return Direction.of(np.zeros(0, dtype=np.int64), numbers, arrival_ns)
    known_ns = replies["reply_ns"][places]
    # Between two replies that came, those that were lost are taken to have left evenly.
    between_s = np.interp(np.arange(n), known, (known_ns - known_ns[0]) / _NANOSECONDS)
    sent_ns = known_ns[0] + np.rint(between_s * _NANOSECONDS).astype(np.int64)
    sent_ns[known] = known_ns
    return Direction.of(sent_ns, numbers, arrival_ns)


def _by_clocks(
    forward: Direction, back: Direction, *, one_clock: bool
) -> tuple[Clocks, NDArray[np.float64], NDArray[np.float64]]:
    """Return what is known of the clocks, and the delays by it."""
    forward_s, back_s = forward.raw_s(), back.raw_s()
    least_s = min(np.nanmin(known) for known in (forward_s, back_s, np.zeros(1)) if not np.isnan(known).all())
    if one_clock and least_s >= 0.0:
        return Clocks(verdict=ClockVerdict.ONE_CLOCK), forward_s, back_s
    base_ns = _base_ns(forward)
    begin_ns = int(forward.sent_ns[0]) if forward.sent_ns.size else 0
    sync = synchronise(
        forward.t_s,
        forward.raw_s(base_ns),
        np.where(back.has_arrived, back.first_ns - begin_ns, 0) / _NANOSECONDS,
        back.raw_s(-base_ns),
    )
    verdict, words = sync.verdict, sync.words
    if base_ns and verdict is ClockVerdict.IN_STEP:
        verdict = ClockVerdict.CORRECTED
    if base_ns:
        words = f"{words} (beside {base_ns / _NANOSECONDS:.0f} s)"
    if one_clock:
        words = f"said to be one clock, yet some delays are negative; {words}"
    offset_s = None if np.isnan(sync.offset_s) else sync.offset_s + base_ns / _NANOSECONDS
    error_s = None if np.isnan(sync.error_s) else sync.error_s
    found = Clocks(verdict=verdict, offset_s=offset_s, drift=sync.drift, error_s=error_s, words=words)
    return found, sync.forward_s, sync.back_s


def _base_ns(forward: Direction) -> int:
    """Return whole thousands of seconds that the clocks are apart."""
    apart_ns = (forward.first_ns - forward.sent_ns)[forward.has_arrived]
    return round(int(apart_ns[apart_ns.size // 2]) / _BASE_NS) * _BASE_NS if apart_ns.size else 0


def _round_trip(
    record: ProbeRecord,
    rounds: Direction,
    replies: NDArray[np.void],
    log: NDArray[np.void] | None,
    source: str,
) -> Trace:
    numbers = replies["number"]
    there_ns = replies["reply_ns"] - replies["receive_ns"]
    if log is not None:  # its stamp was taken later, right before the reply left
        turnarounds_ns = log["turnaround_ns"][log["turnaround_ns"] != UNANSWERED_NS].astype(np.int64)
        there_ns = np.maximum(there_ns, turnarounds_ns[replies["reply_number"]])
    away_ns = np.maximum(replies["arrival_ns"] - record.sent_ns[numbers] - there_ns, 0)
    order = np.argsort(replies["arrival_ns"], kind="stable")[::-1]
    delay_s = np.full(rounds.sent_ns.size, np.nan)
    delay_s[numbers[order]] = away_ns[order] / _NANOSECONDS  # the first copy is written last
    lost = np.array(rounds.lost)
    if log is not None:  # held back by the reflector, not lost by the path
        answered = log["turnaround_ns"] != UNANSWERED_NS
        held = np.zeros(lost.size, dtype=np.bool_)
        held[log["number"][~answered]] = True
        held[log["number"][answered]] = False
        lost[held & (lost == 1)] = UNKNOWN
    copies = np.where(lost == UNKNOWN, UNKNOWN, rounds.copies).astype(np.int32)
    return Trace.of(
        rounds.t_s,
        path=TracedPath.ROUND_TRIP,
        clocks=ClockVerdict.ONE_CLOCK,
        delay_s=delay_s,
        lost=lost,
        copies=copies,
        source=source,
    )
