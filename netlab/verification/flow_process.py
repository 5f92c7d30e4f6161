"""The two ends of a flow, each a process in its host: ``python -m netlab.verification.flow_process send ORDER``.

::

    send      wait for ``begin`` --> stamp, send, stamp, send ... --> FORWARD.sent
    receive   listen --> number and the kernel's stamp of each packet --> FORWARD.arrived

Both stamps are of one clock, since a lab is within one kernel.
"""

from __future__ import annotations

import socket
import struct
import sys
import time
from array import array
from pathlib import Path

import msgspec

from netlab.namespaces.syscalls import set_timer_slack
from netlab.probe.stamped_socket import StampedSocket
from netlab.verification.flow_order import PORT, FlowOrder
from netlab.whole_file import write_whole
from netlab.wire.address import Address

__all__ = ["main", "receive", "send"]

_HEADER = struct.Struct("!QI")
_LOOK_S = 0.002
_NANOSECONDS = 1_000_000_000


def send(order: FlowOrder) -> None:
    """Send the packets of a flow, when all are to begin."""
    where = Address(order.address, PORT)
    payload = bytes(order.plan.size_bytes - _HEADER.size)
    set_timer_slack(1)
    offsets = order.plan.offsets_ns().tolist()
    with StampedSocket.connected(where, where.resolve(socket.SOCK_DGRAM)[0]) as link:
        order.file("sending").touch()
        begin_ns = _wait_for(order.begin) + order.shift_ns
        sent = array("q")
        for offset_ns in offsets:
            wait_ns = begin_ns + offset_ns - link.now_ns()
            if wait_ns > 0:
                time.sleep(wait_ns / _NANOSECONDS)
            header = _HEADER.pack(order.token, len(sent))
            stamp_ns = link.now_ns()
            if link.send(header + payload):
                sent.append(stamp_ns)
    write_whole(order.file("sent"), sent.tobytes())


def receive(order: FlowOrder) -> None:
    """Note what arrives, until all has been sent and nothing more comes."""
    where = Address(order.address, PORT)
    arrived = array("q")
    with StampedSocket.listening(where, where.resolve(socket.SOCK_DGRAM)) as link:
        order.file("receiving").touch()
        quiet_since_ns = link.now_ns()
        is_over = False
        while not is_over or link.now_ns() - quiet_since_ns < order.quiet_s * _NANOSECONDS:
            if not is_over and order.file("sent").exists():
                is_over, quiet_since_ns = True, link.now_ns()
            link.wait(order.quiet_s)
            while (datagram := link.take()) is not None:
                if len(datagram.data) != order.plan.size_bytes:
                    continue
                token, number = _HEADER.unpack_from(datagram.data)
                if token == order.token and number < order.plan.count:
                    arrived.extend((number, datagram.stamp_ns))
                    quiet_since_ns = datagram.stamp_ns
    write_whole(order.file("arrived"), arrived.tobytes())


def _wait_for(begin: Path) -> int:
    """Return the moment that a file says, once it is there."""
    while not begin.exists():
        time.sleep(_LOOK_S)
    return int(begin.read_text(encoding="ascii"))


def main() -> None:
    """Be one end of a flow."""
    what, text = sys.argv[1:]
    order = msgspec.json.decode(text, type=FlowOrder)
    {"send": send, "receive": receive}[what](order)


if __name__ == "__main__":
    main()
