"""OneWay: one way of a path, from what was sent and what arrived. Pure; numpy alone.

::

    sent_ns [n] ---------------+
    arrivals: number, time ----+--> delay of the first copy, lost, copies [n]; how many out of order
    claims: arrived, denied,   |
            excused -----------+
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.traces.trace import UNKNOWN, ClockVerdict, Trace, TracedPath

__all__ = ["OneWay"]

_NANOSECONDS = 1e9


class OneWay(Struct, frozen=True, kw_only=True, eq=False):
    """One way, measured by the clocks of its two ends.

    Attributes:
        sent_ns: When each packet was sent, by its sender's clock, ``[n]``.
        first_ns: When its first copy arrived, by the receiver's clock; 0 where it is not known to have, ``[n]``.
        has_arrived: Where ``first_ns`` is known, ``[n]``.
        lost: 1 lost, 0 arrived, ``UNKNOWN``, ``[n]``.
        copies: How many copies arrived, or ``UNKNOWN``, ``[n]``.
        reordered: Packets whose first copy came after one with a higher number.
    """

    sent_ns: NDArray[np.int64]
    first_ns: NDArray[np.int64]
    has_arrived: NDArray[np.bool_]
    lost: NDArray[np.int8]
    copies: NDArray[np.int32]
    reordered: int

    @classmethod
    def of(
        cls,
        sent_ns: NDArray[np.int64],
        numbers: NDArray[np.int64],
        arrival_ns: NDArray[np.int64],
        *,
        is_complete: bool = True,
        claimed: NDArray[np.bool_] | None = None,
        denied: NDArray[np.bool_] | None = None,
        excused: NDArray[np.bool_] | None = None,
    ) -> OneWay:
        """Return the way on which these packets arrived.

        Args:
            sent_ns: When each was sent, ``[n]``.
            numbers: Which arrived, copies included, each in 0 .. n - 1, ``[m]``.
            arrival_ns: When, ``[m]``.
            is_complete: Whether every arrival is there; if not, what is not there may have arrived.
            claimed: Packets that have arrived though their time is not known, ``[n]``.
            denied: Packets that had not arrived when later ones had, ``[n]``.
            excused: Packets that may never have been on the way: that they did not arrive tells nothing, ``[n]``.
        """
        n = sent_ns.size
        order = np.argsort(arrival_ns, kind="stable")
        firsts, places = np.unique(numbers[order], return_index=True)
        first_ns = np.zeros(n, dtype=np.int64)
        first_ns[firsts] = arrival_ns[order][places]
        counts = np.bincount(numbers, minlength=n).astype(np.int32)
        lost = (counts == 0).astype(np.int8)
        if not is_complete:
            lost[(counts == 0) & ~_or_none(denied, n)] = UNKNOWN
            lost[(counts == 0) & _or_none(claimed, n)] = 0
        lost[(lost == 1) & _or_none(excused, n)] = UNKNOWN
        is_counted = (lost == 1) | (is_complete & (lost == 0))
        return cls(
            sent_ns=sent_ns,
            first_ns=first_ns,
            has_arrived=counts > 0,
            lost=lost,
            copies=np.where(is_counted, counts, UNKNOWN).astype(np.int32),
            reordered=_overtaken(numbers[order][np.sort(places)]),
        )

    def raw_s(self, base_ns: int = 0) -> NDArray[np.float64]:
        """Return arrival minus sending by two clocks, less a base that both share; NaN where unknown, ``[n]``."""
        delay_s = (self.first_ns - self.sent_ns - base_ns) / _NANOSECONDS
        return np.where(self.has_arrived, delay_s, np.nan)

    @property
    def t_s(self) -> NDArray[np.float64]:
        """Return when each was sent, from the first one's moment; a sender's clock that goes back stands still."""
        if not self.sent_ns.size:
            return np.zeros(0)
        t_s: NDArray[np.float64] = np.maximum.accumulate(self.sent_ns - self.sent_ns[0]) / _NANOSECONDS
        return t_s

    def trace(
        self,
        path: TracedPath,
        clocks: ClockVerdict,
        delay_s: NDArray[np.float64],
        source: str,
        t_s: NDArray[np.float64] | None = None,
    ) -> Trace:
        """Return the trace of this way, its delays made comparable by whoever knows the clocks.

        Args:
            path: Which way it is.
            clocks: What is known of the clocks.
            delay_s: The delays by them, ``[n]``.
            source: Where it comes from, for a person.
            t_s: When each was sent by another clock or from another moment than ``t_s``, ``[n]``.
        """
        return Trace.of(
            self.t_s if t_s is None else t_s,
            path=path,
            clocks=clocks,
            delay_s=delay_s,
            lost=self.lost,
            copies=self.copies,
            source=source,
        )


def _overtaken(sequence: NDArray[np.int64]) -> int:
    """Return how many of these came after a higher number."""
    highest = np.maximum.accumulate(sequence) if sequence.size else sequence
    return int((sequence < highest).sum())


def _or_none(claims: NDArray[np.bool_] | None, n: int) -> NDArray[np.bool_]:
    return np.zeros(n, dtype=np.bool_) if claims is None else claims
