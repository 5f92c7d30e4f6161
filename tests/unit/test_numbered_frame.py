"""Frames that tell what a link did to them."""

from __future__ import annotations

import pytest

from netlab.bench.numbered_frame import LEAST_BYTES, NumberedFrame, number_of
from netlab.errors import LabError


def flipped(data: bytes, bit: int) -> bytes:
    return (int.from_bytes(data, "big") ^ 1 << (8 * len(data) - 1 - bit)).to_bytes(len(data), "big")


@pytest.mark.parametrize("length_bytes", [LEAST_BYTES, 60, 100, 1514])
@pytest.mark.parametrize("ect", [False, True])
def test_whole_frames(length_bytes: int, ect: bool) -> None:
    frame = NumberedFrame.make(2**32 - 1, length_bytes, ect=ect)
    assert len(frame.plain) == length_bytes
    assert number_of(frame.plain) == 2**32 - 1
    assert frame.look(frame.plain) == (None, False)
    assert (frame.marked is None) is not ect
    if frame.marked is not None:
        assert frame.look(frame.marked) == (None, True)


def test_every_flipped_bit_is_found_and_none_passes_for_a_mark() -> None:
    frame = NumberedFrame.make(0x0102_0304, 64, ect=True)
    assert frame.marked is not None
    for sent, marked in ((frame.plain, False), (frame.marked, True)):
        for bit in range(8 * 64):
            seen = flipped(sent, bit)
            assert number_of(seen) == 0x0102_0304
            assert frame.look(seen) == (bit, marked)


def test_the_mark_is_what_a_kernel_makes_of_it() -> None:
    """The bits of congestion, and a checksum that is right again."""
    frame = NumberedFrame.make(1, 100, ect=True)
    assert frame.marked is not None
    assert (frame.plain[15], frame.marked[15]) == (2, 3)
    for data in (frame.plain, frame.marked):
        total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(14, 34, 2))
        assert (total & 0xFFFF) + (total >> 16) == 0xFFFF


def test_what_is_not_ours_is_refused() -> None:
    frame = NumberedFrame.make(7, 64, ect=False)
    with pytest.raises(LabError, match="more than one bit"):
        frame.look(flipped(flipped(frame.plain, 3), 300))
    with pytest.raises(LabError, match="more than one bit"):
        frame.look(frame.plain + b"\0")
    with pytest.raises(LabError, match="nobody sent"):
        number_of(frame.plain[:-1][: LEAST_BYTES - 1])
    with pytest.raises(LabError, match="nobody sent"):
        number_of(frame.plain[:34] + bytes(range(12)) + bytes(20))
