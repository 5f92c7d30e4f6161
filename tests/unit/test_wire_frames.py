"""Frames cut out of a stream, however the stream is cut itself."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.wire.stream_frames import MAX_STREAM_FRAME_BYTES, FrameReader, add_length


def test_one_frame_at_once() -> None:
    reader = FrameReader(100)
    assert reader.feed(add_length(b"frame")) == [b"frame"]
    assert reader.fault is None


@settings(derandomize=True, max_examples=300)
@given(st.lists(st.binary(min_size=1, max_size=40), max_size=20), st.lists(st.integers(1, 30), max_size=60))
def test_any_cut_gives_the_same_frames(frames: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(add_length, frames))
    reader = FrameReader(40)
    found: list[bytes] = []
    for cut in cuts:
        found += reader.feed(stream[:cut])
        stream = stream[cut:]
    found += reader.feed(stream)
    assert found == frames
    assert reader.fault is None


@pytest.mark.parametrize("length", [0, 101, 2**31, 2**32 - 1])
def test_length_out_of_bounds_is_a_fault_before_anything_is_kept(length: int) -> None:
    reader = FrameReader(100)
    tracemalloc.start()
    frames = reader.feed(add_length(b"good") + length.to_bytes(4, "big") + bytes(1000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert frames == [b"good"]
    assert str(length) in str(reader.fault)
    assert peak < 20_000


def test_largest_frame_passes_and_the_next_larger_does_not() -> None:
    reader = FrameReader(MAX_STREAM_FRAME_BYTES)
    assert reader.feed(add_length(bytes(MAX_STREAM_FRAME_BYTES))) == [bytes(MAX_STREAM_FRAME_BYTES)]
    reader.feed(add_length(bytes(MAX_STREAM_FRAME_BYTES + 1)))
    assert reader.fault is not None


def test_byte_by_byte_never_holds_more_than_one_frame() -> None:
    reader = FrameReader(1000)
    stream = b"".join(add_length(bytes((i,)) * 1000) for i in range(20))
    found = 0
    for i in range(len(stream)):
        found += len(reader.feed(stream[i : i + 1]))
        assert len(reader._buffer) <= 1004
    assert found == 20


def test_random_streams_neither_raise_nor_grow() -> None:
    """n = 20,000 reads, seed fixed."""
    rng = random.Random(9)
    for _ in range(200):
        reader = FrameReader(500)
        for _ in range(100):
            reader.feed(bytes((0, 0, rng.randrange(3))) + rng.randbytes(rng.randrange(0, 60)))
            assert len(reader._buffer) <= 504 + 63
            if reader.fault is not None:
                break
