"""DatagramChannel: a session over UDP, seen from the edge. One frame, one datagram.

A frame that is late, doubled or lost is the network's right; nothing waits for it and nothing is repeated,
since a new observation is worth more than an old one.

::

    send:     encode -> seal -> send()      kernel buffer full: dropped, counted
    receive:  recv_into() -> open -> decode, until the socket is empty
                 | reasons to count it and go on: too large, not authentic, seen before, malformed
"""

from __future__ import annotations

import socket
from collections.abc import Callable

from netlab.errors import ConnectionLost, LocalProtocolError, RemoteProtocolError, WireError
from netlab.messages import Goodbye, Heartbeat, Message
from netlab.wire.channel import Received
from netlab.wire.codec import decode, encode
from netlab.wire.key_agreement import Agreement, read_unknown
from netlab.wire.pulse import Timing
from netlab.wire.seal import SEAL_BYTES, Opener, Sealer
from netlab.wire.sealed_channel import SealedChannel
from netlab.wire.statistics import Rejection

__all__ = ["MAX_DATAGRAM_BYTES", "DatagramChannel", "encode_for_datagram", "open_datagram_socket"]

MAX_DATAGRAM_BYTES = 60_000
"""Largest frame in bytes; UDP over IPv4 ends at 65,507."""
MAX_BATCH_FRAMES = 1024
"""Most frames one call takes from the socket, so that a flood cannot hold the caller."""
RECEIVE_BUFFER_BYTES = 1 << 20
"""Asked of the kernel, which may give less: room for the frames of many edges while Python is elsewhere."""


def open_datagram_socket(family: socket.AddressFamily) -> socket.socket:
    """Return a UDP socket that does not block."""
    sock = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    return sock


def encode_for_datagram(message: Message) -> bytes:
    """Return a message as bytes that one sealed datagram can hold.

    Raises:
        LocalProtocolError: It is too large.
    """
    data = encode(message)
    if len(data) > MAX_DATAGRAM_BYTES - SEAL_BYTES:
        raise LocalProtocolError(
            f"{type(message).__name__} of {len(data)} bytes; a datagram takes {MAX_DATAGRAM_BYTES - SEAL_BYTES}",
            hint="use transport stream (TCP), or smaller observations and shorter horizons",
        )
    return data


class DatagramChannel(SealedChannel):
    """One edge's channel to its remote over UDP.

    Args:
        sock: A connected UDP socket that does not block; the channel's own from now on.
        agreement: The session and its keys.
        peer: Who is at the other end, for a person to read.
        timing: Heartbeats and deadlines.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        sock: socket.socket,
        agreement: Agreement,
        *,
        peer: str,
        timing: Timing,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(sock, peer=peer, timing=timing, clock=clock)
        self._session = agreement.session
        self._seal = Sealer(agreement.sending, agreement.session).seal
        self._open = Opener(agreement.receiving, agreement.session, self.statistics).open
        self._buffer = bytearray(MAX_DATAGRAM_BYTES + 1)
        self._view = memoryview(self._buffer)

    def send(self, message: Message) -> bool:
        """Send a message as one datagram; see ``Channel.send``."""
        data = encode_for_datagram(message)
        if self._lost:
            return self._drop()
        try:
            size = self._socket.send(self._seal(data))
        except (OSError, ConnectionLost) as error:
            return self._take_send_error(error)
        statistics = self.statistics
        statistics.frames_sent += 1
        statistics.bytes_sent += size
        return True

    def receive(self, timeout_s: float = 0.0) -> list[Received]:
        """Take all messages that have arrived; see ``Channel.receive``.

        After a wait only the first is taken: the socket was empty a moment ago, and a look for more would
        delay this one. Whatever came meanwhile keeps the descriptor readable.
        """
        received: list[Received] = []
        receive_into, buffer = self._socket.recv_into, self._buffer
        has_waited = False
        for _ in range(MAX_BATCH_FRAMES):
            try:
                size = receive_into(buffer)
            except BlockingIOError:
                if has_waited or received or timeout_s <= 0.0:
                    break
                self._wait(timeout_s)
                has_waited = True
                continue
            except OSError as error:
                self._take_receive_error(error)
                continue
            arrival_s = self._clock()
            message = self._read_frame(size)
            if message is None:
                continue
            if message.__class__ is not Heartbeat:
                received.append(Received(message, arrival_s))
                if message.__class__ is Goodbye:
                    self._take_farewell(message)
                if has_waited:
                    break
        return self._finish(received)

    def _read_frame(self, size: int) -> Message | None:
        """Return the message in the buffer; None where it is not to be believed, which is then counted."""
        if not SEAL_BYTES <= size <= MAX_DATAGRAM_BYTES:
            self._take_odd_size(size)
            return None
        try:
            data = self._open(bytes(self._view[:size]))
        except WireError:
            return None
        statistics = self.statistics
        try:
            message = decode(data)
        except RemoteProtocolError:
            statistics.rejected[Rejection.MALFORMED] += 1
            return None
        statistics.frames_received += 1
        statistics.bytes_received += size
        return message

    def _take_odd_size(self, size: int) -> None:
        if size > MAX_DATAGRAM_BYTES:
            self.statistics.rejected[Rejection.OVERSIZE] += 1
        elif read_unknown(bytes(self._view[:size])) == self._session:
            self._pulse.doubt("no longer knows this session")
        else:
            self.statistics.rejected[Rejection.MALFORMED] += 1

    def _take_receive_error(self, error: OSError) -> None:
        """Take what the network reports about earlier frames (ICMP): anybody may have sent it, so a hint."""
        if self._socket.fileno() < 0:
            raise self._closed_error() from error
        if isinstance(error, ConnectionRefusedError):
            self.statistics.refused_by_port += 1
        self._pulse.doubt(f"cannot be reached ({error.strerror})")

    def _take_send_error(self, error: OSError | ConnectionLost) -> bool:
        self.statistics.send_dropped += 1
        if isinstance(error, ConnectionLost):
            self._lost = str(error)
        elif not isinstance(error, BlockingIOError):
            self._take_receive_error(error)
        return False
