"""FlowOrder: what one flow is, for the two processes at its ends; and the files by which they are in step.

::

    here                         the sender                    the receiver
    FORWARD.receiving  <-------------------------------------- touched: it listens
    FORWARD.sending    <-------- touched: it waits
    begin              -------->  a moment, in nanoseconds
    FORWARD.sent       <-------- when each packet was sent
    FORWARD.arrived    <-------------------------------------- number and time of each that came

By files, not over the link: a link that loses everything can be measured too, and nothing but the flow is on it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.errors import LabError
from netlab.probe.one_way import OneWay
from netlab.probe.probe_plan import ProbePlan
from netlab.traces.seed import Direction
from netlab.traces.trace import ClockVerdict, Trace, TracedPath

__all__ = ["ETHERNET_BYTES", "FlowOrder", "frame_bytes"]

ETHERNET_BYTES = 14
PORT = 7449


def frame_bytes(plan: ProbePlan) -> int:
    """Return the length of each Ethernet frame of a flow, without its checksum."""
    return plan.packet_bytes + ETHERNET_BYTES


class FlowOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One flow.

    Attributes:
        direction: Of the link.
        address: The receiver's.
        folder: Where the files are.
        plan: What is sent.
        quiet_s: How long nothing must have come, after the last was sent, for the receiver to end.
        shift_ns: How long after the moment in ``begin`` the flow begins.
        token: What its packets bear, so that no other is taken for one.
    """

    direction: Direction
    address: str
    folder: str
    plan: ProbePlan
    quiet_s: float
    shift_ns: int
    token: int

    def file(self, kind: str) -> Path:
        """Return one of the files of the flow."""
        return Path(self.folder) / f"{self.direction}.{kind}"

    @property
    def begin(self) -> Path:
        """Return the file with the moment at which all flows begin."""
        return Path(self.folder) / "begin"

    @property
    def sent_ns(self) -> NDArray[np.int64]:
        """Return when each packet was sent, once the sender has ended, ``[n]``."""
        return np.fromfile(self.file("sent"), dtype=np.int64)

    def trace(self, source: str) -> Trace:
        """Return what became of the packets, once both processes have ended.

        Args:
            source: Where it was measured, for a person.

        Raises:
            LabError: Nothing could be sent.
        """
        sent_ns = self.sent_ns
        if not sent_ns.size:
            hint = (
                f"each is {self.plan.packet_bytes} bytes with its headers: is that more than the link's MTU? "
                "--size is what it carries, 28 bytes less"
            )
            raise LabError(f"no packet could be sent {self.direction}", hint=hint)
        arrivals = np.fromfile(self.file("arrived"), dtype=np.int64).reshape(-1, 2)
        way = OneWay.of(sent_ns, arrivals[:, 0], arrivals[:, 1])
        path = TracedPath.FORWARD if self.direction == "forward" else TracedPath.BACK
        return way.trace(path, ClockVerdict.ONE_CLOCK, way.raw_s(), source)
