"""Attempt: one try at a session, from the first packet to the Welcome; one class a transport.

Nothing here waits: ``poll`` does what can be done now. An attempt ends in a channel, in ``ConnectionLost``
(try again) or in an error that trying again will not mend.

::

    datagram:            ask --(repeat)--> challenge: proof --(repeat)--> Welcome
    stream:   connect -> ask ------------> challenge: proof ------------> Welcome
"""

from __future__ import annotations

import contextlib
import errno
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from netlab.errors import ConnectionLost, RemoteProtocolError
from netlab.messages import Goodbye, Hello, Welcome
from netlab.wire.address import Address, Endpoint
from netlab.wire.channel import Received
from netlab.wire.datagram import MAX_BATCH_FRAMES, DatagramChannel, open_datagram_socket
from netlab.wire.handshake import Initiator
from netlab.wire.key import Key
from netlab.wire.pulse import Timing
from netlab.wire.sealed_channel import SealedChannel
from netlab.wire.sealed_stream import READ_BYTES, prepare_stream_socket
from netlab.wire.stream import StreamChannel
from netlab.wire.stream_frames import FrameReader, add_length

__all__ = ["Attempt", "DatagramAttempt", "StreamAttempt", "Target"]

FIRST_REPEAT_S = 0.1
LONGEST_REPEAT_S = 1.0
BELIEVED_REFUSALS = 3
"""Refusals over UDP before one is believed: a single one may be forged, or answer a damaged ask."""
MAX_REPLY_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Target:
    """Whom to dial, and how.

    Attributes:
        where: The address as the user gave it.
        endpoint: One of its numeric addresses.
        key: The shared key.
        hello: What to say.
        timing: Heartbeats and deadlines.
        clock: Seconds that never go back.
        patience_s: How long the attempt may take.
        has_others: Whether the host has further addresses to try: then a port that seems closed is left at
            once, on no more than a hint.
    """

    where: Address
    endpoint: Endpoint
    key: Key
    hello: Hello
    timing: Timing
    clock: Callable[[], float]
    patience_s: float
    has_others: bool


class Attempt(ABC):
    """One try at a session.

    Args:
        target: Whom to dial.
        sock: The socket to do it with; the attempt's own from now on.

    Attributes:
        welcome: What the remote said, once it did.
        wants_write: Whether the attempt waits for the socket to become writable, not readable.
    """

    wants_write = False

    def __init__(self, target: Target, sock: socket.socket) -> None:
        self.target = target
        self.welcome: Welcome | None = None
        self._socket = sock
        self._initiator = Initiator(target.key, target.hello)
        self._channel: SealedChannel | None = None
        self._since_s = target.clock()
        self._is_port_closed = False

    def poll(self) -> SealedChannel | None:
        """Do what can be done now; return the channel once the remote has welcomed us.

        Raises:
            ConnectionLost: This attempt has failed; another may not.
            AuthError: The listener refuses our key.
            RemoteProtocolError: The listener speaks another version, or refuses this edge.
        """
        now_s = self.target.clock()
        if self._channel is None:
            self._advance(now_s)
        if self._channel is not None:
            self._repeat_proof(now_s)
            for received in self._channel.receive():
                self._take_answer(received)
            if self.welcome is not None:
                return self._channel
        if now_s - self._since_s >= self.target.patience_s:
            raise self.describe_silence(self.target.patience_s)
        return None

    def fileno(self) -> int:
        """Return the socket's descriptor; -1 once closed."""
        return self._socket.fileno()

    def next_s(self) -> float:
        """Return when ``poll`` has something to do even if nothing arrives."""
        return self._since_s + self.target.patience_s

    def close(self) -> None:
        """Give up; the socket is closed."""
        self._socket.close()

    @abstractmethod
    def _advance(self, now_s: float) -> None:
        """Do the next step before the listener has proven the key; sets ``_channel`` when it has."""

    def _repeat_proof(self, now_s: float) -> None:  # noqa: B027 - a stream loses nothing
        """Send the proof again where the network may have lost it."""

    def _take_answer(self, received: Received) -> None:
        message = received.message
        if isinstance(message, Welcome):
            self.welcome = message
        elif isinstance(message, Goodbye) and message.refused:
            raise RemoteProtocolError(
                f"the remote at {self.target.where} refuses this edge: {message.reason}",
                hint="it would refuse again: change what it objects to",
            )

    def describe_silence(self, waited_s: float) -> ConnectionLost:
        """Return the error of one who has waited in vain for some seconds."""
        where = self.target.where
        if self._channel is not None:
            words = f"the listener at {where} has our key but does not welcome us"
        elif self._initiator.refusal is not None:
            words = f"{where}: {self._initiator.refusal}"
        elif self._is_port_closed:
            words = f"nobody answers at {where}, and its host says that the port is closed"
        else:
            words = f"nobody answers at {where}"
        return ConnectionLost(f"{words}; waited {waited_s:g} s", hint=_HINT_SILENT)


