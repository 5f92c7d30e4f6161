"""CopyOpener: it authenticates, tells copies apart, forgets in bounds, and is not moved by a forger."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import AuthError, RemoteProtocolError
from netlab.wire.copy_opener import MAX_COPIES, CopyOpener
from netlab.wire.seal import Sealer
from netlab.wire.statistics import Rejection, Statistics

SECRET = bytes(range(32))
SESSION = 0x1122334455667788
WINDOW = 8


def frames(count: int) -> list[bytes]:
    sealer = Sealer(SECRET, SESSION)
    return [sealer.seal(b"probe %d" % number) for number in range(count)]


def opener(**options: int) -> tuple[CopyOpener, Statistics]:
    statistics = Statistics()
    return CopyOpener(SECRET, SESSION, statistics, **options), statistics


def test_the_copies_of_a_frame_are_opened_and_counted() -> None:
    mine, statistics = opener()
    first, second = frames(2)
    opened = [mine.open(frame) for frame in (first, second, first, first, second)]
    assert [(one.number, one.copy) for one in opened] == [(0, 0), (1, 0), (0, 1), (0, 2), (1, 1)]
    assert opened[2].message == b"probe 0"
    assert not statistics.rejected


def test_one_copy_too_many_is_refused_and_counted() -> None:
    mine, statistics = opener()
    (frame,) = frames(1)
    assert [mine.open(frame).copy for _ in range(MAX_COPIES)] == list(range(MAX_COPIES))
    for _ in range(3):
        with pytest.raises(RemoteProtocolError, match="too often"):
            mine.open(frame)
    assert statistics.rejected == {Rejection.REPLAY: 3}


def test_what_is_older_than_the_window_is_refused() -> None:
    mine, statistics = opener(window_frames=WINDOW)
    sent = frames(WINDOW + 1)
    mine.open(sent[WINDOW])
    assert mine.open(sent[1]).copy == 0
    with pytest.raises(RemoteProtocolError, match="too old"):
        mine.open(sent[0])
    assert statistics.rejected == {Rejection.REPLAY: 1}


@pytest.mark.parametrize("place", [0, 1, 9, 17, 30, -1])
def test_a_changed_frame_is_refused_and_moves_nothing(place: int) -> None:
    mine, statistics = opener(window_frames=WINDOW)
    sent = frames(100)
    mine.open(sent[0])
    changed = bytearray(sent[99])
    changed[place] ^= 1
    with pytest.raises((AuthError, RemoteProtocolError)):
        mine.open(bytes(changed))
    assert mine.open(sent[0]).copy == 1
    assert sum(statistics.rejected.values()) == 1


@pytest.mark.parametrize("frame", [b"", b"\4", bytes(32), bytes(33), b"\4" + bytes(32)])
def test_what_is_no_frame_of_the_session_is_refused(frame: bytes) -> None:
    mine, _ = opener()
    with pytest.raises(RemoteProtocolError):
        mine.open(frame)


@given(st.lists(st.integers(0, 60), max_size=200), st.integers(1, 12), st.integers(1, 3))
def test_it_agrees_with_a_plain_count(order: list[int], window: int, most: int) -> None:
    mine, _ = opener(window_frames=window, max_copies=most)
    sent = frames(61)
    counts: Counter[int] = Counter()
    highest = -1
    for number in order:
        if number <= highest - window or counts[number] >= most:
            with pytest.raises(RemoteProtocolError):
                mine.open(sent[number])
            continue
        highest = max(highest, number)
        opened = mine.open(sent[number])
        assert (opened.number, opened.copy) == (number, counts[number])
        counts[number] += 1
