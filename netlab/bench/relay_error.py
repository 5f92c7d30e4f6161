"""What a relay delivers against what its model asked for: the error of each packet's delay, and who is lost.

::

    sender --stamp--> TAP --> relay (30 +- 10 ms, 2 % loss) --> TAP --kernel's receive stamp--> receiver
    LinkModel, same state and seed: fate and delay of the same packet             error = stamps - delay

The delay is uniform and packets may overtake one another, so what the model draws does not hang on when the
relay read a packet, and the model can be run again here.
"""

from __future__ import annotations

import contextlib
import os
import socket
import statistics
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from netlab.bench.figure import Figure
from netlab.lab import Lab
from netlab.namespaces.relay.direction import RelayDirection
from netlab.namespaces.relay.wiring import RelayWiring
from netlab.namespaces.syscalls import set_timer_slack
from netlab.traces.model.link_model import LinkModel
from netlab.traces.qdisc_state import QdiscState

__all__ = ["relay_error"]

MEAN_TARGET_MS = 0.5
SD_TARGET_MS = 0.2
PACKETS = {50: 2_000, 1_000: 10_000}
"""Packets sent, by packets a second."""
STATE = QdiscState(latency_ns=30_000_000, jitter_ns=10_000_000, loss=round(0.02 * (2**32 - 1)), seed=0x72656C6179)
FLOOD_S = 3.0

_PORT = 7447
_PRIORITY = 20
_STEAL_FIELD = 8
_PAYLOAD = struct.Struct("=QQ48x")
_FRAME_BYTES = 14 + 20 + 8 + _PAYLOAD.size
_SO_TIMESTAMPNS, _SO_RCVBUFFORCE = 35, 33
_RECEIVE_BYTES = 1 << 27
_DRAIN_S = 0.2
_TIMESPEC = struct.Struct("=qq")


class _Run(NamedTuple):
    """Packets at one rate.

    Attributes:
        rate_hz: Packets a second.
        errors_ms: Delivered minus asked, of each packet that arrived.
        differing: Packets whose fate was not the model's.
        sent: Packets sent.
    """

    rate_hz: int
    errors_ms: list[float]
    differing: int
    sent: int

    @property
    def mean_ms(self) -> float:
        return statistics.fmean(self.errors_ms)

    @property
    def sd_ms(self) -> float:
        return statistics.pstdev(self.errors_ms)

    @property
    def holds(self) -> bool:
        return self.mean_ms < MEAN_TARGET_MS and self.sd_ms < SD_TARGET_MS and self.differing == 0

    @property
    def text(self) -> str:
        p99_ms = statistics.quantiles(self.errors_ms, n=100)[-1]
        return (
            f"{self.rate_hz} packets/s, {self.sent} sent: mean {self.mean_ms:+.3f} ms, sd {self.sd_ms:.3f}, "
            f"p99 {p99_ms:.2f}, max {max(self.errors_ms):.2f}, fates that differ {self.differing}"
        )


def relay_error(say: Callable[[str], None]) -> Figure:
    """Measure the error at each rate, then how many packets pass a flooded relay."""
    runs, stolen_s = [], _stolen_s()
    for rate_hz, packets in PACKETS.items():
        say(f"{packets} packets at {rate_hz} a second")
        runs.append(_run(rate_hz, packets))
    say(f"a flood of {FLOOD_S:g} s")
    stolen_s = _stolen_s() - stolen_s
    passed_hz, priority = _flood()
    return _figure(
        runs,
        f"{passed_hz / 1e3:.1f} thousand packets/s pass when flooded; relay's priority: {priority}; "
        "from the sender's clock before sending to the kernel's stamp at the receiver's interface; "
        f"meanwhile a hypervisor took {1e3 * stolen_s:.0f} ms of the processors",
    )


