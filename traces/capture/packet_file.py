"""PacketFile: the packets of a pcap or pcapng file, up to where it ends or is damaged.

What a file claims is not believed: not more bytes, packets or interfaces than there may be, and no packet that is
not whole. Knows no protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from netlab.errors import TraceError
from netlab.traces.capture.capture_stream import CaptureStream, Readable
from netlab.traces.capture.captured_packet import MAX_PACKET_BYTES, MAX_PACKETS, CapturedPacket
from netlab.traces.capture.packet_capture import capture_readers

__all__ = ["PacketFile", "is_capture"]

_PCAP = (b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1")
_PCAPNG = b"\x0a\x0d\x0d\x0a"
_SCAPYS_MOST = 0xFFFF
_MOST_NS = 1 << 62  # the year 2116: so that differences of times fit into 64 bits


def is_capture(head: bytes) -> bool:
    """Tell whether a file that begins so is a capture."""
    return head[:4] in _PCAP or head[:4] == _PCAPNG


class PacketFile:
    """The packets of a capture file, in its order; reads it once, a packet at a time.

    Args:
        file: Its bytes, decompressed.
        path: What it is called in errors.
        max_bytes: The most that is read of it.

    Attributes:
        damage: Once all are read: why the file ended before its end; empty where it is whole.
        left_out: Likewise: which packets are left out, and why; empty where none is.

    Raises:
        TraceError: It is no capture, or scapy is not installed.
    """

    def __init__(self, file: Readable, path: str, max_bytes: int) -> None:
        self.damage = ""
        self.left_out = ""
        self._path = path
        self._stream = CaptureStream(file, path, max_bytes)
        magic = self._stream.peek_magic()
        if not is_capture(magic):
            raise TraceError("is no packet capture: it begins like neither pcap nor pcapng", path)
        pcap, pcapng = capture_readers(path)
        kind = pcapng if magic == _PCAPNG else pcap
        try:
            self._reader = kind(self._stream)
        except Exception as error:  # whatever a parser of someone else's makes of hostile bytes
            if isinstance(error, TraceError):
                raise
            raise TraceError("the capture ends within its own header", path, hint="capture again") from None
        if not isinstance(self._reader, kind):
            raise TraceError("is a capture whose header is broken", path, hint="capture again")

    def __iter__(self) -> Iterator[CapturedPacket]:
        yield from self._packets()
        if n := getattr(self._reader, "left_out", 0):
            packets = "packet names an interface" if n == 1 else "packets name interfaces"
            self.left_out = f"{n:,} {packets} that the file does not describe"

    def _packets(self) -> Iterator[CapturedPacket]:
        n = 0
        while (found := self._next(n)) is not None:
            n += 1
            if n > MAX_PACKETS:
                problem = f"holds more than {MAX_PACKETS:,} packets, the most that is read"
                raise TraceError(problem, self._path, hint="cut it into parts, for example by `editcap -c`")
            data, about = found
            yield CapturedPacket(self._time_ns(about), self._link_type(about), data, about.wirelen)

    def _next(self, n: int) -> tuple[bytes, Any] | None:
        """Return a packet's bytes and what the file says of it; None where no whole one follows the first n."""
        try:
            data, about = next(self._reader)
        except StopIteration:
            whole = not self._stream.beyond_belief and self._stream.position == self._reader.boundary
            self.damage = "" if whole else self._kept("it ends within a packet", n)
            return None
        except TraceError:
            raise
        except Exception:  # whatever a parser of someone else's makes of hostile bytes
            self.damage = self._kept("it is broken", n)
            return None
        captured = getattr(about, "caplen", len(data))
        if captured > MAX_PACKET_BYTES:
            self.damage = self._kept(f"packet {n + 1:,} is said to have {captured:,} bytes", n)
            return None
        if len(data) < min(captured, _SCAPYS_MOST):
            self.damage = self._kept("it ends within a packet", n)
            return None
        return data, about

    @staticmethod
    def _kept(problem: str, n: int) -> str:
        return f"{problem}; the {n:,} before it are kept"

    def _time_ns(self, about: Any) -> int | None:
        if hasattr(about, "sec"):
            return int(about.sec) * 1_000_000_000 + int(about.usec) * (1 if self._reader.nano else 1000)
        if about.tshigh is None:
            return None
        time_ns = ((int(about.tshigh) << 32) | int(about.tslow)) * 1_000_000_000 // int(about.tsresol)
        return time_ns if 0 <= time_ns < _MOST_NS else None

    def _link_type(self, about: Any) -> int:
        # The upper half of a pcap's number says whether frames keep their check sums.
        return int(about.linktype if hasattr(about, "linktype") else self._reader.linktype) & 0xFFFF