class DatagramAttempt(Attempt):
    """One try over UDP: every packet is repeated, ever more slowly, until the next one comes."""

    def __init__(self, target: Target) -> None:
        sock = open_datagram_socket(target.endpoint.family)
        super().__init__(target, sock)
        self._next_send_s = self._since_s
        self._repeat_s = FIRST_REPEAT_S
        try:
            sock.connect(target.endpoint.numeric)
        except OSError as error:
            sock.close()
            raise ConnectionLost(
                f"cannot reach {target.where}: {error.strerror}", hint=_HINT_UNREACHABLE
            ) from error

    def next_s(self) -> float:
        """Return when ``poll`` has something to do even if nothing arrives."""
        return min(self._next_send_s, super().next_s())

    def _advance(self, now_s: float) -> None:
        self._send_when_due(now_s)
        initiator = self._initiator
        for _ in range(MAX_BATCH_FRAMES):
            try:
                packet = self._socket.recv(MAX_REPLY_BYTES)
            except BlockingIOError:
                break
            except OSError as error:
                self._is_port_closed |= error.errno == errno.ECONNREFUSED
                continue
            initiator.receive(packet)
            if initiator.agreement is not None:
                self._channel = DatagramChannel(
                    self._socket,
                    initiator.agreement,
                    peer=str(self.target.where),
                    timing=self.target.timing,
                    clock=self.target.clock,
                )
                self._next_send_s, self._repeat_s = now_s, FIRST_REPEAT_S
                return
        if initiator.refusal is not None and initiator.refusals >= BELIEVED_REFUSALS:
            raise initiator.refusal
        if self._is_port_closed and self.target.has_others:
            raise self.describe_silence(now_s - self._since_s)

    def _repeat_proof(self, now_s: float) -> None:
        self._send_when_due(now_s)

    def _send_when_due(self, now_s: float) -> None:
        if now_s < self._next_send_s:
            return
        self._next_send_s = now_s + self._repeat_s
        self._repeat_s = min(2.0 * self._repeat_s, LONGEST_REPEAT_S)
        with contextlib.suppress(OSError):  # an ICMP error of the packet before, or no route yet
            self._socket.send(self._initiator.request)


class StreamAttempt(Attempt):
    """One try over TCP: connect, then the same packets, each once."""

    def __init__(self, target: Target) -> None:
        sock = socket.socket(target.endpoint.family, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        super().__init__(target, sock)
        self._reader = FrameReader(MAX_REPLY_BYTES)
        self.wants_write = True
        try:
            prepare_stream_socket(sock)
            code = sock.connect_ex(target.endpoint.numeric)
            if code not in (0, errno.EINPROGRESS):
                raise _connect_error(target.where, code)
        except BaseException:
            sock.close()
            raise

    def _advance(self, now_s: float) -> None:
        if self.wants_write and not self._finish_connect():
            return
        try:
            data = self._socket.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            raise _connect_error(self.target.where, error.errno or 0) from error
        initiator = self._initiator
        for packet in self._reader.feed(data):
            initiator.receive(packet)
        if initiator.refusal is not None:
            raise initiator.refusal
        if initiator.agreement is not None:
            self._send(initiator.request)
            self._channel = StreamChannel(
                self._socket,
                initiator.agreement,
                self._reader,
                peer=str(self.target.where),
                timing=self.target.timing,
                clock=self.target.clock,
            )
        elif not data:
            raise ConnectionLost(f"{self.target.where} has closed the connection", hint=_HINT_SILENT)

    def _finish_connect(self) -> bool:
        """Whether the connection stands; the ask is sent when it does."""
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise _connect_error(self.target.where, code)
        try:
            self._socket.getpeername()
        except OSError:
            return False
        self.wants_write = False
        self._send(self._initiator.request)
        return True

    def _send(self, packet: bytes) -> None:
        """Send a packet whole; a fresh connection's buffer holds the largest proof."""
        framed = add_length(packet)
        try:
            size = self._socket.send(framed)
        except OSError as error:
            raise _connect_error(self.target.where, error.errno or 0) from error
        if size < len(framed):
            raise ConnectionLost(f"{self.target.where} does not take {len(framed)} bytes at once", _HINT_SILENT)


_HINT_SILENT = (
    "is the other service running there, on this port and with the same --transport (datagram: UDP, stream: TCP), "
    "with no firewall between?"
)
_HINT_UNREACHABLE = "check the address, and that this host has a network (`ip route get ADDRESS`)"


def _connect_error(where: Address, code: int) -> ConnectionLost:
    words = errno.errorcode.get(code, "?")
    return ConnectionLost(f"cannot connect to {where}: {words}", hint=_HINT_SILENT)
