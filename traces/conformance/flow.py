"""Flow: packets of one direction as they were sent and as they arrived, measured or simulated alike.

::

    Trace (the prober)  --flow_of_trace--.
    LinkModels (asked)  --simulate-------+-->  Flow  -->  statistics
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from netlab.errors import TraceError
from netlab.traces.conformance.straggling import left_out
from netlab.traces.loss_run import runs_of
from netlab.traces.trace import UNKNOWN, ClockVerdict, Trace, TracedPath

__all__ = ["MAX_PACKETS", "RESOLUTION_S", "Flow", "flow_of_trace"]

MAX_PACKETS = 1_000_000
RESOLUTION_S = 1e-6
"""Times closer than this are taken for one: clocks have steps, and files round."""

Numbers = NDArray[np.float64]


class Flow:
    """Packets of one direction, in the order of sending.

    Args:
        sent_s: When each was sent; never decreasing, ``[n]``.
        delay_s: Delay of its first copy; NaN where none arrived, ``[n]``.
        copies: How many copies of it arrived, ``[n]``.
        length_bytes: Of each Ethernet frame, without its checksum.
    """

    def __init__(self, sent_s: Numbers, delay_s: Numbers, copies: NDArray[np.integer], length_bytes: int) -> None:
        self.sent_s = sent_s
        self.delay_s = delay_s
        self.copies = copies
        self.length_bytes = length_bytes
        self._prompt: dict[float, Flow] = {}

    @property
    def n(self) -> int:
        """Return how many packets were sent."""
        return int(self.sent_s.size)

    @cached_property
    def arrived(self) -> NDArray[np.bool_]:
        """Return whether each arrived, ``[n]``."""
        return ~np.isnan(self.delay_s)

    @cached_property
    def delays_s(self) -> Numbers:
        """Return the delays of those that arrived, in the order of sending, ``[arrived]``."""
        return self.delay_s[self.arrived]

    @cached_property
    def sorted_s(self) -> Numbers:
        """Return those delays, the shortest first, ``[arrived]``."""
        return np.sort(self.delays_s)

    @cached_property
    def arrivals_s(self) -> Numbers:
        """Return when the first copies of those arrived, the first of them first, ``[arrived]``."""
        return np.sort((self.sent_s + self.delay_s)[self.arrived])

    def prompt(self, share: float) -> Flow:
        """Return the flow without the delays of the latest packets, a share of those that arrive."""
        latest = left_out(self.delays_s.size, share)
        if not latest:
            return self
        if share not in self._prompt:
            delay_s = self.delay_s.copy()
            order = np.argpartition(self.delays_s, self.delays_s.size - latest)
            delay_s[np.flatnonzero(self.arrived)[order[-latest:]]] = np.nan
            self._prompt[share] = Flow(self.sent_s, delay_s, self.copies, self.length_bytes)
        return self._prompt[share]

    def only(self, kept: NDArray[np.bool_]) -> Flow:
        """Return some of its packets, ``[n]``, as if the others had not been sent."""
        if kept.all():
            return self
        return Flow(self.sent_s[kept], self.delay_s[kept], self.copies[kept], self.length_bytes)

    @cached_property
    def loss_runs(self) -> NDArray[np.int64]:
        """Return how many packets were lost in a row, a number a run, ``[runs]``."""
        begins, ends = runs_of(~self.arrived)
        return ends - begins


def flow_of_trace(trace: Trace, length_bytes: int) -> Flow:
    """Return the packets of a measured trace.

    Args:
        trace: One direction; delays absolute, and known of every packet whether it arrived.
        length_bytes: Of each Ethernet frame, without its checksum.

    Raises:
        TraceError: It is of a round trip, of clocks that say nothing of delays, or leaves fates unknown.
    """
    where = trace.source or "trace"
    if trace.path is TracedPath.ROUND_TRIP:
        hint = "measure each direction: netlab probe run, netlab verify"
        raise TraceError("is of round trips; a link's direction is judged by its own delays", where, hint=hint)
    if trace.clocks in (ClockVerdict.VARIATION_ONLY, ClockVerdict.UNKNOWN):
        hint = "bring the clocks in step (NTP, PTP), or measure within one kernel"
        raise TraceError(f"clocks {trace.clocks.value}: its delays are not absolute", where, hint=hint)
    if not 1 <= trace.n <= MAX_PACKETS:
        hint = "judge a part of it" if trace.n else "was anything sent?"
        raise TraceError(f"{trace.n} packets: must be 1 .. {MAX_PACKETS}", where, hint=hint)
    unknown = (trace.lost == UNKNOWN) | ((trace.lost == 0) & np.isnan(trace.delay_s))
    if unknown.any():
        row = int(np.argmax(unknown)) + 1
        hint = "give a trace that names lost packets, and the delay of the others"
        raise TraceError(f"row {row}: whether it arrived, or after how long, is not known", where, hint=hint)
    copies = np.where(trace.lost == 1, 0, np.where(trace.copies == UNKNOWN, 1, trace.copies))
    return Flow(trace.t_s, trace.delay_s, copies, length_bytes)
