"""PacketWriter: a pcap with nanoseconds, a packet at a time; on a disk that is full, the packets that are whole.

::

    | magic, version, snap length, link type |      then of each packet
    | seconds, nanoseconds, kept bytes, bytes on the wire | the bytes that are kept |

Source: draft-ietf-opsawg-pcap (the format).
"""

from __future__ import annotations

import bisect
import struct
from typing import BinaryIO

from netlab.errors import KernelError
from netlab.traces.capture.captured_packet import CapturedPacket

__all__ = ["PacketWriter"]

_NANOSECONDS = 0xA1B23C4D
_FILE_HEADER = struct.Struct("<IHHiIII")
_PACKET_HEADER = struct.Struct("<IIII")
_FLUSH_BYTES = 1 << 16


class PacketWriter:
    """Writes a pcap.

    Args:
        file: Where to: at its beginning, and unbuffered, so that what was written is there.
        link_type: Of all its packets.
        snap_bytes: The most of a packet that is kept.

    Raises:
        OSError: The file takes not even a header.
    """

    def __init__(self, file: BinaryIO, link_type: int, snap_bytes: int) -> None:
        self._file = file
        self._written_packets = 0
        self._written_bytes = 0
        self._waiting = bytearray(_FILE_HEADER.pack(_NANOSECONDS, 2, 4, 0, 0, snap_bytes, link_type))
        self._ends: list[int] = []
        """Where in the waiting bytes each packet ends."""
        self.flush()

    def write(self, packet: CapturedPacket) -> None:
        """Append a packet that has a time.

        Raises:
            KernelError: As ``flush``.
            OSError: Likewise.
        """
        assert packet.time_ns is not None
        second, nanosecond = divmod(packet.time_ns, 1_000_000_000)
        self._waiting += _PACKET_HEADER.pack(second, nanosecond, len(packet.data), packet.wire_bytes) + packet.data
        self._ends.append(len(self._waiting))
        if len(self._waiting) >= _FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Hand over what was written until now.

        Raises:
            KernelError: The file takes no more; it holds the packets that are whole.
            OSError: It takes no more, and holds none.
        """
        waiting, written = bytes(self._waiting), 0
        try:
            while written < len(waiting):
                written += self._file.write(waiting[written:])
        except OSError as error:
            self._keep_whole(written)
            if not self._written_packets:
                raise
            hint = f"the {self._written_packets:,} packets that it took are kept; make room there for more"
            raise KernelError("write more packets", error.errno or 0, error.strerror or "", hint) from error
        self._take(len(self._ends), written)

    def _take(self, packets: int, size: int) -> None:
        """Note that the file has so many of the packets that waited; none waits any more."""
        self._written_packets += packets
        self._written_bytes += size
        self._waiting.clear()
        self._ends.clear()

    def _keep_whole(self, written: int) -> None:
        """Cut off what is not whole of the waiting bytes that the file took."""
        whole = bisect.bisect_right(self._ends, written)
        self._take(whole, self._ends[whole - 1] if whole else 0)
        self._file.truncate(self._written_bytes)
        self._file.seek(self._written_bytes)
