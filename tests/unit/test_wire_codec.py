"""Messages to bytes and back, and what must never come back."""

from __future__ import annotations

import random
import tracemalloc

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_messages import BOX, DISCRETE, EVERY_MESSAGE, TASK, make_action, make_hello, make_observation

from netlab.errors import LocalProtocolError, RemoteProtocolError
from netlab.messages import MAX_PAYLOAD_BYTES, Message, Space
from netlab.wire.codec import MAX_MESSAGE_BYTES, decode, encode

to_msgpack = msgspec.msgpack.encode


@pytest.mark.parametrize("message", EVERY_MESSAGE, ids=lambda message: type(message).__name__)
def test_every_message_survives(message: Message) -> None:
    assert decode(encode(message)) == message
    assert decode(memoryview(encode(message))) == message


def test_observation_of_cartpole_is_small() -> None:
    """Bytes a tick: 16 of payload, 8 of action, the rest envelope."""
    assert len(encode(make_observation(tick=10**6))) <= 80


@pytest.mark.parametrize("message", EVERY_MESSAGE, ids=lambda message: type(message).__name__)
def test_every_truncation_is_refused(message: Message) -> None:
    data = encode(message)
    for length in range(len(data)):
        with pytest.raises(RemoteProtocolError):
            decode(data[:length])


@pytest.mark.parametrize("message", EVERY_MESSAGE, ids=lambda message: type(message).__name__)
def test_bytes_after_the_message_are_refused(message: Message) -> None:
    with pytest.raises(RemoteProtocolError, match="malformed"):
        decode(encode(message) + b"\0")


@pytest.mark.parametrize(
    "data",
    [
        to_msgpack(["obs", 2**64 - 1, 0, -1, b"", b"", 0, 0, -1, 0.0]),
        to_msgpack(["obs", 1, 0, 1, b"", b"", 0, 65, -1, 0.0]),
        to_msgpack(["obs", 1, 0, 1, b"", b"", 0, 0, -1, float("nan")]),
        to_msgpack(["obs", 1, 0, 1, b"", b"", 0, 0, -1, 1.5]),
        to_msgpack(["obs", 1, 0, 1, "text", b"", 0, 0, -1, 0.0]),
        to_msgpack(["obs", 1, 0, 1, b"", b"", 0, 0, -1, 0.0, -1]),
        to_msgpack(["obs", 1, 0, 1, b"", b"", 0, 0, -1, 0.0, 0, 0]),
        to_msgpack(["act", 1, 0, 0, 1, 1, b"", -1]),
        to_msgpack(["act", 1, 0, 0, 1, 1, b"", 0, 0]),
        to_msgpack(["act", 1, 0, 0, 1, 0, b""]),
        to_msgpack(["act", 1, 0, 0, 1, 257, b""]),
        to_msgpack(["what", 1]),
        to_msgpack({"type": "goodbye", "reason": "x" * 1001}),
        to_msgpack({"type": "goodbye", "reason": "x", "extra": 1}),
        to_msgpack({"type": "goodbye"}),
        to_msgpack({"reason": "x"}),
        to_msgpack(5),
        to_msgpack(None),
        b"\xc1",
        b"\xa2\xff\xfe",
    ],
)
def test_values_no_message_has_are_refused(data: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        decode(data)


@pytest.mark.parametrize(
    "words", ["\x1b[31mred", "two\nlines", "a line\n", "\x9b2J", "turned\u202eabout"], ids=repr
)
@pytest.mark.parametrize("field", ["version", "task"])
def test_names_that_would_drive_a_terminal_are_refused(field: str, words: str) -> None:
    hello = make_hello()
    value = msgspec.structs.replace(hello.task, name=words) if field == "task" else words
    with pytest.raises(RemoteProtocolError, match="malformed"):
        decode(to_msgpack(msgspec.structs.replace(hello, **{field: value})))


def test_other_version_names_both_and_says_what_to_do() -> None:
    hello = msgspec.structs.replace(make_hello(), protocol=999)
    with pytest.raises(RemoteProtocolError, match=r"version 999.*version 2") as caught:
        decode(to_msgpack(hello))
    assert "same netlab" in caught.value.hint


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (Space(kind="box", dtype="float64", shape=(2**20, 2**20)), "bytes"),
        (Space(kind="box", dtype="float64", shape=(2**20, 2**20, 2**20, 2**20)), "bytes"),
        (Space(kind="box", dtype="float32", shape=(2,), low=(0.0,)), "1 low bounds for 2 elements"),
        (Space(kind="box", dtype="float32", shape=(2,), high=(0.0,) * 3), "3 high bounds for 2 elements"),
        (Space(kind="box", dtype="float32", shape=(2,), n=3), "n = 3"),
        (Space(kind="discrete", dtype="int64", n=0), "n >= 1"),
        (Space(kind="discrete", dtype="int64", n=2, shape=(2,)), "no shape"),
    ],
)
def test_spaces_that_cannot_be_are_refused(space: Space, words: str) -> None:
    """Whoever allocates by a Hello's space must be able to trust it."""
    for task in (msgspec.structs.replace(TASK, observation=space), msgspec.structs.replace(TASK, action=space)):
        with pytest.raises(RemoteProtocolError, match=words):
            decode(encode(make_hello(task=task)))


