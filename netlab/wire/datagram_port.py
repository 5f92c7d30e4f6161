"""DatagramPort: all edges of a listener through one UDP socket.

::

    recvfrom_into -> first byte 4: session in the header -> open -> decode -> SessionTable.take
                     else        : SessionTable.greet -> reply, never longer than the question
                     nobody's    : counted; 9 bytes back, "unknown session", so that the edge dials again soon

An edge whose address changes keeps its session: the first frame from the new address that verifies and is
newer than all before moves it. A replayed or older frame moves nothing.
"""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Callable
from functools import partial

from netlab.errors import ConnectionLost, LocalProtocolError, RemoteProtocolError, WireError
from netlab.messages import Goodbye, Hello, Message, Welcome
from netlab.wire.brief_look import BriefLook
from netlab.wire.codec import decode
from netlab.wire.datagram import (
    MAX_BATCH_FRAMES,
    MAX_DATAGRAM_BYTES,
    encode_for_datagram,
    open_datagram_socket,
)
from netlab.wire.handshake import Accepted, Reply
from netlab.wire.key_agreement import MIN_PROOF_BYTES, Agreement, build_unknown
from netlab.wire.seal import KIND_SEALED, SEAL_BYTES, Opener, Sealer
from netlab.wire.session import Session
from netlab.wire.session_table import SessionTable
from netlab.wire.statistics import Rejection

__all__ = ["DatagramPort"]


class DatagramSession(Session):
    """One edge over UDP."""

    def __init__(
        self,
        agreement: Agreement,
        hello: Hello,
        address: tuple[object, ...],
        port: DatagramPort,
        now_s: float,
    ) -> None:
        super().__init__(agreement.session, hello, address, port.table.timing, now_s)
        self._seal = Sealer(agreement.sending, agreement.session).seal
        self.opener = Opener(agreement.receiving, agreement.session, self.statistics)
        self._port = port
        self._is_answered = False

    def send(self, message: Message) -> bool:
        """Send a message as one datagram; see ``Session.send``."""
        data = encode_for_datagram(message)
        if self.is_closed or self.lost:
            self.statistics.send_dropped += 1
            return False
        try:
            frame = self._seal(data)
        except ConnectionLost as error:
            self.lost = str(error)
            self.statistics.send_dropped += 1
            return False
        if not self._is_answered:
            self._remember(message, frame)
        return self._port.send_frame(self, frame)

    def _remember(self, message: Message, frame: bytes) -> None:
        """Keep the answer to the Hello: a proof that comes again means that it was lost."""
        if not isinstance(message, Welcome | Goodbye):
            return
        if len(frame) > MIN_PROOF_BYTES:
            raise LocalProtocolError(
                f"a {type(message).__name__} of {len(frame)} bytes, sealed; {MIN_PROOF_BYTES} are allowed"
            )
        self._is_answered = True
        self._port.table.responder.remember(self.id, frame)

    def release(self) -> None:
        """Hold nothing: the socket is the port's."""


class DatagramPort:
    """The UDP side of a listener.

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
        self._clock = clock
        self._sessions: dict[int, DatagramSession] = table.sessions  # type: ignore[assignment]
        self._socket = open_datagram_socket(family)
        try:
            self._socket.bind(address)
        except BaseException:
            self._socket.close()
            raise
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        self._poll = poll.poll
        self._brief_look = BriefLook(partial(self._poll, 0), table.timing.look_s)
        self._buffer = bytearray(MAX_DATAGRAM_BYTES + 1)
        self._view = memoryview(self._buffer)

    @property
    def address(self) -> tuple[object, ...]:
        """Where it listens, as the socket has it."""
        return self._socket.getsockname()  # type: ignore[no-any-return]

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when something arrives."""
        return self._socket.fileno()

    def close(self) -> None:
        """Let go of the socket."""
        self._socket.close()

    def check(self, now_s: float) -> None:
        """Do nothing: there is no connection that could wait."""

    def read(self, timeout_s: float) -> float:
        """Take what has arrived, up to a bound; wait for the first if there is nothing.

        After a wait only the first is taken: the socket was empty a moment ago, and a look for more would
        delay this one.

        Args:
            timeout_s: How long to wait, rounded up to a millisecond; 0 does not wait.

        Returns:
            The time afterwards, on the sessions' clock.
        """
        receive_into, buffer = self._socket.recvfrom_into, self._buffer
        for i in range(MAX_BATCH_FRAMES):
            try:
                size, address = receive_into(buffer)
            except BlockingIOError:
                if i or timeout_s <= 0.0:
                    break
                if self._brief_look.succeeds(timeout_s) or self._poll(timeout_s * 1e3):
                    self._read_one()
                break
            except OSError:
                continue  # ICMP for an earlier frame to some edge; its silence will tell
            self._take(size, address)
        return self._clock()

    def _read_one(self) -> None:
        with contextlib.suppress(OSError):
            self._take(*self._socket.recvfrom_into(self._buffer))

    def _take(self, size: int, address: tuple[object, ...]) -> None:
        now_s = self._clock()
        packet = bytes(self._view[:size])
        if not SEAL_BYTES <= size <= MAX_DATAGRAM_BYTES or packet[0] != KIND_SEALED:
            self._take_packet(packet, address, now_s)
            return
        session = self._sessions.get(int.from_bytes(packet[1:9], "big"))
        if session is None or session.is_closed:
            self.table.statistics.rejected[Rejection.UNKNOWN] += 1
            self._reply(build_unknown(int.from_bytes(packet[1:9], "big")), address)
            return
        opener, statistics = session.opener, session.statistics
        try:
            data = opener.open(packet)
        except WireError:
            return
        try:
            message = decode(data)
        except RemoteProtocolError:
            statistics.rejected[Rejection.MALFORMED] += 1
            return
        statistics.frames_received += 1
        statistics.bytes_received += size
        if address != session.address and opener.newest:
            session.address = address
        self.table.take(session, message, now_s)

    def _take_packet(self, packet: bytes, address: tuple[object, ...], now_s: float) -> None:
        if len(packet) > MAX_DATAGRAM_BYTES:
            self.table.statistics.rejected[Rejection.OVERSIZE] += 1
            return
        outcome = self.table.greet(packet, f"{address[0]}:{address[1]}", now_s)
        if isinstance(outcome, Reply):
            self._reply(outcome.packet, address)
        elif isinstance(outcome, Accepted):
            session = DatagramSession(outcome.agreement, outcome.hello, address, self, now_s)
            self.table.admit(session, now_s)

    def send_frame(self, session: DatagramSession, frame: bytes) -> bool:
        """Send a sealed frame to where its edge is; False where it was dropped, which is counted."""
        statistics = session.statistics
        try:
            self._socket.sendto(frame, session.address)
        except OSError:
            statistics.send_dropped += 1
            return False
        statistics.frames_sent += 1
        statistics.bytes_sent += len(frame)
        return True

    def _reply(self, packet: bytes, address: tuple[object, ...]) -> None:
        try:
            self._socket.sendto(packet, address)
        except OSError:
            self.table.statistics.send_dropped += 1
