"""PrebuiltRequest: the hot path of a netlink socket: the bytes of a message sent again and again.

::

    patch message --send--> kernel --one ack, compared whole--> ok | KernelError
    several --join--> bytes --one send--> kernel --refusals, and one ack for the last--> ok | KernelError each

Knows the socket and its turns, not what the message says.
"""

from __future__ import annotations

import errno
import socket
import struct
import sys
from collections.abc import Sequence

from netlab.errors import KernelError
from netlab.namespaces.netlink_ack import HEADER, NLM_F_CAPPED, NLMSG_ERROR, read_ack, refusal, split_replies
from netlab.namespaces.netlink_turn import FREE, REPLY_BYTES, NetlinkTurn

__all__ = ["JoinedRequests", "PrebuiltRequest", "send_together"]

_ACK_BYTES = 400
# Each refusal waits in the receive buffer until the send returns, so a send is bounded both ways.
_TOGETHER_MESSAGES = 100
_TOGETHER_BYTES = 1 << 17

_FLAGS_AT = 6 if sys.byteorder == "little" else 7
"""Where a message's header has the byte of its flags in which NLM_F_ACK is."""
_NO_ACK = 0xFF & ~0x4


class PrebuiltRequest:
    """A whole message kept as bytes: patch it, send it, read the acknowledgement, nothing else.

    One thread at a time uses it; others may use its socket meanwhile.

    Args:
        kernel_socket: Where it is sent.
        turn: The turns on that socket.
        message: The message, numbered.
        attempt: What it tries, in a phrase that follows "cannot".

    Attributes:
        message: The message's bytes; the header (first 16) must stay as they are.
    """

    __slots__ = ("_attempt", "_expected", "_free", "_recv", "_send", "_turn", "message")

    def __init__(self, kernel_socket: socket.socket, turn: NetlinkTurn, message: bytearray, attempt: str) -> None:
        self.message = message
        self._attempt = attempt
        self._turn = turn
        self._free = turn.free
        self._send = kernel_socket.send
        self._recv = kernel_socket.recv
        # The acknowledgement of success is known to the last byte: compared whole, in one step.
        sequence = struct.unpack_from("=I", message, 8)[0]
        head = HEADER.pack(36, NLMSG_ERROR, NLM_F_CAPPED, sequence, kernel_socket.getsockname()[0])
        self._expected = head + bytes(4) + bytes(message[: HEADER.size])

    def send(self) -> None:
        """Send the message as it stands.

        Raises:
            KernelError: The kernel refuses.
        """
        try:
            self._free.pop()
        except IndexError:
            self._turn.take()
        try:
            self._send(self.message)
            ack = self._recv(_ACK_BYTES)
        except BaseException as error:
            self._turn.drain()
            if isinstance(error, OSError):
                raise refusal(self._attempt, error.errno or 0) from error
            raise
        finally:
            self._free[:] = FREE
        if ack != self._expected:
            self._judge(ack)

    @property
    def sequence(self) -> int:
        """The message's number on its socket, which its acknowledgement bears."""
        return int(struct.unpack_from("=I", self.message, 8)[0])

    def _judge(self, ack: bytes) -> None:
        for reply in split_replies(ack):
            if reply.kind == NLMSG_ERROR:
                number, words = read_ack(reply)
                if number == 0:  # success with a warning in words
                    return
                raise refusal(self._attempt, number, words)
        raise KernelError(self._attempt, errno.EPROTO, "the kernel answered without an acknowledgement")


class JoinedRequests:
    """Requests of one socket as the bytes of as few messages as it takes; what the requests say later is not in.

    Args:
        requests: Each once.
    """

    __slots__ = ("_parts",)

    def __init__(self, requests: Sequence[PrebuiltRequest]) -> None:
        self._parts: list[tuple[bytearray, Sequence[PrebuiltRequest]]] = []
        done = 0
        while done < len(requests):
            count = size = 0
            for request in requests[done : done + _TOGETHER_MESSAGES]:
                size += len(request.message)
                if count and size > _TOGETHER_BYTES:
                    break
                count += 1
            part = requests[done : done + count]
            self._parts.append((_joined(part), part))
            done += count

    def send(self) -> list[KernelError | None]:
        """Send them once.

        The kernel carries them out one right after the other and goes on after one that it refuses.

        Returns:
            For each request its refusal, or None.
        """
        outcomes: list[KernelError | None] = []
        for joined, requests in self._parts:
            outcomes += _exchange(joined, requests)
        return outcomes


def send_together(requests: Sequence[PrebuiltRequest]) -> list[KernelError | None]:
    """Send several requests of one socket as they stand now, each once: see ``JoinedRequests``."""
    return JoinedRequests(requests).send()


def _exchange(joined: bytearray, requests: Sequence[PrebuiltRequest]) -> list[KernelError | None]:
    """Send requests in one datagram, and read the refusals among them up to the answer to the last.

    Only the last asks for an acknowledgement: the kernel answers in order, and refusals unasked, so what it has
    not refused by then is done. Reading an acknowledgement each takes ten times as long as the changes.
    """
    first = requests[0]
    refused: dict[int, tuple[int, str]] = {}
    try:
        first._free.pop()
    except IndexError:
        first._turn.take()
    try:
        first._send(joined)
        _read_answers(first, requests[-1], refused)
    except BaseException as error:
        first._turn.drain()
        if not isinstance(error, OSError):
            raise
        failed = refusal(
            first._attempt, error.errno or 0
        )  # of the socket: what was not refused may be done or not
        return [_own_refusal(request, refused) or failed for request in requests]
    finally:
        first._free[:] = FREE
    if not refused:
        return [None] * len(requests)
    return [_own_refusal(request, refused) for request in requests]


def _read_answers(request: PrebuiltRequest, last: PrebuiltRequest, refused: dict[int, tuple[int, str]]) -> None:
    """Read until the answer to the last request; put refusals by number into ``refused``."""
    while True:
        answers = request._recv(REPLY_BYTES)
        if answers == last._expected:
            return
        for reply in split_replies(answers):
            if reply.kind != NLMSG_ERROR:
                continue
            number, words = read_ack(reply)
            if number:
                refused[reply.sequence] = number, words
            if reply.sequence == last.sequence:
                return


def _joined(requests: Sequence[PrebuiltRequest]) -> bytearray:
    """Return the messages one after another, of which only the last asks to be acknowledged."""
    joined = bytearray().join([request.message for request in requests])
    flags_at = _FLAGS_AT
    for request in requests[:-1]:
        joined[flags_at] &= _NO_ACK
        flags_at += len(request.message)
    return joined


def _own_refusal(request: PrebuiltRequest, refused: dict[int, tuple[int, str]]) -> KernelError | None:
    if request.sequence not in refused:
        return None
    return refusal(request._attempt, *refused[request.sequence])
