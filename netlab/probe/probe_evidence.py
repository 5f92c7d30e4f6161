"""ProbeEvidence: what a prober's record tells of each way, by all that has come to it. Pure; numpy alone.

::

    log rows      0 1 2 3 ... A - 1 | full: no more        answered rows are the replies 0 .. A - 1
    replies       0   2   3     5   |  A + 1   A + 4       those behind the log speak for themselves
    seen bits     the 64 probes before each reply

The reflector's log knows which probes arrived and when each was answered, whether or not the reply came. Where it
is missing (the reflector vanished) or full, the replies speak for it: each carries what of the 64 probes before
had arrived, and a gap in their numbers is a reply that was lost; where they are silent, ``lost`` is unknown.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.probe.one_way import OneWay
from netlab.probe.probe_frame import ROW, SEEN_BITS, TOO_LONG_NS, UNANSWERED_NS, UNSENT_NS
from netlab.probe.probe_record import ProbeRecord

__all__ = ["ProbeEvidence", "RoundTrips"]

_NANOSECONDS = 1e9


class RoundTrips(NamedTuple):
    """There and back.

    Attributes:
        way: Which probes came back, and in which order.
        delay_s: Time away, less the reflector's own; NaN where unknown, ``[n]``.
        impossible: Replies that the reflector says to have had for longer than they were away.
    """

    way: OneWay
    delay_s: NDArray[np.float64]
    impossible: int


class ProbeEvidence:
    """What a record tells.

    Args:
        record: What a prober has sent and learnt.
    """

    def __init__(self, record: ProbeRecord) -> None:
        log = record.log
        self._is_complete = log is not None and not record.log_overflowed
        self._is_full = log is not None and record.log_overflowed
        self._log = np.zeros(0, ROW) if log is None else log
        self._answered = self._log[self._log["turnaround_ns"] != UNANSWERED_NS]
        self._sent_ns = record.sent_ns
        self._no_room = record.no_room
        self._replies = self._without_strays(record.replies)

    def _without_strays(self, replies: NDArray[np.void]) -> NDArray[np.void]:
        """Leave out replies that the reflector's own log contradicts."""
        n = self._answered.size
        is_logged = replies["reply_number"] < n
        agrees = np.full(replies.size, not self._is_complete)
        agrees[is_logged] = (
            self._answered["number"][replies["reply_number"][is_logged]] == replies["number"][is_logged]
        )
        believed: NDArray[np.void] = replies[agrees]
        return believed

    def forward(self) -> OneWay:
        """Return the way of the probes, by the prober's clock and the reflector's."""
        numbers, receive_ns = self._log["number"].astype(np.int64), self._log["receive_ns"].astype(np.int64)
        if self._is_complete:
            return OneWay.of(self._sent_ns, numbers, receive_ns, excused=self._no_room)
        claimed, denied = self._claims()
        denied[: max(self._last_certain() + 1, 0)] = True
        _, places = np.unique(self._replies["reply_number"], return_index=True)
        beyond = self._replies[places]
        beyond = beyond[beyond["reply_number"] >= self._answered.size]
        return OneWay.of(
            self._sent_ns,
            np.concatenate((numbers, beyond["number"])),
            np.concatenate((receive_ns, beyond["receive_ns"])),
            is_complete=False,
            claimed=claimed,
            denied=denied,
            excused=self._no_room,
        )

    def back(self) -> OneWay:
        """Return the way of the replies, a row each, by the reflector's clock and the prober's."""
        logged, numbers = self._answered.size, self._replies["reply_number"]
        n = max(logged, int(numbers.max(initial=-1)) + 1)
        sent_ns, is_known, is_unsent = np.zeros(n, np.int64), np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        # A reply's own stamp was taken before it was sealed; the log's, right before it left.
        sent_ns[numbers], is_known[numbers] = self._replies["reply_ns"], True
        receive_ns = self._answered["receive_ns"].astype(np.int64)
        turnaround_ns = self._answered["turnaround_ns"].astype(np.int64)
        told = np.flatnonzero(turnaround_ns < TOO_LONG_NS)
        sent_ns[told], is_known[told] = (receive_ns + turnaround_ns)[told], True
        is_unsent[:logged] = turnaround_ns == UNSENT_NS
        if n and not is_known.any():
            sent_ns, is_known = receive_ns, np.ones(n, np.bool_)
        return OneWay.of(_between(sent_ns, is_known), numbers, self._replies["arrival_ns"], excused=is_unsent)

    def round_trips(self) -> RoundTrips:
        """Return what became of each probe there and back, by the prober's clock."""
        numbers, arrival_ns = self._replies["number"], self._replies["arrival_ns"]
        there_ns = self._replies["reply_ns"] - self._replies["receive_ns"]
        logged = self._replies["reply_number"] < self._answered.size
        turnaround_ns = self._answered["turnaround_ns"][self._replies["reply_number"][logged]].astype(np.int64)
        there_ns[logged] = np.maximum(there_ns[logged], np.where(turnaround_ns < TOO_LONG_NS, turnaround_ns, 0))
        away_ns = arrival_ns - self._sent_ns[numbers] - there_ns
        order = np.argsort(arrival_ns, kind="stable")[::-1]
        delay_s = np.full(self._sent_ns.size, np.nan)
        away_s = np.where(away_ns >= 0, away_ns / _NANOSECONDS, np.nan)
        delay_s[numbers[order]] = away_s[order]  # the first copy is written last
        way = OneWay.of(self._sent_ns, numbers, arrival_ns, excused=self._no_room | self._held_back())
        return RoundTrips(way, delay_s, int((away_ns < 0).sum()))

    def _held_back(self) -> NDArray[np.bool_]:
        """Return which probes the reflector has not answered, or may not have: no path has lost them, ``[n]``."""
        held = np.zeros(self._sent_ns.size, dtype=np.bool_)
        if self._is_full:
            held[max(self._last_certain() + 1, 0) :] = True
        held[self._log["number"]] = True
        held[self._answered["number"][self._answered["turnaround_ns"] != UNSENT_NS]] = False
        return held

    def _last_certain(self) -> int:
        """Return up to which number a probe would be in a full log if it had arrived; -1 or less for none.

        That is what is before its last number by more than others in it were overtaken by.
        """
        _, places = np.unique(self._log["number"], return_index=True)
        sequence = self._log["number"].astype(np.int64)[np.sort(places)]
        if not sequence.size:
            return -1
        highest = np.maximum.accumulate(sequence)
        return int(highest[-1] - (highest - sequence).max()) - 1

    def _claims(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return of which probes the replies say that they had arrived, and of which that they had not, ``[n]``.

        Only a reply to the newest probe so far speaks of all 64 before it.
        """
        n = self._sent_ns.size
        claimed, denied = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
        ordered = self._replies[np.argsort(self._replies["reply_number"], kind="stable")]
        numbers = ordered["number"]
        is_newest = numbers == np.maximum.accumulate(numbers) if numbers.size else np.zeros(0, dtype=np.bool_)
        for bit in range(SEEN_BITS):
            before = numbers - 1 - bit
            is_set = (ordered["seen"] >> np.uint64(bit) & np.uint64(1)).astype(np.bool_)
            claimed[before[(before >= 0) & is_set]] = True
            denied[before[(before >= 0) & ~is_set & is_newest]] = True
        return claimed, denied


def _between(times_ns: NDArray[np.int64], is_known: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return times of which those that are not known lie evenly between those that are."""
    if is_known.all():
        return times_ns
    known = np.flatnonzero(is_known)
    base_ns = times_ns[known[0]]
    between_s = np.interp(np.arange(times_ns.size), known, (times_ns[known] - base_ns) / _NANOSECONDS)
    between_ns: NDArray[np.int64] = base_ns + np.rint(between_s * _NANOSECONDS).astype(np.int64)
    return np.where(is_known, times_ns, between_ns)
