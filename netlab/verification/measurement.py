"""measure: flows through a link, from the start of their processes to their traces.

::

    Ends.start(host, argv) x 4 --all ready--> begin, on_begin --> watch ... --all ended--> MeasuredFlow a direction

Knows neither how a lab was made nor who holds it: ``Ends`` starts processes in its hosts.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec
from msgspec import Struct

from netlab.errors import LabError
from netlab.probe.probe_plan import ProbePlan
from netlab.traces.seed import Direction
from netlab.traces.trace import Trace
from netlab.verification.flow_order import FlowOrder, frame_bytes
from netlab.verification.tail import Tail
from netlab.whole_file import write_whole

__all__ = ["Ends", "FlowsPlan", "MeasuredFlow", "Running", "measure"]

_READY_WITHIN_S = 120.0
"""On one busy processor several interpreters start at once."""
_BEGIN_AFTER_NS = 100_000_000
_LATE_END_S = 60.0
_LOOK_S = 0.05
_NANOSECONDS = 1e9


class Running(Protocol):
    """A process in a host."""

    def poll(self) -> int | None:
        """Return its exit status; None while it runs."""
        ...

    def check(self) -> None:
        """Do nothing unless it has failed.

        Raises:
            LabError: Its exit status and last lines.
        """
        ...


class Ends(Protocol):
    """The two hosts of a link."""

    def start(self, host: str, argv: Sequence[str]) -> Running:
        """Start a program in one of them.

        Raises:
            NetlabError: It cannot be started.
        """
        ...

    def check(self) -> None:
        """Do nothing as long as packets can pass.

        Raises:
            NetlabError: They cannot.
        """
        ...


class FlowsPlan(Struct, frozen=True, kw_only=True):
    """What is sent over a link, and between whom.

    Attributes:
        hosts: Who sends forward, and who back.
        addresses: Theirs on the link, likewise.
        plan: What each of them sends.
        tail: How long after the last packet is sent to wait for what is still on its way.
        directions: Which are measured.
    """

    hosts: tuple[str, str]
    addresses: tuple[str, str]
    plan: ProbePlan
    tail: Tail
    directions: tuple[Direction, ...] = ("forward", "back")

    def ends(self, direction: Direction) -> tuple[int, int]:
        """Return which of the two sends and which receives."""
        return (0, 1) if direction == "forward" else (1, 0)


class MeasuredFlow(NamedTuple):
    """What one direction delivered.

    Attributes:
        trace: Its packets.
        length_bytes: Of each Ethernet frame.
        begin_s: When what ``on_begin`` began did so, on the clock of the trace.
    """

    trace: Trace
    length_bytes: int
    begin_s: float


def measure(
    link: FlowsPlan,
    ends: Ends,
    folder: Path,
    *,
    source: str,
    on_begin: Callable[[], float | None] = lambda: None,
    watch: Callable[[float], None] = lambda share: None,
) -> dict[Direction, MeasuredFlow]:
    """Send flows over a link and return what was delivered.

    Args:
        link: What to send, between whom.
        ends: Starts processes in the hosts.
        folder: An empty one that they can write to.
        source: Where it was measured, for a person.
        on_begin: Called right before the flows begin; returns when what it starts has begun, on the monotonic
            clock; None for the moment at which it is done.
        watch: Told which share of the time has passed.

    Raises:
        LabError: A process has failed, or does not come to its end.
        NetlabError: The processes cannot be started, or packets can no longer pass.
    """
    orders = [_order(link, direction, folder) for direction in link.directions]
    running = [_start(ends, link, order, what) for order in orders for what in ("receive", "send")]

    def check() -> None:
        ends.check()
        for process in running:
            process.check()

    _wait(lambda: _all_ready(orders), check, _READY_WITHIN_S, "begin")
    begun_s = on_begin()
    now_ns, now_s = time.time_ns(), time.monotonic()
    begun_ns = now_ns if begun_s is None else now_ns - round((now_s - begun_s) * _NANOSECONDS)
    begin_ns = now_ns + _BEGIN_AFTER_NS  # from now on: however long that took, no packet is overdue
    write_whole(orders[0].begin, str(begin_ns).encode())
    lasts_s = link.plan.duration_s + link.tail.duration_s

    def look() -> bool:
        watch(min(max((time.time_ns() - begin_ns) / _NANOSECONDS / lasts_s, 0.0), 1.0))
        return all(process.poll() is not None for process in running)

    _wait(look, check, 2.0 * lasts_s + _LATE_END_S, "end")
    check()
    return {
        order.direction: MeasuredFlow(
            order.trace(source), frame_bytes(order.plan), (begun_ns - int(order.sent_ns[0])) / _NANOSECONDS
        )
        for order in orders
    }


def _order(link: FlowsPlan, direction: Direction, folder: Path) -> FlowOrder:
    _, receiver = link.ends(direction)
    # Half a step apart: two packets at one moment would wait for one processor. And off the stroke on which
    # schedules change: a packet that is sent on it may meet either step.
    part = 0.25 if direction == "forward" else 0.75
    shift_ns = round(_NANOSECONDS / link.plan.rate_hz * part)
    return FlowOrder(
        direction=direction,
        address=link.addresses[receiver],
        folder=str(folder),
        plan=link.plan,
        quiet_s=link.tail.quiet_s,
        shift_ns=shift_ns,
        token=secrets.randbits(63),
    )


def _start(ends: Ends, link: FlowsPlan, order: FlowOrder, what: str) -> Running:
    sender, receiver = link.ends(order.direction)
    host = link.hosts[sender if what == "send" else receiver]
    # -P: a folder called netlab where we stand must not be taken for the package.
    module = "netlab.verification.flow_process"
    return ends.start(host, [sys.executable, "-P", "-m", module, what, msgspec.json.encode(order).decode()])


def _all_ready(orders: Sequence[FlowOrder]) -> bool:
    return all(order.file(kind).exists() for order in orders for kind in ("receiving", "sending"))


def _wait(is_so: Callable[[], bool], check: Callable[[], None], within_s: float, verb: str) -> None:
    """Wait until something is so.

    Raises:
        LabError: It takes too long.
    """
    deadline_s = time.monotonic() + within_s
    while not is_so():
        check()
        if time.monotonic() > deadline_s:
            raise LabError(f"the flows do not {verb} within {within_s:.0f} s", hint="is the machine that busy?")
        time.sleep(_LOOK_S)