def test_own_message_too_large_is_our_bug() -> None:
    with pytest.raises(LocalProtocolError, match="Observation"):
        encode(make_observation(payload=bytes(MAX_PAYLOAD_BYTES)))
    with pytest.raises(LocalProtocolError, match="Action"):
        encode(msgspec.structs.replace(make_action(), obs_tick=2**65))


def test_length_that_lies_allocates_nothing() -> None:
    """Each claims 4 GiB; the peak of allocation is bounded by the frame."""
    claims = [
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        b"\x9a" + to_msgpack("obs") + b"\x00\x00\x00\xc6\xff\xff\xff\xff",
        b"\x83" + to_msgpack("type") + to_msgpack("hello") + to_msgpack("task") + b"\xdf\xff\xff\xff\xff",
        b"\x82" + to_msgpack("type") + to_msgpack("goodbye") + to_msgpack("reason") + b"\xdb\xff\xff\xff\xff",
    ]
    tracemalloc.start()
    try:
        for claim in claims:
            tracemalloc.reset_peak()
            with pytest.raises(RemoteProtocolError):
                decode(claim + b"\0" * 16)
            assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_deep_nesting_is_refused() -> None:
    for one in (b"\x91", b"\x81", b"\x81\xa1a"):
        with pytest.raises(RemoteProtocolError):
            decode(one * 200_000)


def test_100_000_random_and_mutated_frames_have_one_way_to_fail() -> None:
    """n = 100,000, seed fixed: each either decodes to a message or is a RemoteProtocolError."""
    rng = random.Random(20260101)
    good = [encode(message) for message in EVERY_MESSAGE]
    refused = 0
    for i in range(100_000):
        if i % 2:
            data = rng.randbytes(rng.randrange(0, 120))
        else:
            mutable = bytearray(rng.choice(good))
            for _ in range(rng.randrange(1, 4)):
                mutable[rng.randrange(len(mutable))] = rng.randrange(256)
            data = bytes(mutable[: rng.randrange(1, len(mutable) + 1)]) if rng.random() < 0.2 else bytes(mutable)
        try:
            message = decode(data)
        except RemoteProtocolError:
            refused += 1
        else:
            assert decode(encode(message)) == message
    assert refused > 60_000


@settings(derandomize=True, max_examples=300)
@given(st.binary(max_size=300))
def test_any_bytes_are_refused_or_a_message(data: bytes) -> None:
    try:
        message = decode(data)
    except RemoteProtocolError:
        return
    assert decode(encode(message)) == message


def test_size_bounds() -> None:
    with pytest.raises(RemoteProtocolError, match="0 bytes"):
        decode(b"")
    with pytest.raises(RemoteProtocolError, match=str(MAX_MESSAGE_BYTES)):
        decode(bytes(MAX_MESSAGE_BYTES + 1))


def test_spaces_of_the_shipped_tasks_are_fine() -> None:
    assert BOX.nbytes == 16
    assert DISCRETE.nbytes == 8
