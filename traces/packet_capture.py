"""Packet capture: packets out of capture files and off an interface, as bytes with a time; the one door to scapy.

::

    pcap, pcapng --PacketFile-----> CapturedPacket ---> importers/packet_headers.py ---> round trips
    interface ----PacketListener--> CapturedPacket ---> packet_recording.py --PacketWriter--> pcap

scapy opens files and sockets here and dissects nothing: its layers take 110 us for a TCP segment and 500 us for a
radiotap frame (measured, scapy 2.8), where what a trace needs of a packet lies at known places. So a capture is
imported at about 120,000 packets a second on a workstation, of the 300,000 that its raw readers give. It is
imported when a capture is opened: it is optional (GPL-2.0, extra ``capture``), and takes a third of a second.

Knows no protocol.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import logging
import select
import struct
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Self, cast

from netlab.errors import FeatureMissing, KernelError, PrivilegeError, SpecError, TraceError
from netlab.traces.capture_stream import CaptureStream, Readable
from netlab.traces.captured_packet import CapturedPacket
from netlab.traces.link_type import LinkType, link_type_of_interface

__all__ = ["PacketFile", "PacketListener", "PacketWriter", "is_capture"]

MAX_PACKETS = 10_000_000
MAX_PACKET_BYTES = 1 << 18
"""The longest packet that is believed, four times the longest there is: tcpdump's own bound."""
MAX_SECTIONS = 4096
"""Interfaces, and processes, that one pcapng file may describe."""

