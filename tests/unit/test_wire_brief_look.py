"""The look before sleeping: kept where it pays, given up where it does not."""

from __future__ import annotations

import time

import pytest

from netlab.wire.brief_look import MAX_MISSES, SKIPS_PER_LOOK, BriefLook


class Watched:
    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.looks = 0

    def __call__(self) -> bool:
        self.looks += 1
        return self.answer


def test_hits_keep_it_on() -> None:
    watched = Watched(True)
    look = BriefLook(watched, 1e-2)
    for _ in range(1000):
        assert look.succeeds(1.0)
    assert watched.looks == 1000


def test_misses_turn_it_off_but_for_one_look_now_and_then() -> None:
    watched = Watched(False)
    look = BriefLook(watched, 1e-4)
    for _ in range(MAX_MISSES):
        assert not look.succeeds(1.0)
    before = watched.looks
    for _ in range(SKIPS_PER_LOOK - 1):
        assert not look.succeeds(1.0)
    assert watched.looks == before
    watched.answer = True
    assert look.succeeds(1.0)
    assert look.succeeds(1.0)  # one hit, and it is on again
    before = watched.looks
    watched.answer = False
    for _ in range(100):
        look.succeeds(1.0)
    assert watched.looks > before


def test_half_the_looks_in_vain_are_not_worth_it() -> None:
    """Alternating hit and two misses ends in sleep, however often it hits."""
    watched = Watched(True)
    look = BriefLook(watched, 1e-4)
    for i in range(300):
        watched.answer = i % 3 == 0
        look.succeeds(1.0)
    before = watched.looks
    for i in range(100):
        watched.answer = i % 3 == 0
        look.succeeds(1.0)
    assert watched.looks == before


def test_a_hit_after_the_moment_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processor was away: what came meanwhile is taken, and looking has not paid."""
    now_s = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])

    def look_slowly() -> bool:
        now_s[0] += 1.0
        return True

    look = BriefLook(look_slowly, 1e-3)
    assert [look.succeeds(1.0) for _ in range(MAX_MISSES + 10)] == [True] * MAX_MISSES + [False] * 10


def test_off_means_never() -> None:
    watched = Watched(True)
    look = BriefLook(watched, 0.0)
    for _ in range(3 * SKIPS_PER_LOOK):
        assert not look.succeeds(1.0)
    assert watched.looks == 0


def test_no_look_where_the_caller_has_no_time() -> None:
    watched = Watched(True)
    look = BriefLook(watched, 1e-3)
    assert not look.succeeds(1e-4)
    assert watched.looks == 0
