"""Packet recording: what an interface passes, cut to what may be kept, into a capture file until told to stop.

::

    PacketListener --cut--> PacketWriter        until: so many packets, so long, or told

Knows no file name, no signal and no terminal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from netlab.traces.captured_packet import CapturedPacket
from netlab.traces.importers.packet_headers import headers_bytes
from netlab.traces.packet_capture import PacketListener, PacketWriter

__all__ = ["Recorded", "record_packets"]

FLUSH_S = 1.0
_LOOK_S = 0.1


class Recorded(NamedTuple):
    """How a recording stands.

    Attributes:
        packets: How many are in the file.
        missed: How many more there were, which came faster than they could be written.
        duration_s: How long it has been going on.
    """

    packets: int
    missed: int
    duration_s: float


def record_packets(
    listener: PacketListener,
    writer: PacketWriter,
    *,
    snap_bytes: int | None = None,
    max_packets: int | None = None,
    max_duration_s: float | None = None,
    stopped: Callable[[], bool] = lambda: False,
    show: Callable[[Recorded], None] = lambda recorded: None,
) -> Recorded:
    """Record until one of the bounds is met.

    Args:
        listener: Where packets come from.
        writer: Where they go.
        snap_bytes: How much of each is kept; None for its headers.
        max_packets: After how many to stop.
        max_duration_s: After how long to stop.
        stopped: Asked several times a second whether to stop.
        show: Told several times a second how it stands.

    Raises:
        KernelError: The interface is gone; what came before is with the writer.
        OSError: The writer takes no more.
    """
    began_s = time.monotonic()
    end_s = began_s + (max_duration_s if max_duration_s is not None else float("inf"))
    flush_s = look_s = began_s
    packets = missed = 0
    while True:
        now_s = time.monotonic()
        if now_s >= look_s:
            look_s = now_s + _LOOK_S
            missed += listener.missed()
            show(Recorded(packets, missed, now_s - began_s))
        if now_s >= flush_s:
            flush_s = now_s + FLUSH_S
            writer.flush()
        if stopped() or now_s >= end_s or packets == max_packets:
            writer.flush()
            return Recorded(packets, missed + listener.missed(), now_s - began_s)
        packet = listener.recv(min(_LOOK_S, max(0.0, end_s - now_s)))
        if packet is not None:
            writer.write(_cut(packet, snap_bytes))
            packets += 1


def _cut(packet: CapturedPacket, snap_bytes: int | None) -> CapturedPacket:
    kept = headers_bytes(packet) if snap_bytes is None else snap_bytes
    return packet if len(packet.data) <= kept else packet._replace(data=packet.data[:kept])
