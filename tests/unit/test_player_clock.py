"""The Player's waits: never short, broken off when asked, and ended where looking at the clock takes no time."""

from __future__ import annotations

import threading

import pytest

from netlab.namespaces import player_clock
from netlab.namespaces.player_clock import InterruptibleClock


class FakeTime:
    """A clock that goes on by sleeping, and by ``look_s`` each time it is read."""

    def __init__(self, look_s: float, oversleep_s: float = 0.0) -> None:
        self.time_s = 100.0
        self.looks = 0
        self.slept_s: list[float] = []
        self._look_s = look_s
        self._oversleep_s = oversleep_s

    def monotonic(self) -> float:
        self.looks += 1
        self.time_s += self._look_s
        return self.time_s

    def sleep(self, duration_s: float) -> None:
        assert duration_s > 0.0
        self.slept_s.append(duration_s)
        self.time_s += duration_s + self._oversleep_s


class FakeEvent(threading.Event):
    """Waiting takes its time on the fake clock; ``set`` after so many waits."""

    def __init__(self, clock: FakeTime) -> None:
        super().__init__()
        self._clock = clock
        self.waits = 0

    def wait(self, timeout: float | None = None) -> bool:
        self.waits += 1
        if not self.is_set():
            self._clock.time_s += timeout or 0.0
        return self.is_set()


@pytest.mark.parametrize("look_s", [0.0, 70e-9, 8e-6])
@pytest.mark.parametrize("oversleep_s", [0.0, 90e-6, 3e-3])
@pytest.mark.parametrize("left_s", [-1.0, 0.0, 50e-6, 0.4e-3, 0.9e-3, 1.1e-3, 10e-3, 3600.0])
def test_a_wait_is_never_short_and_ends(
    monkeypatch: pytest.MonkeyPatch, look_s: float, oversleep_s: float, left_s: float
) -> None:
    clock = FakeTime(look_s, oversleep_s)
    monkeypatch.setattr(player_clock, "time", clock)
    event = FakeEvent(clock)
    deadline_s = clock.time_s + left_s
    InterruptibleClock().wait_until(deadline_s, event)
    assert clock.time_s >= deadline_s - 1e-9
    if left_s > 0.0:
        assert clock.time_s <= deadline_s + oversleep_s + 100 * look_s + 1e-9
    assert clock.looks < 100, "a bounded number of looks, also where the clock stands still meanwhile"


def test_a_slow_waker_is_punctual(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeTime(look_s=8e-6, oversleep_s=90e-6)
    monkeypatch.setattr(player_clock, "time", clock)
    deadline_s = clock.time_s + 0.01
    InterruptibleClock().wait_until(deadline_s, FakeEvent(clock))
    assert clock.time_s - deadline_s < 20e-6


def test_an_interrupt_ends_a_long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeTime(look_s=1e-6)
    monkeypatch.setattr(player_clock, "time", clock)
    event = FakeEvent(clock)
    event.set()
    InterruptibleClock().wait_until(clock.time_s + 3600.0, event)
    assert clock.time_s < 101.0 and event.waits == 1 and not clock.slept_s
