"""StampedSocket: a UDP socket whose datagrams come with the kernel's stamp of their arrival.

::

    network --> kernel: stamp --> socket buffer --> take() --> data, from whom, stamp

The stamp is set where the kernel takes the packet from its device, so it does not matter when this process runs.
Its clock is CLOCK_REALTIME, which ``StepWatch`` makes steady. A datagram leaves as one packet or not at all: in
fragments it would measure the luck of several. Knows no frame.
"""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import struct
import time
from types import TracebackType
from typing import NamedTuple, Self

from netlab.errors import KernelError, PrivilegeError
from netlab.probe.departure import Departure
from netlab.probe.step_watch import StepWatch
from netlab.wire.address import Address, Endpoint, SocketAddress

__all__ = ["Datagram", "StampedSocket"]

MAX_DATAGRAM_BYTES = 60_000
"""Largest that is looked at; one byte more is seen, so that it can be refused."""
BUFFER_BYTES = 1 << 22
"""Asked of the kernel for each direction, which may give less: seconds of probes while Python is elsewhere."""
ERRORS_AT_ONCE = 64
"""What the network says of datagrams sent before is taken from the socket one by one; it may go on saying it."""

_SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 33, 35
_IP_MTU_DISCOVER, _IP_MTU, _IPV6_MTU_DISCOVER, _IPV6_MTU = 10, 14, 23, 24
_NEVER_IN_FRAGMENTS = 2
_HEADER_BYTES = {socket.AF_INET: 28, socket.AF_INET6: 48}
_TIMESPEC = struct.Struct("@ll")
_ANCILLARY_BYTES = socket.CMSG_SPACE(_TIMESPEC.size)
_NANOSECONDS = 1_000_000_000
_MAX_WAIT_S = 0.2
"""A signal's handler takes note, and the system call goes on: nobody waits longer than this to see the note."""


class Datagram(NamedTuple):
    """A datagram that has arrived.

    Attributes:
        data: Its payload.
        address: Whom it is from.
        stamp_ns: When the kernel took it from its device, made steady.
        is_stamped: Whether it did say when; else the stamp is of the moment at which it was taken here.
    """

    data: bytes
    address: SocketAddress
    stamp_ns: int
    is_stamped: bool = True


