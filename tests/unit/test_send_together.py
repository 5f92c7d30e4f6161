"""Several requests in one message: only the last asks for an answer, and a refusal finds its request."""

from __future__ import annotations

import errno
import struct
from typing import Any

import pytest

from netlab.errors import KernelError
from netlab.namespaces.netlink_ack import HEADER, NLMSG_ERROR
from netlab.namespaces.netlink_turn import FREE, NetlinkTurn
from netlab.namespaces.prebuilt_request import PrebuiltRequest, send_together

REQUEST_ACK = 0x5
ACK = 0x4


class FakeSocket:
    """Carries out messages in their order and answers as the kernel does: refusals, and what asks for it."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.refused: dict[int, int] = {}
        self.answers: list[bytes] = []
        self.broken = 0

    def getsockname(self) -> tuple[int, int]:
        return (77, 0)

    def send(self, data: bytes) -> int:
        self.sent.append(bytes(data))
        offset = 0
        while offset < len(data):
            length, _, flags, sequence, _ = HEADER.unpack_from(data, offset)
            number = self.refused.get(sequence, 0)
            if number or flags & ACK:
                head = bytes(data[offset : offset + HEADER.size])
                body = struct.pack("=i", -number) + head
                self.answers.append(HEADER.pack(HEADER.size + len(body), NLMSG_ERROR, 0, sequence, 77) + body)
            offset += length
        return len(data)

    def recv(self, size: int) -> bytes:
        if self.broken:
            raise OSError(self.broken, "broken")
        if not self.answers:
            raise BlockingIOError(errno.EAGAIN, "nobody answers")
        return self.answers.pop(0)


def _requests(kernel: FakeSocket, count: int, body_bytes: int = 20) -> list[PrebuiltRequest]:
    turn: Any = NetlinkTurn(kernel)  # type: ignore[arg-type]
    return [
        PrebuiltRequest(
            kernel,  # type: ignore[arg-type]
            turn,
            bytearray(HEADER.pack(HEADER.size + body_bytes, 36, REQUEST_ACK, 100 + number, 0) + bytes(body_bytes)),
            f"change number {number}",
        )
        for number in range(count)
    ]


def _flags(data: bytes) -> list[int]:
    found, offset = [], 0
    while offset < len(data):
        length, _, flags, _, _ = HEADER.unpack_from(data, offset)
        found.append(flags)
        offset += length
    return found


def test_only_the_last_asks_for_an_answer_and_the_messages_stay_as_they_are() -> None:
    kernel = FakeSocket()
    requests = _requests(kernel, 5)
    assert send_together(requests) == [None] * 5
    (data,) = kernel.sent
    assert _flags(data) == [REQUEST_ACK & ~ACK] * 4 + [REQUEST_ACK]
    assert all(_flags(bytes(request.message)) == [REQUEST_ACK] for request in requests)
    requests[0].send()  # alone, it asks for itself


@pytest.mark.parametrize("refused", [[0], [2], [4], [0, 1, 4], [0, 1, 2, 3, 4]])
def test_each_refusal_finds_its_request(refused: list[int]) -> None:
    kernel = FakeSocket()
    requests = _requests(kernel, 5)
    kernel.refused = {100 + number: errno.EINVAL for number in refused}
    outcomes = send_together(requests)
    assert [number for number, outcome in enumerate(outcomes) if outcome is not None] == refused
    for number in refused:
        assert f"change number {number}" in str(outcomes[number])
    assert not kernel.answers, "no answer is left for whoever comes next"
    assert requests[0]._free == list(FREE)


def test_many_go_in_several_messages_each_with_an_answer() -> None:
    kernel = FakeSocket()
    outcomes = send_together(_requests(kernel, 250))
    assert outcomes == [None] * 250
    assert [len(_flags(data)) for data in kernel.sent] == [100, 100, 50]
    assert sum(flags & ACK != 0 for data in kernel.sent for flags in _flags(data)) == 3


def test_where_the_socket_fails_nothing_counts_as_done() -> None:
    kernel = FakeSocket()
    requests = _requests(kernel, 3)
    kernel.broken = errno.ENOBUFS
    outcomes = send_together(requests)
    assert all(isinstance(outcome, KernelError) for outcome in outcomes)
    assert requests[0]._free == list(FREE), "the turn is given back"