_PCAP = (b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1")
_SCAPYS_MOST = 0xFFFF
_MOST_NS = 1 << 62  # the year 2116: so that differences of times fit into 64 bits
_PCAPNG = b"\x0a\x0d\x0d\x0a"
_INSTALL = "pip install 'netlab-rl[capture]'"

# Of Linux's sockets, by number: this room imports no socket, scapy has opened it.
_SOL_SOCKET, _SO_RCVBUF, _SO_RCVBUFFORCE, _SO_ATTACH_FILTER = 1, 8, 33, 26
_SOL_PACKET, _PACKET_STATISTICS, _PACKET_IGNORE_OUTGOING = 263, 6, 23
_RECEIVE_BUFFER_BYTES = 1 << 24


def is_capture(head: bytes) -> bool:
    """Tell whether a file that begins so is a capture."""
    return head[:4] in _PCAP or head[:4] == _PCAPNG


class PacketFile:
    """The packets of a capture file, in its order; reads it once, a packet at a time.

    Args:
        file: Its bytes, decompressed.
        path: What it is called in errors.

    Attributes:
        damage: Once all are read: why the file ended before its end; empty where it is whole.

    Raises:
        TraceError: It is no capture, or scapy is not installed.
    """

    def __init__(self, file: Readable, path: str) -> None:
        self.damage = ""
        self._path = path
        self._stream = CaptureStream(file, path)
        magic = self._stream.peek_magic()
        if not is_capture(magic):
            raise TraceError("is no packet capture: it begins like neither pcap nor pcapng", path)
        pcap, pcapng = _readers(path)
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
        n = 0
        while True:
            try:
                data, about = next(self._reader)
            except StopIteration:
                whole = not self._stream.beyond_belief and self._stream.position == self._reader.boundary
                self.damage = "" if whole else self._kept("it ends within a packet", n)
                return
            except TraceError:
                raise
            except Exception:  # as above
                self.damage = self._kept("it is broken", n)
                return
            captured = getattr(about, "caplen", len(data))
            if captured > MAX_PACKET_BYTES:
                self.damage = self._kept(f"packet {n + 1:,} is said to have {captured:,} bytes", n)
                return
            if len(data) < min(captured, _SCAPYS_MOST):
                self.damage = self._kept("it ends within a packet", n)
                return
            n += 1
            if n > MAX_PACKETS:
                problem = f"holds more than {MAX_PACKETS:,} packets, the most that is read"
                raise TraceError(problem, self._path, hint="cut it into parts, for example by `editcap -c`")
            yield CapturedPacket(self._time_ns(about), self._link_type(about), data, about.wirelen)

    @staticmethod
    def _kept(problem: str, n: int) -> str:
        return f"{problem}; the {n:,} before it are kept"

    def _time_ns(self, about: Any) -> int | None:
        if hasattr(about, "sec"):
            return int(about.sec) * 1_000_000_000 + int(about.usec) * (1 if self._reader.nano else 1000)
        if about.tshigh is None:
            return None
        time_ns = ((int(about.tshigh) << 32) | int(about.tslow)) * 1_000_000_000 // int(about.tsresol)
        return time_ns if time_ns < _MOST_NS else None

    def _link_type(self, about: Any) -> int:
        # The upper half of a pcap's number says whether frames keep their check sums.
        return int(about.linktype if hasattr(about, "linktype") else self._reader.linktype) & 0xFFFF


@functools.cache
def _scapy_readers() -> tuple[Any, Any]:
    """Return scapy's two readers of capture files, each of which says where its last packet began."""
    _quiet()
    from scapy.utils import RawPcapNgReader, RawPcapReader

    class Pcap(RawPcapReader):
        boundary = 0

        def _read_packet(self, *args: Any, **options: Any) -> Any:
            self.boundary = cast(CaptureStream, self.f).position
            return super()._read_packet(*args, **options)

    class PcapNg(RawPcapNgReader):
        boundary = 0

        def _read_block(self, *args: Any, **options: Any) -> Any:
            self.boundary = cast(CaptureStream, self.f).position
            if max(len(self.interfaces), len(getattr(self, "process_information", ()))) > MAX_SECTIONS:
                raise TraceError(f"describes more than {MAX_SECTIONS} interfaces or processes", self.filename)
            return super()._read_block(*args, **options)

    return Pcap, PcapNg


def _readers(path: str) -> tuple[Any, Any]:
    try:
        return _scapy_readers()
    except ImportError as error:
        raise TraceError(
            "reading packet captures needs scapy, which is not installed", path, hint=_INSTALL
        ) from error


def _quiet() -> None:
    """Have scapy say nothing itself: what is wrong with a file is ours to say."""
    logging.getLogger("scapy").setLevel(logging.CRITICAL)
    for name in ("loading", "runtime", "interactive"):
        logging.getLogger(f"scapy.{name}").setLevel(logging.CRITICAL)


class PacketWriter:
    """Writes a pcap with nanoseconds, a packet at a time.

    Args:
        file: Where to.
        link_type: Of all its packets.
        snap_bytes: The most of a packet that is kept.
    """

    def __init__(self, file: BinaryIO, link_type: int, snap_bytes: int) -> None:
        from scapy.utils import RawPcapWriter

        self._file = file
        self._writer = RawPcapWriter(file, linktype=link_type, nano=True, snaplen=snap_bytes)
        self._writer.write_header(None)

    def write(self, packet: CapturedPacket) -> None:
        """Append a packet that has a time."""
        assert packet.time_ns is not None
        second, nanosecond = divmod(packet.time_ns, 1_000_000_000)
        self._writer.write_packet(
            packet.data, sec=second, usec=nanosecond, caplen=len(packet.data), wirelen=packet.wire_bytes
        )

    def flush(self) -> None:
        """Hand over what was written until now."""
        self._file.flush()


class PacketListener:
    """The packets that pass one interface, in and out; nothing is sent, the interface stays as it is.

    It is not made promiscuous: what the card passes on anyway is what is seen.

    Args:
        interface: Its name.
        program_of: Returns, for what its packets begin with, a filter as the kernel runs it, eight bytes an
            instruction; empty for all packets.
        expression: A filter in libpcap's language instead, which libpcap has to be installed for; empty for none.

    Attributes:
        link_type: What its packets begin with.

    Raises:
        PrivilegeError: We may not.
        KernelError: It cannot be listened on.
        SpecError: The expression is no filter.
        FeatureMissing: scapy or libpcap is not installed; its packets are of no kind that can be read.
    """

    def __init__(
        self, interface: str, program_of: Callable[[LinkType], bytes] | None = None, expression: str = ""
    ) -> None:
        self._socket = _listening_socket(interface, expression)
        try:
            kernel_socket = self._socket.ins
            kind = kernel_socket.getsockname()[3]
            self.link_type: LinkType = link_type_of_interface(interface, kind)
            self._enlarge_buffer()
            if interface == "lo":  # what passes it goes out and comes in: once is enough
                kernel_socket.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
            if program_of is not None and (program := program_of(self.link_type)):
                self._attach(program)
            kernel_socket.setblocking(False)
            self._drain()
            self.missed()  # what was before us is not ours
        except OSError as error:
            self.close()
            raise KernelError(f"listen on {interface}", error.errno or 0) from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def recv(self, timeout_s: float) -> CapturedPacket | None:
        """Return the next packet; None where none has come for so long.

        Raises:
            KernelError: The interface is gone or down.
        """
        try:
            found = self._recv_now()
            if found is None and timeout_s > 0.0 and select.select([self._socket.ins], [], [], timeout_s)[0]:
                found = self._recv_now()
        except OSError as error:
            hint = "it went down or away; what was captured until then is kept"
            raise KernelError("go on listening", error.errno or 0, hint=hint) from error
        if found is None:
            return None
        _, data, time_s = found
        if not data:
            return None
        return CapturedPacket(round(time_s * 1e9), self.link_type, data, len(data))

    def missed(self) -> int:
        """Return how many packets the kernel had no room to keep for us since last asked."""
        counts = self._socket.ins.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        return int(struct.unpack("=II", counts)[1])

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()

    def _recv_now(self) -> Any:
        """Return what scapy makes of the next packet if it is there: first this and then waiting saves a call."""
        try:
            return self._socket.recv_raw(MAX_PACKET_BYTES)
        except BlockingIOError:
            return None

    def _attach(self, program: bytes) -> None:
        instructions = ctypes.create_string_buffer(program, len(program))
        pointer = struct.pack("@HP", len(program) // 8, ctypes.addressof(instructions))
        self._socket.ins.setsockopt(_SOL_SOCKET, _SO_ATTACH_FILTER, pointer)

    def _enlarge_buffer(self) -> None:
        try:
            self._socket.ins.setsockopt(_SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER_BYTES)
        except PermissionError:
            self._socket.ins.setsockopt(_SOL_SOCKET, _SO_RCVBUF, _RECEIVE_BUFFER_BYTES)

    def _drain(self) -> None:
        """Throw away what came before the filter was there."""
        while self._recv_now() is not None:
            pass


def _listening_socket(interface: str, expression: str) -> Any:
    try:
        _quiet()
        from scapy.arch.linux import L2ListenSocket
        from scapy.error import Scapy_Exception
    except ImportError as error:
        raise FeatureMissing("capture packets", words="scapy is not installed", hint=_INSTALL) from error
    try:
        return L2ListenSocket(iface=interface, promisc=False, filter=expression or None)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES):
            hint = "run it by sudo, or in a host of a lab: netlab lab exec"
            raise PrivilegeError(f"listen on {interface}", error.errno, hint=hint) from error
        raise KernelError(f"listen on {interface}", error.errno or 0, hint=_down(error)) from error
    except Scapy_Exception as error:
        words = str(error)
        if "libpcap" in words:
            hint = "install libpcap (Debian: apt install libpcap0.8), or use --filter tcp or icmp, which need none"
            raise FeatureMissing(
                f"filter by {expression!r}", words="libpcap is not installed", hint=hint
            ) from error
        raise SpecError(f"{expression!r}: {words}", key="--filter", hint="see `man pcap-filter`") from error


def _down(error: OSError) -> str:
    return "set it up first: ip link set INTERFACE up" if error.errno == errno.ENETDOWN else ""
