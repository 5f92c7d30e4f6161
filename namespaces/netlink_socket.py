"""NetlinkSocket: one kernel socket inside one network namespace; whole messages in, acknowledgements out.

Owns the descriptor, the numbering and the batches. It must not know what a message says: ``rtnetlink`` builds
them.

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
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from netlab.errors import KernelError
from netlab.namespaces.netlink_ack import NLMSG_DONE, NLMSG_ERROR, read_ack, refusal, split_replies
from netlab.namespaces.netlink_turn import REPLY_BYTES, NetlinkTurn
from netlab.namespaces.prebuilt_request import PrebuiltRequest
from netlab.namespaces.syscalls import CLONE_NEWNET, setns

__all__ = ["NetlinkSocket"]

_NETLINK_ROUTE = 0
_SOL_NETLINK = 270
_NETLINK_CAP_ACK = 10
_NETLINK_EXT_ACK = 11

_NLM_F_DUMP_INTR = 0x10

_DUMP_ATTEMPTS = 10
# Each acknowledgement waits in the receive buffer until the send returns, so a batch is bounded both ways.
_BATCH_MESSAGES = 100
_BATCH_BYTES = 1 << 17

_Request = tuple[bytearray, str]


class NetlinkSocket:
    """A netlink route socket that lives in one network namespace.

    Threads may share it: they take turns, an exchange each, and a batch is its thread's own.
    """

    def __init__(self, kernel_socket: socket.socket) -> None:
        kernel_socket.setblocking(False)
        with contextlib.suppress(OSError):  # before Linux 4.12: numbers without words
            kernel_socket.setsockopt(_SOL_NETLINK, _NETLINK_CAP_ACK, 1)
            kernel_socket.setsockopt(_SOL_NETLINK, _NETLINK_EXT_ACK, 1)
        kernel_socket.bind((0, 0))
        self._socket = kernel_socket
        self._turn = NetlinkTurn(kernel_socket)
        self._sequence = 0
        self._mine = threading.local()

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
        """Collect the requests that this thread makes inside, then send them together.

        The kernel carries them out in order and goes on after one that it refuses: a batch saves time and is
        no transaction. When the body raises, what was not yet sent is never sent. A batch inside a batch is
        part of it.

        Raises:
            KernelError: The first refusal; the words say how many others there were.
        """
        if self._collected() is not None:
            yield
            return
        self._mine.batch = []
        try:
            yield
            self._flush()
        finally:
            del self._mine.batch

    def request(self, message: bytearray, attempt: str) -> None:
        """Send one message that wants an acknowledgement, now or with this thread's batch.

        Args:
            message: A whole netlink message with NLM_F_ACK; its sequence number is set when it is sent.
            attempt: What it tries, in a phrase that follows "cannot".

        Raises:
            KernelError: The kernel refuses.
        """
        collected = self._collected()
        if collected is None:
            self._send_all([(message, attempt)])
            return
        collected.append((message, attempt))
        if len(collected) >= _BATCH_MESSAGES:
            self._flush()

    def query(self, message: bytearray, attempt: str) -> list[bytes]:
        """Send one message and return the messages that answer it; sends this thread's batch first.

        Raises:
            KernelError: The kernel refuses, or the answer kept changing while it was read.
        """
        self._flush()
        for _ in range(_DUMP_ATTEMPTS):
            replies, interrupted = self._ask(message, attempt)
            if not interrupted:
                return replies
        raise KernelError(attempt, errno.EINTR, "the kernel's list kept changing while it was read")

    def prebuild(self, message: bytearray, attempt: str) -> PrebuiltRequest:
        """Return a message that can be patched and sent many times, at the least cost."""
        with self._turn.held(attempt):
            self._number(message)
        return PrebuiltRequest(self._socket, self._turn, message, attempt)

    def _collected(self) -> list[_Request] | None:
        """Return what this thread's batch holds; None where it has none open."""
        batch: list[_Request] | None = getattr(self._mine, "batch", None)
        return batch

    def _flush(self) -> None:
        """Send what this thread's batch has collected so far and read every acknowledgement."""
        collected = self._collected()
        if collected:
            requests = list(collected)
            collected.clear()
            self._send_all(requests)

    def _send_all(self, requests: list[_Request]) -> None:
        refusals: list[KernelError] = []
        while requests:
            size = count = 0
            while count < len(requests) and (count == 0 or size + len(requests[count][0]) <= _BATCH_BYTES):
                size += len(requests[count][0])
                count += 1
            refusals += self._exchange(requests[:count])
            del requests[:count]
        if refusals:
            if len(refusals) > 1:
                refusals[0].add_note(f"{len(refusals) - 1} more requests of the same batch were refused")
            raise refusals[0]

    def _number(self, message: bytearray) -> int:
        """Give a message the next sequence number; within a turn, or two threads would have the same."""
        self._sequence = self._sequence % 0xFFFFFFFF + 1
        struct.pack_into("=I", message, 8, self._sequence)
        return self._sequence

    def _exchange(self, requests: list[_Request]) -> list[KernelError]:
        """Send requests in one datagram, read one acknowledgement each, return the refusals."""
        refusals = []
        with self._turn.held(requests[0][1]):
            attempts = {self._number(message): attempt for message, attempt in requests}
            self._socket.send(b"".join(message for message, _ in requests))
            while attempts:
                for reply in split_replies(self._socket.recv(REPLY_BYTES)):
                    if reply.kind != NLMSG_ERROR or reply.sequence not in attempts:
                        continue
                    attempt = attempts.pop(reply.sequence)
                    number, words = read_ack(reply)
                    if number:
                        refusals.append(refusal(attempt, number, words))
        return refusals

    def _ask(self, message: bytearray, attempt: str) -> tuple[list[bytes], bool]:
        replies: list[bytes] = []
        interrupted = False
        with self._turn.held(attempt):
            wanted = self._number(message)
            self._socket.send(message)
            while True:
                for reply in split_replies(self._socket.recv(REPLY_BYTES)):
                    if reply.sequence != wanted:
                        continue
                    interrupted = interrupted or bool(reply.flags & _NLM_F_DUMP_INTR)
                    if reply.kind in (NLMSG_ERROR, NLMSG_DONE):
                        number, words = read_ack(reply)
                        if number:
                            raise refusal(attempt, number, words)
                        return replies, interrupted
                    replies.append(reply.message)


def _open_socket() -> socket.socket:
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_ROUTE)
