"""PacketListener: the packets that pass an interface; the one file of traces that handles a socket.

::

    listening_socket, bound to nothing --> filter --> bound to all protocols --> recv --> CapturedPacket

scapy has opened the socket: nothing in traces imports ``socket``, and its numbers are named here. Packets come
once the filter is in place, and not before.
"""

from __future__ import annotations

import ctypes
import errno
import math
import os
import select
import struct
from collections.abc import Callable
from typing import Any, Self

from netlab.errors import KernelError
from netlab.traces.capture.captured_packet import MAX_PACKET_BYTES, CapturedPacket
from netlab.traces.capture.link_type import LinkType, link_type_of_interface
from netlab.traces.capture.packet_capture import attach_expression, listening_socket

__all__ = ["PacketListener"]

_SOL_SOCKET, _SO_ERROR, _SO_RCVBUF, _SO_RCVBUFFORCE, _SO_ATTACH_FILTER = 1, 4, 8, 33, 26
_SOL_PACKET, _PACKET_STATISTICS, _PACKET_IGNORE_OUTGOING = 263, 6, 23
_ALL_PROTOCOLS = 0x0003
_RECEIVE_BUFFER_BYTES = 1 << 24


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
        self._listening = listening_socket(interface)
        self._socket = self._listening.ins
        try:
            self.link_type: LinkType = link_type_of_interface(interface, self._socket.getsockname()[3])
            if expression:
                attach_expression(self._listening, interface, expression)
            elif program_of is not None and (program := program_of(self.link_type)):
                self._attach(program)
            self._begin(interface)
        except OSError as error:
            self.close()
            hint = "set it up first: ip link set INTERFACE up" if error.errno == errno.ENETDOWN else ""
            raise KernelError(f"listen on {interface}", error.errno or 0, hint=hint) from error
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
            if found is None and timeout_s > 0.0 and self._poll.poll(math.ceil(timeout_s * 1e3)):
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
        counts = self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        return int(struct.unpack("=II", counts)[1])

    def close(self) -> None:
        """Stop listening."""
        self._listening.close()

    def _begin(self, interface: str) -> None:
        """Have packets come: all there is to set is set."""
        self._enlarge_buffer()
        if interface == "lo":  # what passes it goes out and comes in: once is enough
            self._socket.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        self._socket.setblocking(False)
        self._poll = select.poll()  # select() knows no descriptor beyond the 1,024th
        self._poll.register(self._socket, select.POLLIN)
        self._socket.bind((interface, _ALL_PROTOCOLS))
        if problem := self._socket.getsockopt(_SOL_SOCKET, _SO_ERROR):  # an interface that is down
            raise OSError(problem, os.strerror(problem))

    def _recv_now(self) -> Any:
        """Return what scapy makes of the next packet if it is there: first this and then waiting saves a call."""
        try:
            return self._listening.recv_raw(MAX_PACKET_BYTES)
        except BlockingIOError:
            return None

    def _attach(self, program: bytes) -> None:
        instructions = ctypes.create_string_buffer(program, len(program))
        pointer = struct.pack("@HP", len(program) // 8, ctypes.addressof(instructions))
        self._socket.setsockopt(_SOL_SOCKET, _SO_ATTACH_FILTER, pointer)

    def _enlarge_buffer(self) -> None:
        try:
            self._socket.setsockopt(_SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER_BYTES)
        except PermissionError:
            self._socket.setsockopt(_SOL_SOCKET, _SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
