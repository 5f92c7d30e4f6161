"""Seals: what opens, what does not, and what is remembered."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.errors import AuthError, ConnectionLost, RemoteProtocolError, WireError
from netlab.wire.seal import HEADER_BYTES, SEAL_BYTES, WINDOW_FRAMES, Opener, OrderedOpener, Sealer
from netlab.wire.statistics import Rejection, Statistics

SECRET = bytes(range(32))
SESSION = 0x0123456789ABCDEF
OPENERS = [Opener, OrderedOpener]
MakeOpener = Callable[[bytes, int, Statistics], "Opener | OrderedOpener"]


def seal_many(n: int) -> list[bytes]:
    sealer = Sealer(SECRET, SESSION)
    return [sealer.seal(b"message %d" % i) for i in range(n)]


@pytest.mark.parametrize("make", OPENERS)
def test_opens_what_was_sealed(make: MakeOpener) -> None:
    opener = make(SECRET, SESSION, Statistics())
    for i, frame in enumerate(seal_many(100)):
        assert len(frame) == len(b"message %d" % i) + SEAL_BYTES
        assert opener.open(frame) == b"message %d" % i


def test_the_message_is_not_in_the_frame() -> None:
    assert b"message" not in seal_many(1)[0]


def test_equal_messages_give_different_frames() -> None:
    sealer = Sealer(SECRET, SESSION)
    frames = {sealer.seal(b"same")[HEADER_BYTES:] for _ in range(1000)}
    assert len(frames) == 1000


@pytest.mark.parametrize("make", OPENERS)
def test_every_single_bit_flip_is_refused(make: MakeOpener) -> None:
    """Header, message and tag alike: n = all bits of one frame."""
    frame = seal_many(1)[0]
    statistics = Statistics()
    opener = make(SECRET, SESSION, statistics)
    for bit in range(8 * len(frame)):
        flipped = bytearray(frame)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises((AuthError, RemoteProtocolError)):
            opener.open(bytes(flipped))
    assert statistics.rejected.total() == 8 * len(frame)
    assert statistics.rejected[Rejection.AUTH] >= 8 * (len(frame) - HEADER_BYTES)
    assert opener.open(frame) == b"message 0"


@pytest.mark.parametrize("make", OPENERS)
def test_every_truncation_and_extension_is_refused(make: MakeOpener) -> None:
    frame = seal_many(1)[0]
    opener = make(SECRET, SESSION, Statistics())
    for length in range(len(frame)):
        with pytest.raises(WireError):
            opener.open(frame[:length])
    with pytest.raises(AuthError):
        opener.open(frame + b"\0")


@pytest.mark.parametrize("make", OPENERS)
def test_other_key_and_other_session_are_refused(make: MakeOpener) -> None:
    frame = seal_many(1)[0]
    statistics = Statistics()
    with pytest.raises(AuthError) as caught:
        make(bytes(32), SESSION, statistics).open(frame)
    assert caught.value.hint
    with pytest.raises(RemoteProtocolError, match="not this one"):
        make(SECRET, SESSION + 1, statistics).open(frame)
    assert statistics.rejected == {Rejection.AUTH: 1, Rejection.UNKNOWN: 1}


@pytest.mark.parametrize("make", OPENERS)
def test_replay_is_refused_and_counted(make: MakeOpener) -> None:
    frames = seal_many(10)
    statistics = Statistics()
    opener = make(SECRET, SESSION, statistics)
    for frame in frames:
        opener.open(frame)
    for frame in frames:
        with pytest.raises(RemoteProtocolError):
            opener.open(frame)
    assert statistics.rejected == {Rejection.REPLAY: 10}


def test_datagrams_may_come_in_any_order_within_the_window() -> None:
    frames = seal_many(WINDOW_FRAMES)
    order = list(range(len(frames)))
    random.Random(7).shuffle(order)
    opener = Opener(SECRET, SESSION, Statistics())
    for i in order:
        assert opener.open(frames[i]) == b"message %d" % i
    for frame in frames:
        with pytest.raises(RemoteProtocolError):
            opener.open(frame)


def test_window_is_at_least_1024_and_ends() -> None:
    assert WINDOW_FRAMES >= 1024
    frames = seal_many(WINDOW_FRAMES + 1)
    opener = Opener(SECRET, SESSION, Statistics())
    opener.open(frames[-1])
    opener.open(frames[1])  # the oldest within
    with pytest.raises(RemoteProtocolError, match="too old"):
        opener.open(frames[0])


def test_newest_tells_whether_a_frame_is_ahead_of_all_before() -> None:
    frames = seal_many(6)
    opener = Opener(SECRET, SESSION, Statistics())
    seen = []
    for i in (0, 1, 4, 2, 5, 3):
        opener.open(frames[i])
        seen.append(opener.newest)
    assert seen == [True, True, True, False, True, False]


def test_forged_number_far_ahead_moves_nothing_and_makes_nothing_large() -> None:
    sealer = Sealer(SECRET, SESSION, frame_limit=2**64)
    first, second = sealer.seal(b"1"), sealer.seal(b"2")
    opener = Opener(SECRET, SESSION, Statistics())
    opener.open(first)
    forged = first[:9] + b"\xff" * 8 + first[17:]
    with pytest.raises(AuthError):
        opener.open(forged)
    assert opener.open(second) == b"2"
    sealer._next = 2**64 - 2  # the true owner of the key may jump
    assert opener.open(sealer.seal(b"far")) == b"far"
    assert sys.getsizeof(opener._seen) < WINDOW_FRAMES


class ModelOpener:
    """The replay rule in its plainest form: a set of numbers."""

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def takes(self, number: int) -> bool:
        highest = max(self.seen, default=-1)
        if number in self.seen or number <= highest - WINDOW_FRAMES:
            return False
        self.seen.add(number)
        return True


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.integers(0, 40),
            st.integers(WINDOW_FRAMES - 5, WINDOW_FRAMES + 45),
            st.integers(3 * WINDOW_FRAMES, 3 * WINDOW_FRAMES + 5),
        ),
        max_size=80,
    )
)
def test_window_agrees_with_a_set_of_numbers(numbers: list[int]) -> None:
    sealer, opener, model = Sealer(SECRET, SESSION), Opener(SECRET, SESSION, Statistics()), ModelOpener()
    for number in numbers:
        sealer._next = number
        frame = sealer.seal(b"x")
        if model.takes(number):
            opener.open(frame)
            assert opener.newest == (number == max(model.seen))
        else:
            with pytest.raises(RemoteProtocolError):
                opener.open(frame)


def test_stream_takes_only_the_next_number() -> None:
    frames = seal_many(4)
    opener = OrderedOpener(SECRET, SESSION, Statistics())
    opener.open(frames[0])
    for wrong in (frames[2], frames[3], frames[0]):
        with pytest.raises(RemoteProtocolError, match="1 is due"):
            opener.open(wrong)
    assert opener.open(frames[1]) == b"message 1"


def test_key_limit_ends_the_session_before_a_number_repeats() -> None:
    sealer = Sealer(SECRET, SESSION, frame_limit=3)
    frames = {sealer.seal(b"x") for _ in range(3)}
    assert len(frames) == 3
    for _ in range(2):
        with pytest.raises(ConnectionLost, match="3 frames") as caught:
            sealer.seal(b"x")
    assert "dial again" in caught.value.hint


@pytest.mark.parametrize("make", OPENERS)
def test_100_000_random_and_mutated_frames_open_nothing(make: MakeOpener) -> None:
    """n = 100,000, seed fixed; then the true frames still open, so no forgery has moved a window."""
    rng = random.Random(11)
    frames = seal_many(50)
    statistics = Statistics()
    opener = make(SECRET, SESSION, statistics)
    for i in range(100_000):
        if i % 2:
            forged = rng.randbytes(rng.randrange(0, 100))
        else:
            mutable = bytearray(rng.choice(frames))
            mutable[rng.randrange(len(mutable))] ^= rng.randrange(1, 256)
            forged = bytes(mutable)
        with pytest.raises((AuthError, RemoteProtocolError)):
            opener.open(forged)
    assert statistics.rejected.total() == 100_000
    for i, frame in enumerate(frames):
        assert opener.open(frame) == b"message %d" % i
