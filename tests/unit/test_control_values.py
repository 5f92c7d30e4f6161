from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.control import ValueCodec
from netlab.errors import LocalProtocolError, RemoteProtocolError, SpecError
from netlab.messages import PROTOCOL_VERSION, Hello, Space, TaskDescription
from netlab.wire.codec import decode, encode

DISCRETE = Space(kind="discrete", dtype="int64", n=5)
BOX = Space(kind="box", dtype="float32", shape=(2, 3))
BOUNDED = Space(kind="box", dtype="float64", shape=(2,), low=(-1.0, -math.inf), high=(1.0, 0.0))
IMAGE = Space(kind="box", dtype="uint8", shape=(20, 20, 3))


@given(st.sampled_from(["int32", "int64", "uint8"]), st.integers(0, 200))
def test_discrete_values_survive_the_journey(dtype, value):
    codec = ValueCodec(Space(kind="discrete", dtype=dtype, n=201))
    data = codec.encode(value)
    assert len(data) == codec.nbytes == np.dtype(dtype).itemsize
    assert data == np.array(value, np.dtype(dtype).newbyteorder("<")).tobytes()
    assert codec.decode(data) == value
    assert type(codec.decode(data)) is int
    assert codec.encode(np.int64(value)) == codec.encode(np.array(value)) == data


@given(st.integers(1, 5), st.data())
def test_boxes_survive_the_journey(count, data):
    rows = data.draw(
        st.lists(
            st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=6, max_size=6),
            min_size=count,
            max_size=count,
        )
    )
    values = np.array(rows, "<f4").reshape(count, 2, 3)
    codec = ValueCodec(BOX)
    sent = b"".join(codec.encode(value) for value in values)
    assert sent == values.tobytes()
    for decoded, value in zip(codec.decode_many(sent, count), values, strict=True):
        assert decoded.shape == (2, 3)
        np.testing.assert_array_equal(decoded, value)


def test_large_values_are_checked_too():
    big = Space(kind="box", dtype="float32", shape=(100,))
    value = np.zeros(100, "<f4")
    ValueCodec(big).decode(value.tobytes())
    value[99] = np.nan
    with pytest.raises(RemoteProtocolError, match="not finite"):
        ValueCodec(big).decode(value.tobytes())
    image = np.full((20, 20, 3), 255, np.uint8)
    np.testing.assert_array_equal(ValueCodec(IMAGE).decode(image.tobytes()), image)


@pytest.mark.parametrize(
    ("space", "data"),
    [
        (DISCRETE, np.array([5], "<i8").tobytes()),
        (DISCRETE, np.array([-1], "<i8").tobytes()),
        (DISCRETE, b"\0" * 7),
        (Space(kind="discrete", dtype="int32", n=2**31 - 1), np.array([-1], "<i4").tobytes()),
        (BOX, bytes(23)),
        (BOX, np.array([0, 0, 0, 0, 0, np.nan], "<f4").tobytes()),
        (BOX, np.array([0, 0, -np.inf, 0, 0, 0], "<f4").tobytes()),
        (BOUNDED, np.array([1.0 + 1e-12, 0.0]).tobytes()),
        (BOUNDED, np.array([-1.1, 0.0]).tobytes()),
        (BOUNDED, np.array([0.0, 1e-300]).tobytes()),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_a_peer_may_not_send(space, data):
    with pytest.raises(RemoteProtocolError):
        ValueCodec(space).decode(data)


def test_bounds_belong_to_the_space():
    codec = ValueCodec(BOUNDED)
    for value in ((1.0, 0.0), (-1.0, -1e300)):
        assert codec.decode(codec.encode(value)).tolist() == list(value)


@pytest.mark.parametrize(
    ("space", "value"),
    [
        (DISCRETE, 5),
        (DISCRETE, -1),
        (DISCRETE, 1.0),
        (DISCRETE, None),
        (DISCRETE, "1"),
        (BOX, np.zeros(6)),
        (BOX, np.full((2, 3), np.nan)),
        (BOX, "text"),
        (BOUNDED, np.array([2.0, 0.0])),
        (IMAGE, np.zeros((20, 20, 3), np.int64)),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_we_may_not_send(space, value):
    with pytest.raises(LocalProtocolError, match="is not a value of"):
        ValueCodec(space).encode(value)


@pytest.mark.parametrize(
    "space",
    [
        Space(kind="discrete", dtype="int64", n=0),
        Space(kind="discrete", dtype="float32", n=2),
        Space(kind="discrete", dtype="int64", n=2, shape=(1,)),
        Space(kind="discrete", dtype="int64", n=2, low=(0.0,)),
        Space(kind="box", dtype="float32"),
        Space(kind="box", dtype="float32", shape=(2,), n=2),
        Space(kind="box", dtype="float32", shape=(2,), low=(0.0,)),
        Space(kind="box", dtype="float32", shape=(2,), high=(0.0, math.nan)),
        Space(kind="box", dtype="float64", shape=(2**10, 2**10)),
        Space(kind="box", dtype="float32", shape=(2,), low=(0.0, 1.0), high=(0.0, 0.0)),
        Space(kind="discrete", dtype="uint8", n=257),
    ],
    ids=str,
)
def test_spaces_that_contradict_themselves_are_refused_by_the_codec_and_by_the_wire(space):
    task = TaskDescription(name="t", rate_hz=50.0, observation=space, action=space)
    hello = Hello(protocol=PROTOCOL_VERSION, version="0", run=1, task=task, horizon_ticks=1)
    with pytest.raises(RemoteProtocolError, match="observation space"):
        decode(encode(hello))
    with pytest.raises(SpecError):
        ValueCodec(space)
