"""Packet recording: what an interface passes, cut to what may be kept, into a capture file until told to stop.

::

    PacketListener --cut--> PacketWriter        until: so many packets, so long, or told

Knows no file name, no signal and no terminal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

from netlab.traces.capture.captured_packet import MAX_PACKETS, CapturedPacket
from netlab.traces.capture.packet_headers import headers_bytes
from netlab.traces.capture.packet_listener import PacketListener
from netlab.traces.capture.packet_writer import PacketWriter

__all__ = ["Recorded", "RecordingBounds", "record_packets"]

FLUSH_S = 1.0
_LOOK_S = 0.1


class RecordingBounds(NamedTuple):
    """How much is recorded.

    Attributes:
        snap_bytes: How much of each packet is kept; None for its headers.
        max_packets: After how many to stop.
        max_duration_s: After how long to stop.
    """

    snap_bytes: int | None = None
    max_packets: int = MAX_PACKETS
    max_duration_s: float = math.inf


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
    bounds: RecordingBounds,
    *,
    stopped: Callable[[], bool] = lambda: False,
    show: Callable[[Recorded], None] = lambda recorded: None,
) -> Recorded:
    """Record until one of the bounds is met.

    Args:
        listener: Where packets come from.
        writer: Where they go.
        bounds: How much of them.
        stopped: Asked several times a second whether to stop.
        show: Told several times a second how it stands.

    Raises:
        KernelError: The interface is gone, or the file is full; what came before is with the writer.
        OSError: The writer takes nothing.
    """
    began_s = flush_s = look_s = time.monotonic()
    end_s = began_s + bounds.max_duration_s
    packets = missed = 0
    try:
        while not stopped() and packets < bounds.max_packets and (now_s := time.monotonic()) < end_s:
            if now_s >= look_s:
                look_s = now_s + _LOOK_S
                missed += listener.missed()
                show(Recorded(packets, missed, now_s - began_s))
            if now_s >= flush_s:
                flush_s = now_s + FLUSH_S
                writer.flush()
            packet = listener.recv(min(_LOOK_S, end_s - now_s))
            if packet is not None:
                writer.write(_cut(packet, bounds.snap_bytes))
                packets += 1
    finally:
        writer.flush()
    return Recorded(packets, missed + listener.missed(), time.monotonic() - began_s)


def _cut(packet: CapturedPacket, snap_bytes: int | None) -> CapturedPacket:
    kept = headers_bytes(packet) if snap_bytes is None else snap_bytes
    return packet if len(packet.data) <= kept else packet._replace(data=packet.data[:kept])
