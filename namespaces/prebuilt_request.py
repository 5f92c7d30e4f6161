"""PrebuiltRequest: the hot path of a netlink socket: the bytes of a message sent again and again.

::

    patch message --send--> kernel --one ack, compared whole--> ok | KernelError
    several       --one send--> kernel --one ack each--> ok | KernelError each

Knows the socket and its turns, not what the message says.
"""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Sequence

from netlab.errors import KernelError
from netlab.namespaces.netlink_ack import HEADER, NLM_F_CAPPED, NLMSG_ERROR, read_ack, refusal, split_replies
from netlab.namespaces.netlink_turn import FREE, REPLY_BYTES, NetlinkTurn

__all__ = ["PrebuiltRequest", "send_together"]

_ACK_BYTES = 400
# Each acknowledgement waits in the receive buffer until the send returns, so a send is bounded both ways.
_TOGETHER_MESSAGES = 100
_TOGETHER_BYTES = 1 << 17


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


def send_together(requests: Sequence[PrebuiltRequest]) -> list[KernelError | None]:
    """Send several requests of one socket, each once, in as few messages to the kernel as it takes.

    The kernel carries them out one right after the other and goes on after one that it refuses.

    Returns:
        For each request its refusal, or None.
    """
    outcomes: list[KernelError | None] = []
    while len(outcomes) < len(requests):
        count = size = 0
        for request in requests[len(outcomes) : len(outcomes) + _TOGETHER_MESSAGES]:
            size += len(request.message)
            if count and size > _TOGETHER_BYTES:
                break
            count += 1
        outcomes += _exchange(requests[len(outcomes) : len(outcomes) + count])
    return outcomes


def _exchange(requests: Sequence[PrebuiltRequest]) -> list[KernelError | None]:
    """Send requests in one datagram and read one acknowledgement each."""
    first = requests[0]
    waited = {request.sequence: request for request in requests}
    refusals: dict[int, KernelError] = {}
    try:
        with first._turn.held(first._attempt):
            first._send(b"".join(request.message for request in requests))
            while waited:
                for reply in split_replies(first._recv(REPLY_BYTES)):
                    request = waited.pop(reply.sequence, None) if reply.kind == NLMSG_ERROR else None
                    number, words = read_ack(reply) if request is not None else (0, "")
                    if number and request is not None:
                        refusals[reply.sequence] = refusal(request._attempt, number, words)
    except KernelError as error:  # the socket itself: what was not answered may or may not have been done
        return [refusals.get(each.sequence, error if each.sequence in waited else None) for each in requests]
    return [refusals.get(request.sequence) for request in requests]