class StampedSocket:
    """A UDP socket that never blocks.

    Args:
        family: Its address family.

    Attributes:
        port_refusals: How often the network said that the peer's port is closed.
    """

    def __init__(self, family: socket.AddressFamily) -> None:
        self._socket = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
        self._family = family
        self._poll = select.poll()  # select() itself knows no descriptor above 1023
        self._poll.register(self._socket, select.POLLIN)
        self._buffer = memoryview(bytearray(MAX_DATAGRAM_BYTES + 1))
        self._steps = StepWatch()
        self.port_refusals = 0
        if family == socket.AF_INET6:
            self._socket.setsockopt(socket.IPPROTO_IPV6, _IPV6_MTU_DISCOVER, _NEVER_IN_FRAGMENTS)
        else:
            self._socket.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _NEVER_IN_FRAGMENTS)
        with contextlib.suppress(OSError):  # for root alone, who may go beyond the host's limit
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, BUFFER_BYTES)
        if self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) < BUFFER_BYTES:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)

    @classmethod
    def listening(cls, where: Address, endpoints: tuple[Endpoint, ...]) -> Self:
        """Return a socket bound to the first of a name's addresses that this host has.

        Raises:
            KernelError: None of them can be had.
        """
        refusals = []
        for endpoint in endpoints:
            made = cls(endpoint.family)
            try:
                made._socket.bind(endpoint.numeric)
            except OSError as error:
                made.close()
                refusals.append(error)
                continue
            return made
        raise _refused(f"listen on {where}", refusals[0])

    @classmethod
    def connected(cls, where: Address, endpoint: Endpoint, local_port: int = 0) -> Self:
        """Return a socket that talks with one address alone.

        Raises:
            KernelError: There is no way to it, or the local port is taken.
        """
        made = cls(endpoint.family)
        try:
            if local_port:
                made._socket.bind(("", local_port))
            made._socket.connect(endpoint.numeric)
        except OSError as error:
            made.close()
            raise _refused(f"reach {where}" + (f" from port {local_port}" if local_port else ""), error) from error
        return made

    @property
    def address(self) -> Address:
        """Return its own numeric address."""
        host, port = self._socket.getsockname()[:2]
        return Address(str(host), int(port))

    @property
    def most_bytes(self) -> int:
        """Return the largest datagram that goes to the connected peer in one packet, as far as is known."""
        if self._family == socket.AF_INET6:
            mtu_bytes = self._socket.getsockopt(socket.IPPROTO_IPV6, _IPV6_MTU)
        else:
            mtu_bytes = self._socket.getsockopt(socket.IPPROTO_IP, _IP_MTU)
        return int(mtu_bytes) - _HEADER_BYTES[self._family]

    @property
    def clock_steps(self) -> int:
        """Return how often the clock was set while this socket was watched."""
        return self._steps.steps

    def now_ns(self) -> int:
        """Return the time on the clock of the stamps, made steady."""
        return time.time_ns() - self._steps.shift_ns

    def take(self) -> Datagram | None:
        """Return what has arrived; None where nothing has."""
        for _ in range(ERRORS_AT_ONCE):
            try:
                size, extras, _, address = self._socket.recvmsg_into([self._buffer], _ANCILLARY_BYTES)
            except BlockingIOError:
                return None
            except OSError as error:  # ICMP for something we have sent
                self.port_refusals += error.errno == errno.ECONNREFUSED
                continue
            stamp_ns, is_stamped = time.time_ns(), False
            for level, kind, content in extras:
                if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(content) >= _TIMESPEC.size:
                    seconds, nanoseconds = _TIMESPEC.unpack_from(content)
                    stamp_ns, is_stamped = seconds * _NANOSECONDS + nanoseconds, True
            data = bytes(self._buffer[:size])
            return Datagram(data, address, stamp_ns - self._steps.shift_ns, is_stamped)
        return None

    def send(self, data: bytes, address: SocketAddress | None = None) -> bool:
        """Send a datagram now or never; whether it left."""
        return self.depart(data, address) is Departure.LEFT

    def depart(self, data: bytes, address: SocketAddress | None = None) -> Departure:
        """Send a datagram now or never; what became of it."""
        refusal = errno.ECONNREFUSED
        for _ in range(2):
            try:
                if address is None:
                    self._socket.send(data)
                else:
                    self._socket.sendto(data, address)
            except OSError as error:
                refusal = error.errno or 0
                if refusal != errno.ECONNREFUSED:
                    break
                self.port_refusals += 1  # what an earlier datagram has met, reported instead of sending this one
            else:
                return Departure.LEFT
        return Departure.refused(refusal)

    def wait(self, timeout_s: float) -> bool:
        """Wait until something arrives, or the time is up, or 0.2 s have passed; whether something did."""
        self._steps.look()
        is_readable = self._is_readable(time.monotonic() + min(max(timeout_s, 0.0), _MAX_WAIT_S))
        self._steps.look()
        return is_readable

    def _is_readable(self, until_s: float) -> bool:
        """Wait in the kernel's whole milliseconds, and sleep for what is left of one: no later than asked."""
        while True:
            left_s = until_s - time.monotonic()
            whole_ms = max(int(left_s * 1e3), 0)
            if self._poll.poll(whole_ms):
                return True
            if left_s <= 0.0:
                return False
            if not whole_ms:
                time.sleep(left_s)

    def fileno(self) -> int:
        """Return its descriptor."""
        return self._socket.fileno()

    def close(self) -> None:
        """Let go of the socket."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _refused(attempt: str, error: OSError) -> KernelError:
    hints = {
        errno.EADDRINUSE: "another program has it: choose another port, or end that program",
        errno.EADDRNOTAVAIL: "this host has no such address; `ip address` shows which it has",
        errno.EACCES: "ports below 1024 are for root: choose a higher one",
        errno.ENETUNREACH: "check the address, and that this host has a network (`ip route get ADDRESS`)",
    }
    kind = PrivilegeError if error.errno in (errno.EACCES, errno.EPERM) else KernelError
    number = error.errno or 0
    return kind(attempt, number, error.strerror or "", hint=hints.get(number, ""))
