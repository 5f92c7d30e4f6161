"""StreamPort: all edges of a listener over TCP, each on a connection of its own.

::

    accept -> [strangers: at most 64, 57 bytes each, 5 s] --proof--> [sessions]
                 | too many: the oldest goes          | bounded by the SessionTable
                 | too slow, too large: closed, counted

A stranger costs one descriptor and, before its ask has verified, one kilobyte. What it may send grows with
what it has proven: ask, then proof (60 kB), then frames (1 MiB).
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator
from functools import partial

from netlab.errors import ConnectionLost
from netlab.messages import Hello, Message
from netlab.wire.brief_look import BriefLook
from netlab.wire.handshake import Accepted, Reply
from netlab.wire.key_agreement import MAX_PROOF_BYTES, Agreement
from netlab.wire.sealed_stream import READ_BYTES, SealedStream, prepare_stream_socket
from netlab.wire.session import Session
from netlab.wire.session_table import SessionTable
from netlab.wire.statistics import Rejection
from netlab.wire.stream_frames import FrameReader, add_length

__all__ = ["StreamPort"]

MAX_STRANGERS = 64
MAX_ACCEPTS = 32
MAX_BATCH_READS = 16
MAX_ASK_BYTES = 1024
"""An ask has 57 bytes; one of a later version may have more, and is told so."""
MAX_PACKETS = 2
"""An ask and a proof: on a stream nothing has to be repeated."""
BACKLOG = 64


class StreamSession(Session):
    """One edge over TCP."""

    def __init__(
        self, agreement: Agreement, hello: Hello, stranger: _Stranger, port: StreamPort, now_s: float
    ) -> None:
        super().__init__(agreement.session, hello, stranger.address, port.table.timing, now_s)
        self.socket = stranger.socket
        self.stream = SealedStream(self.socket, agreement, self.statistics, stranger.reader)
        self._port = port
        self._is_watched_for_write = False

    def send(self, message: Message) -> bool:
        """Send a message at once or queue it; see ``Session.send``."""
        if self.is_closed:
            self.statistics.send_dropped += 1
            return False
        stream = self.stream
        is_taken = stream.send(message)
        self.lost = stream.lost
        self.watch()
        return is_taken

    def watch(self) -> None:
        """Ask to be told when the kernel takes more, while something waits."""
        if self.stream.wants_write is not self._is_watched_for_write and not self.is_closed:
            self._is_watched_for_write = self.stream.wants_write
            self._port.watch(self.socket, self._is_watched_for_write)

    def release(self) -> None:
        """Close the connection."""
        self._port.forget(self.socket)


class _Stranger:
    """A connection that has proven nothing yet."""

    def __init__(self, sock: socket.socket, address: tuple[object, ...], now_s: float) -> None:
        self.socket = sock
        self.address = address
        self.since_s = now_s
        self.packets = 0
        self.reader = FrameReader(MAX_ASK_BYTES)


class StreamPort:
    """The TCP side of a listener.

    Args:
        family: Address family.
        address: Where to listen.
        table: The sessions.
        clock: Seconds that never go back.

    Raises:
        OSError: The address cannot be had.
    """

    def __init__(
        self,
        family: socket.AddressFamily,
        address: tuple[object, ...],
        table: SessionTable,
        clock: Callable[[], float],
    ) -> None:
        self.table = table
        self.clock = clock
        self._peers: dict[int, _Stranger | StreamSession] = {}
        self._strangers: dict[int, _Stranger] = {}
        self._is_accepting = True
        self._socket = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind(address)
            self._socket.listen(BACKLOG)
            self._epoll = select.epoll()
        except BaseException:
            self._socket.close()
            raise
        self._epoll.register(self._socket, select.EPOLLIN)
        self._brief_look = BriefLook(partial(self._epoll.poll, 0), table.timing.look_s)

    @property
    def address(self) -> tuple[object, ...]:
        """Where it listens, as the socket has it."""
        return self._socket.getsockname()  # type: ignore[no-any-return]

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when something arrives on any connection."""
        return self._epoll.fileno()

    def close(self) -> None:
        """Let go of all connections."""
        for peer in list(self._peers.values()):
            self.forget(peer.socket)
        self._epoll.close()
        self._socket.close()

    def read(self, timeout_s: float) -> float:
        """Take what has arrived, up to a bound; wait for the first if there is nothing.

        Args:
            timeout_s: How long to wait, rounded up to a millisecond; 0 does not wait.

        Returns:
            The time afterwards, on the sessions' clock.
        """
        if timeout_s > 0.0 and self._brief_look.succeeds(timeout_s):
            timeout_s = 0.0
        for fd, mask in self._epoll.poll(timeout_s):
            peer = self._peers.get(fd)
            if isinstance(peer, StreamSession):
                self._read_session(peer, mask)
            elif peer is not None:
                self._read_stranger(peer)
            elif fd == self._socket.fileno():
                self._accept()
        return self.clock()

    def check(self, now_s: float) -> None:
        """Close strangers who take too long; accept again after a pause."""
        for stranger in list(self._strangers.values()):
            if now_s - stranger.since_s < self.table.timing.attempt_s:
                break  # the dict is in order of arrival
            self._turn_away(stranger, f"proved nothing within {self.table.timing.attempt_s:g} s", now_s)
        if not self._is_accepting:
            self._is_accepting = True
            self._epoll.modify(self._socket, select.EPOLLIN)

    def watch(self, sock: socket.socket, for_write: bool) -> None:
        """Ask the kernel to tell when a connection takes more."""
        self._epoll.modify(sock, select.EPOLLIN | select.EPOLLOUT if for_write else select.EPOLLIN)

    def forget(self, sock: socket.socket) -> None:
        """Close a connection; fine if it is closed already."""
        fd = sock.fileno()
        if fd >= 0:
            self._peers.pop(fd, None)
            self._strangers.pop(fd, None)
            sock.close()  # takes it out of the epoll set too

    def _accept(self) -> None:
        for _ in range(MAX_ACCEPTS):
            try:
                sock, address = self._socket.accept()
            except BlockingIOError:
                return
            except ConnectionError:
                continue  # gone before we got to it
            except OSError:
                # Out of descriptors: pause, or an epoll that stays ready would take the whole CPU.
                self.table.statistics.rejected[Rejection.CROWDED] += 1
                self._is_accepting = False
                self._epoll.modify(self._socket, 0)
                return
            self._greet(sock, address)

    def _greet(self, sock: socket.socket, address: tuple[object, ...]) -> None:
        prepare_stream_socket(sock)
        now_s = self.clock()
        if len(self._strangers) >= MAX_STRANGERS:
            oldest = next(iter(self._strangers.values()))
            self.table.statistics.rejected[Rejection.CROWDED] += 1
            self.forget(oldest.socket)
        stranger = _Stranger(sock, address, now_s)
        self._peers[sock.fileno()] = self._strangers[sock.fileno()] = stranger
        self._epoll.register(sock, select.EPOLLIN)

    def _read_stranger(self, stranger: _Stranger) -> None:
        now_s = self.clock()
        try:
            data = stranger.socket.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.forget(stranger.socket)
            return
        fd = stranger.socket.fileno()
        packets = stranger.reader.feed(data)
        for i, packet in enumerate(packets):
            self._take_packet(stranger, packet, now_s)
            peer = self._peers.get(fd)
            if isinstance(peer, StreamSession):  # what follows a proof are frames already
                self._take_messages(peer, peer.stream.take_frames(packets[i + 1 :]), now_s)
                return
            if peer is None:
                return
        if stranger.reader.fault is not None:
            self.table.statistics.rejected[Rejection.OVERSIZE] += 1
            self.forget(stranger.socket)

    def _take_packet(self, stranger: _Stranger, packet: bytes, now_s: float) -> None:
        stranger.packets += 1
        if stranger.packets > MAX_PACKETS:
            self.table.statistics.rejected[Rejection.CROWDED] += 1
            self.forget(stranger.socket)
            return
        outcome = self.table.greet(packet, f"{stranger.address[0]}:{stranger.address[1]}", now_s)
        if isinstance(outcome, Accepted):
            del self._strangers[stranger.socket.fileno()]
            session = StreamSession(outcome.agreement, outcome.hello, stranger, self, now_s)
            self._peers[stranger.socket.fileno()] = session
            self.table.admit(session, now_s)
            return
        if isinstance(outcome, Reply):
            try:
                stranger.socket.send(add_length(outcome.packet))
            except OSError:
                self.forget(stranger.socket)
                return
            stranger.reader.limit_bytes = MAX_PROOF_BYTES
        if outcome is None or outcome.refusal is not None:
            self.forget(stranger.socket)

    def _turn_away(self, stranger: _Stranger, words: str, now_s: float) -> None:
        peer = f"{stranger.address[0]}:{stranger.address[1]}"
        self.table.refuse(peer, ConnectionLost(f"{peer} {words}"), now_s)
        self.table.statistics.rejected[Rejection.SLOW] += 1
        self.forget(stranger.socket)

    def _read_session(self, session: StreamSession, mask: int) -> None:
        stream = session.stream
        if mask & select.EPOLLOUT:
            stream.flush()
            session.watch()
        for _ in range(MAX_BATCH_READS):
            try:
                data = session.socket.recv(READ_BYTES)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            self._take_messages(session, stream.take(data), self.clock())
            if session.is_closed or len(data) < READ_BYTES:
                break

    def _take_messages(self, session: StreamSession, messages: Iterator[Message], now_s: float) -> None:
        for message in messages:
            self.table.take(session, message, now_s)
            if session.is_closed:
                return
        if session.stream.lost:
            self.table.end(session, session.stream.lost)
