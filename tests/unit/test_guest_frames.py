"""Frames between launcher and pid 1: whatever the pieces, the frames are the same; nothing else passes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import GuestError
from netlab.namespaces.guest.frames import (
    MAX_INPUT_BYTES,
    Frame,
    FrameKind,
    FrameReader,
    decode_status,
    decode_window,
    encode_frame,
    encode_status,
    encode_window,
)

FRAMES = st.lists(st.tuples(st.sampled_from(FrameKind), st.binary(max_size=300)), max_size=10)


@given(FRAMES, st.lists(st.integers(0, 3000), max_size=10))
def test_frames_survive_any_cut(frames: list[tuple[FrameKind, bytes]], cuts: list[int]) -> None:
    data = b"".join(encode_frame(kind, payload) for kind, payload in frames)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    reader = FrameReader()
    found = [frame for a, b in itertools.pairwise(edges) for frame in reader.feed(data[a:b])]
    assert found == [Frame(kind, payload) for kind, payload in frames]


@given(st.binary(max_size=200))
def test_any_bytes_give_frames_or_one_named_error(data: bytes) -> None:
    try:
        frames = FrameReader().feed(data)
    except GuestError as error:
        assert "control console" in error.message
    else:
        assert all(isinstance(frame.kind, FrameKind) for frame in frames)


def test_an_input_frame_fits_a_console() -> None:
    assert len(encode_frame(FrameKind.INPUT, bytes(MAX_INPUT_BYTES))) < 4096


@pytest.mark.parametrize("data", [b"\x00\x00\x00", b"\xff\x00\x00", b"\x02\xff\xff"])
def test_unknown_kinds_and_lengths_are_refused(data: bytes) -> None:
    with pytest.raises(GuestError):
        FrameReader().feed(data)


def test_too_long_a_payload_is_refused() -> None:
    with pytest.raises(GuestError, match="16384"):
        encode_frame(FrameKind.TROUBLE, bytes(16385))


@pytest.mark.parametrize("status", [0, 7, 127, 137, 255, -1])
def test_status(status: int) -> None:
    assert decode_status(encode_status(status)) == status


def test_window() -> None:
    assert decode_window(encode_window(33, 111)) == (33, 111)


def test_payloads_of_another_size_are_refused() -> None:
    with pytest.raises(GuestError):
        decode_status(b"abc")
    with pytest.raises(GuestError):
        decode_window(b"")
