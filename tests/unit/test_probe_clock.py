"""StepWatch: a clock that is set is noticed, and a pause of this process is not taken for it."""

from __future__ import annotations

import pytest

from netlab.probe.step_watch import StepWatch


class Clocks:
    def __init__(self) -> None:
        self.monotonic_ns = 5_000_000_000
        self.ahead_ns = 1_700_000_000_000_000_000
        self.pause_ns = 0

    def read_monotonic(self) -> int:
        self.monotonic_ns += 40
        return self.monotonic_ns

    def read_realtime(self) -> int:
        self.monotonic_ns += self.pause_ns
        return self.monotonic_ns + self.ahead_ns


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


def watch_of(clocks: Clocks) -> StepWatch:
    return StepWatch(clocks.read_monotonic, clocks.read_realtime)


@pytest.mark.parametrize("step_ns", [5_000_000, -5_000_000, 3600 * 10**9])
def test_a_step_is_taken_off(clocks: Clocks, step_ns: int) -> None:
    watch = watch_of(clocks)
    watch.look()
    before_ns = clocks.read_realtime() - watch.shift_ns
    clocks.ahead_ns += step_ns
    watch.look()
    assert watch.steps == 1
    assert abs(clocks.read_realtime() - watch.shift_ns - before_ns) < 1000
    clocks.ahead_ns -= step_ns
    watch.look()
    assert (watch.steps, abs(watch.shift_ns) < 1000) == (2, True)


def test_a_pause_between_two_readings_is_no_step(clocks: Clocks) -> None:
    watch = watch_of(clocks)
    clocks.pause_ns = 300_000_000
    for _ in range(5):
        watch.look()
    assert (watch.steps, watch.shift_ns) == (0, 0)


def test_time_that_goes_on_is_no_step(clocks: Clocks) -> None:
    watch = watch_of(clocks)
    for _ in range(100):
        clocks.monotonic_ns += 10**9
        watch.look()
    assert watch.steps == 0
