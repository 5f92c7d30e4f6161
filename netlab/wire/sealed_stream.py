"""SealedStream: sealed frames over one TCP connection, the same for both sides.

What the network does not take at once waits here, unsealed and bounded; when that overflows the *oldest*
message goes, since a stale observation or action is worse than none. (Sealed frames could not be dropped:
the other side insists on every number.) The kernel is told to hold little for the same reason.

::

    send -> [queue of messages, <= 64 KiB or one] -seal-> [rest of one frame] -> kernel -> network
                 `-- overflow: oldest dropped, counted
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterator

from netlab.errors import ConnectionLost, LocalProtocolError, RemoteProtocolError, WireError
from netlab.messages import Message
from netlab.wire.codec import decode, encode
from netlab.wire.key_agreement import Agreement
from netlab.wire.seal import SEAL_BYTES, OrderedOpener, Sealer
from netlab.wire.statistics import Rejection, Statistics
from netlab.wire.stream_frames import MAX_STREAM_FRAME_BYTES, FrameReader, add_length

__all__ = ["READ_BYTES", "SealedStream", "prepare_stream_socket"]

READ_BYTES = 1 << 16
MAX_QUEUE_BYTES = 1 << 16
UNSENT_BYTES = 1 << 14
"""What the kernel may hold unsent, so that a blocked link fills our queue (which drops), not the kernel's."""


def prepare_stream_socket(sock: socket.socket) -> None:
    """Make a TCP socket fit for control: no waiting, no gathering of small frames, little held unsent."""
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)


class SealedStream:
    """Sealed frames both ways over one connection.

    Args:
        sock: A connected socket that does not block; closed by whoever made this.
        agreement: The session and its keys.
        statistics: Where everything is counted.
        reader: The frame reader, with what it already holds.

    Attributes:
        lost: Why the stream is of no more use; empty while it is.
        wants_write: Whether something waits for the kernel to take it.
    """

    __slots__ = (
        "_open",
        "_queue",
        "_queue_bytes",
        "_reader",
        "_rest",
        "_seal",
        "_socket",
        "_statistics",
        "lost",
        "wants_write",
    )

    def __init__(
        self, sock: socket.socket, agreement: Agreement, statistics: Statistics, reader: FrameReader
    ) -> None:
        self._socket = sock
        self._statistics = statistics
        self._seal = Sealer(agreement.sending, agreement.session).seal
        self._open = OrderedOpener(agreement.receiving, agreement.session, statistics).open
        self._reader = reader
        self._reader.limit_bytes = MAX_STREAM_FRAME_BYTES
        self._queue: deque[bytes] = deque()
        self._queue_bytes = 0
        self._rest: memoryview | bytes = b""
        self.lost = ""
        self.wants_write = False

    def send(self, message: Message) -> bool:
        """Send a message at once or queue it; see ``Channel.send``."""
        data = encode(message)
        if len(data) > MAX_STREAM_FRAME_BYTES - SEAL_BYTES:
            raise LocalProtocolError(
                f"{type(message).__name__} of {len(data)} bytes; a frame takes {MAX_STREAM_FRAME_BYTES}",
                hint="send smaller messages",
            )
        if self.lost:
            self._statistics.send_dropped += 1
            return False
        self._queue.append(data)
        self._queue_bytes += len(data)
        self.flush()
        while self._queue_bytes > MAX_QUEUE_BYTES and len(self._queue) > 1:
            self._queue_bytes -= len(self._queue.popleft())
            self._statistics.send_dropped += 1
        return not self.lost

    def flush(self) -> None:
        """Give the kernel what it takes now."""
        while self._rest or self._queue:
            if not self._rest and not self._seal_next():
                return
            try:
                size = self._socket.send(self._rest)
            except BlockingIOError:
                break
            except OSError as error:
                self._lose(f"is cut off ({error.strerror})")
                return
            self._statistics.bytes_sent += size
            self._rest = memoryview(self._rest)[size:] if size < len(self._rest) else b""
        self.wants_write = bool(self._rest)

    def take(self, data: bytes) -> Iterator[Message]:
        """Take bytes from the socket; give each message.

        Args:
            data: What ``recv`` returned; empty when the peer has closed.
        """
        if data:
            yield from self.take_frames(self._reader.feed(data))
        else:
            self._lose("has closed the connection")

    def take_frames(self, frames: list[bytes]) -> Iterator[Message]:
        """Take frames that the reader has cut; see ``take``."""
        for frame in frames:
            try:
                message_data = self._open(frame)
            except WireError as error:
                self._lose(f"sent a stream that is damaged: {error}")
                return
            try:
                message = decode(message_data)
            except RemoteProtocolError:
                self._statistics.rejected[Rejection.MALFORMED] += 1
                continue
            self._statistics.frames_received += 1
            self._statistics.bytes_received += len(frame)
            yield message
        if self._reader.fault is not None:
            self._statistics.rejected[Rejection.OVERSIZE] += 1
            self._lose(f"sent {self._reader.fault}")

    def _seal_next(self) -> bool:
        data = self._queue.popleft()
        self._queue_bytes -= len(data)
        try:
            self._rest = add_length(self._seal(data))
        except ConnectionLost as error:
            self._statistics.send_dropped += 1
            self._lose(str(error))
            return False
        self._statistics.frames_sent += 1
        return True

    def _lose(self, reason: str) -> None:
        self.lost = reason
        self._statistics.send_dropped += len(self._queue)
        self._queue.clear()
        self._queue_bytes = 0
        self._rest = b""
        self.wants_write = False
