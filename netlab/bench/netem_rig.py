"""NetemRig: numbered frames through a real netem, each with the time it was sent and the times it arrived.

::

    near namespace                                far namespace
    packet socket --> eth0 [netem] ====veth====> eth0 --kernel's stamp--> packet socket
      clock before and after                            whole frame compared

Packet sockets at both ends: a corrupted frame need not be one that IP delivers. Knows no model.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from netlab.bench.numbered_frame import NumberedFrame, number_of
from netlab.namespaces.features import kernel_features
from netlab.namespaces.namespace import Namespace
from netlab.namespaces.netem_qdisc import NetemQdisc
from netlab.namespaces.rtnetlink import RouteSocket
from netlab.traces.qdisc_state import QdiscState

__all__ = ["FRAME_BYTES", "INTERFACE", "Arrival", "NetemRig", "Sending", "netem_rig"]

INTERFACE = 2
FRAME_BYTES = 100

_INTERFACE_NAME = "eth0"
_MACS = ("02:00:00:00:09:01", "02:00:00:00:09:02")
_ALL_PROTOCOLS = 0x0003
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 32, 33, 35
_BUFFER_BYTES = 1 << 26
_TIMESPEC = struct.Struct("=qq")
_STAMPS_ON_S = 0.02
"""The kernel begins to stamp frames a moment after it is asked to."""


class Sending(NamedTuple):
    """A frame that was sent.

    Attributes:
        number: Its number.
        before_ns: The clock just before; netem read it between this and ``after_ns``.
        after_ns: The clock just after.
        refused: The queue had no room, and the kernel said so.
    """

    number: int
    before_ns: int
    after_ns: int
    refused: bool


class Arrival(NamedTuple):
    """A frame that came out.

    Attributes:
        number: Its number.
        at_ns: The kernel's stamp, on the clock of ``Sending``.
        flipped_bit: Which bit of it was flipped, counted from its first byte's highest; None: it is whole.
        marked: It bears the mark of congestion.
    """

    number: int
    at_ns: int
    flipped_bit: int | None
    marked: bool

    @property
    def corrupted(self) -> bool:
        """Whether a bit of it was flipped."""
        return self.flipped_bit is not None


class NetemRig:
    """A sender, a netem and a receiver; made by ``netem_rig``.

    Attributes:
        route: Socket in the sender's namespace.
        qdisc: The netem that frames go through.
    """

    def __init__(self, route: RouteSocket, sender: socket.socket, receiver: socket.socket) -> None:
        self.route = route
        self.qdisc = NetemQdisc(route, INTERFACE, features=kernel_features())
        self._sender = sender
        self._receiver = receiver
        self._sent: dict[int, NumberedFrame] = {}

    def begin(self, state: QdiscState) -> None:
        """Put a fresh netem there: nothing of one before it is left, nor frames in it."""
        if self.qdisc.asked is not None:
            self.qdisc.delete()
            self._forget_arrivals()
        self.qdisc.add(state)

    def _forget_arrivals(self) -> None:
        self._receiver.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self._receiver.recv(1)

    def send(
        self, numbers: Iterable[int], *, period_s: float = 0.0, length_bytes: int = FRAME_BYTES, ect: bool = False
    ) -> list[Sending]:
        """Send one frame a number.

        Args:
            numbers: In this order; one that comes again means the frame that is sent now.
            period_s: Pause after each.
            length_bytes: Of each frame, with its MAC header.
            ect: Whether they may be marked instead of lost.

        Raises:
            OSError: The interface is down or gone.
        """
        frames = {number: NumberedFrame.make(number, length_bytes, ect=ect) for number in numbers}
        self._sent.update(frames)
        return [self._send_one(number, frame.plain, period_s) for number, frame in frames.items()]

    def _send_one(self, number: int, data: bytes, period_s: float) -> Sending:
        refused = False
        before_ns = time.time_ns()
        try:
            self._sender.send(data)
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            refused = True
        after_ns = time.time_ns()
        if period_s:
            time.sleep(period_s)
        return Sending(number, before_ns, after_ns, refused)

    def receive(self, quiet_s: float, count: int | None = None) -> list[Arrival]:
        """Return what arrives, in order, until nothing has come for ``quiet_s``, or until ``count`` have come.

        Raises:
            LabError: A frame came that was not sent, or with more than one bit changed.
        """
        self._receiver.settimeout(quiet_s)
        arrived: list[Arrival] = []
        while len(arrived) != count:
            try:
                data, extras, _, _ = self._receiver.recvmsg(2048, 64)
            except TimeoutError:
                break
            seconds, nanoseconds = _TIMESPEC.unpack(extras[0][2])
            number = number_of(data)
            arrived.append(Arrival(number, seconds * 1_000_000_000 + nanoseconds, *self._sent[number].look(data)))
        return arrived


@contextlib.contextmanager
def netem_rig(state: QdiscState | None = None) -> Iterator[NetemRig]:
    """Make a rig, its netem in ``state``; without a state there is no netem yet.

    Raises:
        FeatureMissing: This kernel has no netem.
        PrivilegeError: The caller may not make namespaces.
        KernelError: The kernel refuses.
    """
    with contextlib.ExitStack() as stack:
        near, far = (stack.enter_context(Namespace.create(name)) for name in ("near", "far"))
        route, far_route = (stack.enter_context(RouteSocket.open(space.fd)) for space in (near, far))
        with route.batch():
            route.add_veth(
                _INTERFACE_NAME, _INTERFACE_NAME, peer_netns_fd=far.fd, index=INTERFACE, peer_index=INTERFACE,
                mac=_MACS[0], peer_mac=_MACS[1], gso_max_segs=1,
            )  # fmt: skip
            route.set_up(INTERFACE)
        with far_route.batch():
            far_route.set_up(INTERFACE)
        receiver = stack.enter_context(far.call(_open_receiver))
        sender = stack.enter_context(near.call(_open_sender))
        time.sleep(_STAMPS_ON_S)
        rig = NetemRig(route, sender, receiver)
        if state is not None:
            rig.begin(state)
        yield rig


def _open_sender() -> socket.socket:
    """Return a socket that only sends: it is bound to no protocol."""
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sender.bind((_INTERFACE_NAME, 0))
    sender.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _BUFFER_BYTES)
    return sender


def _open_receiver() -> socket.socket:
    receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS))
    receiver.bind((_INTERFACE_NAME, _ALL_PROTOCOLS))
    receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
    receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    return receiver
