"""Packet capture: what of scapy is used: its readers of capture files, and its socket; the one door to scapy.

::

    pcap, pcapng --capture_readers--> packet_file.py ------> CapturedPacket
    interface ----listening_socket--> packet_listener.py --> CapturedPacket

scapy opens files and sockets here and dissects nothing: its layers take 110 us for a TCP segment and 500 us for a
radiotap frame (measured, scapy 2.8), where what a trace needs of a packet lies at known places. So a capture is
imported at about 120,000 packets a second on a workstation, of the 300,000 that its raw readers give. It is
imported when a capture is opened: it is optional (GPL-2.0, extra ``capture``), and takes a third of a second.

Both readers are subclassed at methods of their own, so that a file's last packet can be told from a part of one.
Three things of pcapng are read here, as scapy does not: that each section has interfaces of its own, that an
interface's times may begin at another year than 1970, and how many packets name no interface that is described.
scapy is bounded below its next major version, and a test says when the methods are gone.

Source: draft-ietf-opsawg-pcapng, sections 4.1 (sections) and 4.2 (interfaces, ``if_tsoffset``).

Knows no protocol.
"""

from __future__ import annotations

import errno
import functools
import logging
import struct
from typing import Any, cast

from netlab.errors import FeatureMissing, KernelError, PrivilegeError, SpecError, TraceError
from netlab.install_hint import install_hint
from netlab.traces.capture.capture_stream import CaptureStream

__all__ = ["INSTALL", "attach_expression", "capture_readers", "listening_socket"]

INSTALL = install_hint("capture")
MAX_SECTIONS = 4096
"""Interfaces, and processes, that one pcapng file may describe."""

_NO_PROTOCOL = 0
_TIME_OFFSET = 14
_OFFSET_S = "netlab_offset_s"


def capture_readers(path: str) -> tuple[Any, Any]:
    """Return scapy's readers of pcap and of pcapng, each of which says where its last packet began.

    Args:
        path: Of the file to be read, for the error.

    Raises:
        TraceError: scapy is not installed.
    """
    try:
        return _scapy_readers()
    except ImportError as error:
        raise TraceError(
            "reading packet captures needs scapy, which is not installed", path, hint=INSTALL
        ) from error


@functools.cache
def _scapy_readers() -> tuple[Any, Any]:
    _quiet()
    from scapy.utils import RawPcapNgReader, RawPcapReader

    class Pcap(RawPcapReader):
        boundary = 0

        def _read_packet(self, *args: Any, **options: Any) -> Any:
            self.boundary = cast(CaptureStream, self.f).position
            return super()._read_packet(*args, **options)

    class PcapNg(RawPcapNgReader):
        boundary = 0
        left_out = 0

        def _read_block_shb(self) -> Any:
            self.interfaces.clear()
            self.process_information.clear()
            return super()._read_block_shb()

        def _read_block_idb(self, block: bytes, size: int) -> Any:
            super()._read_block_idb(block, size)
            offset_s = self._read_options(block[8:]).get(_TIME_OFFSET)
            if isinstance(offset_s, bytes) and len(offset_s) == 8:
                self.interfaces[-1][2][_OFFSET_S] = struct.unpack(f"{self.endian}q", offset_s)[0]

        def _read_block_epb(self, block: bytes, size: int) -> Any:
            found = super()._read_block_epb(block, size)
            if found is None:
                return None
            offset_s = self.interfaces[struct.unpack_from(f"{self.endian}I", block)[0]][2].get(_OFFSET_S, 0)
            return (found[0], _shifted(found[1], offset_s)) if offset_s else found

        def _check_interface_id(self, number: int) -> Any:
            self.left_out += number >= len(self.interfaces)
            return super()._check_interface_id(number)

        def _read_block(self, *args: Any, **options: Any) -> Any:
            self.boundary = cast(CaptureStream, self.f).position
            if max(len(self.interfaces), len(getattr(self, "process_information", ()))) > MAX_SECTIONS:
                raise TraceError(f"describes more than {MAX_SECTIONS} interfaces or processes", self.filename)
            return super()._read_block(*args, **options)

    return Pcap, PcapNg


def _shifted(about: Any, offset_s: int) -> Any:
    """Return what pcapng says of a packet with its time, in ticks, so many seconds later."""
    ticks = ((about.tshigh << 32) | about.tslow) + offset_s * about.tsresol
    return about._replace(tshigh=ticks >> 32, tslow=ticks & 0xFFFFFFFF)


def listening_socket(interface: str) -> Any:
    """Return scapy's socket that will listen on an interface; it hears nothing until it is bound to protocols.

    So no packet comes before its filter, and none has to be thrown away, which on a fast interface has no end.

    Raises:
        PrivilegeError: We may not.
        KernelError: It cannot be listened on.
        FeatureMissing: scapy is not installed, or cannot have a socket here.
    """
    try:
        _quiet()
        from scapy.arch.linux import L2ListenSocket
        from scapy.error import Scapy_Exception
    except ImportError as error:
        raise FeatureMissing("capture packets", words="scapy is not installed", hint=INSTALL) from error
    try:
        return L2ListenSocket(iface=interface, promisc=False, type=_NO_PROTOCOL)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES):
            hint = "run it by sudo, or in a host of a lab: netlab lab exec"
            raise PrivilegeError(f"listen on {interface}", error.errno, hint=hint) from error
        raise KernelError(f"listen on {interface}", error.errno or 0) from error
    except Scapy_Exception as error:
        raise KernelError(f"listen on {interface}", words=str(error)) from error
    except ValueError as error:  # it asks select() whether anything has come
        words = "this program has more than 1,024 files open, and scapy cannot open a socket then"
        hint = "capture in a program of its own: netlab capture"
        raise FeatureMissing(f"listen on {interface}", words=words, hint=hint) from error


def attach_expression(listening: Any, interface: str, expression: str) -> None:
    """Have the kernel pass on what an expression in libpcap's language asks for alone.

    Args:
        listening: What ``listening_socket`` returned.
        interface: Which it is of.
        expression: The filter.

    Raises:
        SpecError: It is no filter.
        FeatureMissing: libpcap is not installed.
    """
    from scapy.arch.linux import attach_filter
    from scapy.error import Scapy_Exception

    try:
        attach_filter(listening.ins, expression, interface)
    except (ImportError, Scapy_Exception) as error:
        words = str(error)
        if isinstance(error, ImportError) or "libpcap" in words:
            hint = "install libpcap (Debian: apt install libpcap0.8), or use --filter tcp or icmp, which need none"
            raise FeatureMissing(
                f"filter by {expression!r}", words="libpcap is not installed", hint=hint
            ) from error
        raise SpecError(f"{expression!r}: {words}", key="--filter", hint="see `man pcap-filter`") from error


def _quiet() -> None:
    """Have scapy say nothing itself: what is wrong with a file is ours to say."""
    logging.getLogger("scapy").setLevel(logging.CRITICAL)
    for name in ("loading", "runtime", "interactive"):
        logging.getLogger(f"scapy.{name}").setLevel(logging.CRITICAL)