def _figure(runs: list[_Run], note: str) -> Figure:
    worst = max(runs, key=lambda run: run.mean_ms)
    return Figure(
        name="relay-error",
        value=worst.mean_ms,
        unit="ms mean of delivered minus asked, at the worst rate",
        target=f"mean under {MEAN_TARGET_MS:g} ms, sd under {SD_TARGET_MS:g} ms, lost packets exactly the model's",
        holds=all(run.holds for run in runs),
        n=sum(run.sent for run in runs),
        spread="; ".join(run.text for run in runs),
        note=note,
    )


def _stolen_s() -> float:
    """Return for how long this machine's processors have been another virtual machine's; 0 on real hardware."""
    fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    return int(fields[_STEAL_FIELD]) / os.sysconf("SC_CLK_TCK")


def _run(rate_hz: int, packets: int) -> _Run:
    """Send packets at a steady rate through a fresh relay and compare each with the model."""
    with _before_others(), Lab(wiring=RelayWiring()) as lab:
        sender, receiver, address = _ends(lab)
        with sender, receiver:
            seen_ns: dict[int, tuple[int, int]] = {}
            start_s = time.monotonic()
            for number in range(packets):
                time.sleep(max(0.0, start_s + number / rate_hz - time.monotonic()))
                sender.sendto(_PAYLOAD.pack(number, time.time_ns()), address)
                if number % rate_hz == 0:
                    _drain(receiver, seen_ns)
            time.sleep(_DRAIN_S)
            _drain(receiver, seen_ns)
    return _compare(rate_hz, packets, seen_ns)


@contextlib.contextmanager
def _before_others() -> Iterator[None]:
    """Keep this thread from being put aside between a packet's stamp and its sending, where that is permitted."""
    set_timer_slack(1)
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameters)


def _compare(rate_hz: int, packets: int, seen_ns: dict[int, tuple[int, int]]) -> _Run:
    model = LinkModel(STATE)
    errors_ms, differing = [], 0
    for number in range(packets):
        fate = model.enqueue(number * 1_000_000_000 // rate_hz, _FRAME_BYTES)
        arrived = seen_ns.get(number)
        differing += bool(fate.copies) != (arrived is not None)
        if fate.copies and arrived is not None:
            sent_ns, delivered_ns = arrived
            errors_ms.append((delivered_ns - sent_ns - fate.copies[0].delay_ns) / 1e6)
    return _Run(rate_hz, errors_ms, differing, packets)


def _flood() -> tuple[float, str]:
    """Return how many packets a second pass while more are sent than can, and the relay's priority."""
    with Lab(wiring=RelayWiring()) as lab:
        sender, receiver, address = _ends(lab)
        with sender, receiver:
            payload = _PAYLOAD.pack(0, 0)
            lane = lab.links["relay"].forward
            assert isinstance(lane, RelayDirection)  # the wiring is ours
            begin_s = time.monotonic()
            while time.monotonic() - begin_s < FLOOD_S:
                for _ in range(32):
                    sender.sendto(payload, address)
            took_s = time.monotonic() - begin_s
            return lane.counters().delivered / took_s, lane.relay.priority


def _ends(lab: Lab) -> tuple[socket.socket, socket.socket, tuple[str, int]]:
    """Make two hosts and a link in the state; return the sender's socket, the receiver's, and its address."""
    first, second = lab.add_host("sender"), lab.add_host("receiver")
    lab.add_link(first, second, STATE, name="relay")

    def open_udp() -> socket.socket:
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    sender, receiver = first.call(open_udp), second.call(open_udp)
    receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BYTES)
    receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    receiver.setblocking(False)
    receiver.bind((second.address, _PORT))
    return sender, receiver, (second.address, _PORT)


def _drain(receiver: socket.socket, seen_ns: dict[int, tuple[int, int]]) -> None:
    """Note when each packet that has come was sent and delivered."""
    while True:
        try:
            data, ancillary, _, _ = receiver.recvmsg(_PAYLOAD.size, 64)
        except BlockingIOError:
            return
        number, sent_ns = _PAYLOAD.unpack(data)
        seconds, nanoseconds = _TIMESPEC.unpack(ancillary[0][2])
        seen_ns[number] = sent_ns, seconds * 1_000_000_000 + nanoseconds
