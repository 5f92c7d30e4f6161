"""NetlinkSocket: one kernel socket inside one network namespace; whole messages in, acknowledgements out.

Owns the descriptor, the batching, the acknowledgements and how a refusal becomes an error. It must not know
what a message says: ``rtnetlink`` builds them.

::

    request(m1), request(m2) ... --one send--> kernel --one ack a message--> ok | KernelError
    query(m)                     --one send--> kernel --replies, ack-------> [bytes]
    prebuild(m).send()           --one send--> kernel --one ack------------> ok | KernelError   (hot path)

rtnetlink does all its work inside ``send``: when it returns, the answers lie in the receive queue. So the
socket never blocks, and an answer that is not there is an error, not a wait.
Source: netlink(7), rtnetlink(7), ``include/uapi/linux/netlink.h``.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from netlab.errors import KernelError
from netlab.namespaces.netlink_ack import (
    HEADER,
    NLM_F_CAPPED,
    NLMSG_DONE,
    NLMSG_ERROR,
    read_ack,
    refusal,
    split_replies,
)
from netlab.namespaces.syscalls import CLONE_NEWNET, setns

__all__ = ["NetlinkSocket", "PrebuiltRequest"]

_NETLINK_ROUTE = 0
_SOL_NETLINK = 270
_NETLINK_CAP_ACK = 10
_NETLINK_EXT_ACK = 11

_NLM_F_DUMP_INTR = 0x10

_ACK_BYTES = 400
_REPLY_BYTES = 1 << 16
_DUMP_ATTEMPTS = 10
# Each acknowledgement waits in the receive buffer until the send returns, so a batch is bounded both ways.
_BATCH_MESSAGES = 100
_BATCH_BYTES = 1 << 17
_FREE = (True,)
_TURN_POLL_S = 50e-6
_TURN_LOST_S = 1.0


class NetlinkSocket:
    """A netlink route socket that lives in one network namespace.

    Threads may share it: they take turns, an exchange each. A batch belongs to one thread.
    """

    def __init__(self, kernel_socket: socket.socket) -> None:
        kernel_socket.setblocking(False)
        with contextlib.suppress(OSError):  # before Linux 4.12: numbers without words
            kernel_socket.setsockopt(_SOL_NETLINK, _NETLINK_CAP_ACK, 1)
            kernel_socket.setsockopt(_SOL_NETLINK, _NETLINK_EXT_ACK, 1)
        kernel_socket.bind((0, 0))
        self._socket = kernel_socket
        self._port: int = kernel_socket.getsockname()[0]
        self._sequence = 0
        self._queue: list[tuple[bytearray, str]] = []
        self._batching = False
        # Whose turn it is: who pops the only element. Not a Lock, since CPython 3.11 reads the clock to take
        # one, which is a system call in a guest kernel and half as dear as the whole exchange.
        self._turn = list(_FREE)

    @classmethod
    def open(cls, netns_fd: int | None = None) -> Self:
        """Open a socket inside a namespace; the calling thread never enters it.

        Args:
            netns_fd: Open descriptor of the namespace; None for the calling thread's own.

        Raises:
            PrivilegeError: The caller may not enter that namespace.
            KernelError: The descriptor is no network namespace.
        """
        if netns_fd is None:
            return cls(_open_socket())
        outcome: list[socket.socket | OSError] = []

        def work() -> None:
            try:
                setns(netns_fd, CLONE_NEWNET)
                outcome.append(_open_socket())
            except OSError as error:
                outcome.append(error)

        # A socket stays in the namespace it was made in, its thread need not stay.
        thread = threading.Thread(target=work, name="netlab-setns")
        thread.start()
        thread.join()
        if isinstance(outcome[0], OSError):
            raise refusal(f"open a netlink socket in namespace fd {netns_fd}", outcome[0].errno or 0)
        return cls(outcome[0])

    def fileno(self) -> int:
        """Return the socket's descriptor; -1 once closed."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket; closing twice is fine."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """Collect the requests made inside, then send them together.

        The kernel carries them out in order and goes on after one that it refuses: a batch saves time and is
        no transaction. When the body raises, what was not yet sent is never sent. A batch inside a batch is
        part of it.

        Raises:
            KernelError: The first refusal; the words say how many others there were.
        """
        if self._batching:
            yield
            return
        self._batching = True
        try:
            yield
            self.flush()
        finally:
            self._batching = False
            self._queue.clear()

    def request(self, message: bytearray, attempt: str) -> None:
        """Send one message that wants an acknowledgement, now or with its batch.

        Args:
            message: A whole netlink message with NLM_F_ACK; its sequence number is set here.
            attempt: What it tries, in a phrase that follows "cannot".

        Raises:
            KernelError: The kernel refuses.
        """
        self._queue.append((message, attempt))
        if not self._batching or len(self._queue) >= _BATCH_MESSAGES:
            self.flush()

    def flush(self) -> None:
        """Send what the batch has collected so far and read every acknowledgement.

        Raises:
            KernelError: The first refusal.
        """
        queue, self._queue = self._queue, []
        refusals: list[KernelError] = []
        while queue:
            size = count = 0
            while count < len(queue) and (count == 0 or size + len(queue[count][0]) <= _BATCH_BYTES):
                size += len(queue[count][0])
                count += 1
            refusals += self._exchange(queue[:count])
            del queue[:count]
        if refusals:
            if len(refusals) > 1:
                refusals[0].add_note(f"{len(refusals) - 1} more requests of the same batch were refused")
            raise refusals[0]

    def query(self, message: bytearray, attempt: str) -> list[bytes]:
        """Send one message and return the messages that answer it; sends a pending batch first.

        Raises:
            KernelError: The kernel refuses, or the answer kept changing while it was read.
        """
        self.flush()
        for _ in range(_DUMP_ATTEMPTS):
            replies, interrupted = self._ask(message, attempt)
            if not interrupted:
                return replies
        raise KernelError(attempt, errno.EINTR, "the kernel's list kept changing while it was read")

    def prebuild(self, message: bytearray, attempt: str) -> PrebuiltRequest:
        """Return a message that can be patched and sent many times, at the least cost."""
        self._number(message)
        return PrebuiltRequest(self, message, attempt)

    def _number(self, message: bytearray) -> int:
        self._sequence = self._sequence % 0xFFFFFFFF + 1
        struct.pack_into("=I", message, 8, self._sequence)
        return self._sequence

    def _exchange(self, requests: list[tuple[bytearray, str]]) -> list[KernelError]:
        """Send requests in one datagram, read one acknowledgement each, return the refusals."""
        attempts = {self._number(message): attempt for message, attempt in requests}
        refusals = []
        with self._own_turn(requests[0][1]):
            self._socket.send(b"".join(message for message, _ in requests))
            while attempts:
                for reply in split_replies(self._socket.recv(_REPLY_BYTES)):
                    if reply.kind != NLMSG_ERROR or reply.sequence not in attempts:
                        continue
                    attempt = attempts.pop(reply.sequence)
                    number, words = read_ack(reply)
                    if number:
                        refusals.append(refusal(attempt, number, words))
        return refusals

    def _ask(self, message: bytearray, attempt: str) -> tuple[list[bytes], bool]:
        wanted = self._number(message)
        replies: list[bytes] = []
        interrupted = False
        with self._own_turn(attempt):
            self._socket.send(message)
            while True:
                for reply in split_replies(self._socket.recv(_REPLY_BYTES)):
                    if reply.sequence != wanted:
                        continue
                    interrupted = interrupted or bool(reply.flags & _NLM_F_DUMP_INTR)
                    if reply.kind in (NLMSG_ERROR, NLMSG_DONE):
                        number, words = read_ack(reply)
                        if number:
                            raise refusal(attempt, number, words)
                        return replies, interrupted
                    replies.append(reply.message)

    @contextlib.contextmanager
    def _own_turn(self, attempt: str) -> Iterator[None]:
        self.take_turn()
        try:
            yield
        except OSError as error:
            self.drain()
            raise refusal(attempt, error.errno or 0) from error
        except BaseException:
            self.drain()
            raise
        finally:
            self._turn[:] = _FREE

    def take_turn(self) -> None:
        """Wait until no other thread is between its send and its last answer; a matter of microseconds."""
        deadline_s = time.monotonic() + _TURN_LOST_S
        while time.monotonic() < deadline_s:
            with contextlib.suppress(IndexError):
                self._turn.pop()
                return
            time.sleep(_TURN_POLL_S)
        # No exchange takes this long: a Ctrl-C fell between taking the turn and the block that gives it back.
        self.drain()

    def drain(self) -> None:
        """Throw away answers that nobody waits for any more, so that the next one read is the right one."""
        with contextlib.suppress(OSError):
            while True:
                self._socket.recv(_REPLY_BYTES)


class PrebuiltRequest:
    """A whole message kept as bytes: patch it, send it, read the acknowledgement, nothing else.

    Attributes:
        message: The message's bytes; the header (first 16) must stay as they are.
    """

    __slots__ = ("_attempt", "_expected", "_owner", "_recv", "_send", "_turn", "message")

    def __init__(self, owner: NetlinkSocket, message: bytearray, attempt: str) -> None:
        self.message = message
        self._owner = owner
        self._attempt = attempt
        self._turn = owner._turn
        self._send = owner._socket.send
        self._recv = owner._socket.recv
        # The acknowledgement of success is known to the last byte: compared whole, in one step.
        sequence = struct.unpack_from("=I", message, 8)[0]
        head = HEADER.pack(36, NLMSG_ERROR, NLM_F_CAPPED, sequence, owner._port)
        self._expected = head + bytes(4) + bytes(message[: HEADER.size])

    def send(self) -> None:
        """Send the message as it stands.

        Raises:
            KernelError: The kernel refuses.
        """
        try:
            self._turn.pop()
        except IndexError:
            self._owner.take_turn()
        try:
            self._send(self.message)
            ack = self._recv(_ACK_BYTES)
        except BaseException as error:
            self._owner.drain()
            if isinstance(error, OSError):
                raise refusal(self._attempt, error.errno or 0) from error
            raise
        finally:
            self._turn[:] = _FREE
        if ack != self._expected:
            self._judge(ack)

    def _judge(self, ack: bytes) -> None:
        for reply in split_replies(ack):
            if reply.kind == NLMSG_ERROR:
                number, words = read_ack(reply)
                if number == 0:  # success with a warning in words
                    return
                raise refusal(self._attempt, number, words)
        raise KernelError(self._attempt, errno.EPROTO, "the kernel answered without an acknowledgement")


def _open_socket() -> socket.socket:
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_ROUTE)
