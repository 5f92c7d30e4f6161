"""StreamChannel: a session over TCP, seen from the edge.

Everything arrives, in order, or the connection is lost: so under loss the newest frame waits for older ones.
For control over a lossy link the datagram channel is the better one; a stream passes where UDP is blocked,
and carries frames up to 1 MiB.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable

from netlab.messages import Goodbye, Heartbeat, Message
from netlab.wire.channel import Received
from netlab.wire.key_agreement import Agreement
from netlab.wire.pulse import Timing
from netlab.wire.sealed_channel import SealedChannel
from netlab.wire.sealed_stream import READ_BYTES, SealedStream
from netlab.wire.stream_frames import FrameReader

__all__ = ["StreamChannel"]

MAX_BATCH_READS = 64
"""Most reads of 64 KiB that one call does, so that a flood cannot hold the caller."""


class StreamChannel(SealedChannel):
    """One edge's channel to its remote over TCP.

    Args:
        sock: A connected socket that does not block; the channel's own from now on.
        agreement: The session and its keys.
        reader: The frame reader of the handshake, with what it already holds.
        peer: Who is at the other end, for a person to read.
        timing: Heartbeats and deadlines.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        sock: socket.socket,
        agreement: Agreement,
        reader: FrameReader,
        *,
        peer: str,
        timing: Timing,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(sock, peer=peer, timing=timing, clock=clock)
        self._stream = SealedStream(sock, agreement, self.statistics, reader)

    def send(self, message: Message) -> bool:
        """Send a message at once or queue it, bounded; see ``Channel.send`` and ``SealedStream``."""
        if self._lost:
            return self._drop()
        return self._stream.send(message)

    def receive(self, timeout_s: float = 0.0) -> list[Received]:
        """Take all messages that have arrived; see ``Channel.receive``."""
        received: list[Received] = []
        stream = self._stream
        if stream.wants_write:
            stream.flush()
        has_waited = False
        for _ in range(MAX_BATCH_READS):
            try:
                data = self._socket.recv(READ_BYTES)
            except BlockingIOError:
                if has_waited or received or timeout_s <= 0.0:
                    break
                self._wait(timeout_s)
                has_waited = True
                continue
            except OSError as error:
                self._take_receive_error(error)
                break
            self._take(data, received)
            if stream.lost or (received and len(data) < READ_BYTES):
                break  # a short read has emptied the socket
        self._lost = self._lost or stream.lost
        return self._finish(received)

    def _take(self, data: bytes, received: list[Received]) -> None:
        arrival_s = self._clock()
        for message in self._stream.take(data):
            if message.__class__ is not Heartbeat:
                received.append(Received(message, arrival_s))
                if message.__class__ is Goodbye:
                    self._take_farewell(message)

    def _take_receive_error(self, error: OSError) -> None:
        if self._socket.fileno() < 0:
            raise self._closed_error() from error
        self._lost = self._lost or f"is cut off ({error.strerror})"

    def _wait(self, timeout_s: float) -> None:
        if not self._stream.wants_write:
            super()._wait(timeout_s)
            return
        poll = select.poll()
        poll.register(self._socket, select.POLLIN | select.POLLOUT)
        poll.poll(timeout_s * 1e3)
