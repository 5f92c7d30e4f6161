"""Ways of stepping are measured in turn, and what is to be counted is counted alone."""

from __future__ import annotations

import statistics

import pytest

from netlab.bench import step_rates
from netlab.bench.step_rates import StepRates, Stopwatch, Way, measure_in_turn, rates_text, ratios


class Clock:
    """Time that moves when told."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(step_rates.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(step_rates.time, "process_time", lambda: self.now / 2.0)


def test_rates_are_of_the_time_between_start_and_stop(monkeypatch):
    clock, ran = Clock(monkeypatch), []

    def way(name: str, step_s: float) -> Way:
        def run(watch: Stopwatch) -> int:
            ran.append(name)
            for _ in range(10):
                clock.now += 5.0  # choosing actions
                watch.start()
                clock.now += step_s
                watch.stop()
            return 10

        return Way(name, run)

    said: list[str] = []
    slow, fast = measure_in_turn([way("slow", 1.0), way("fast", 0.25)], 3, said.append)
    assert ran == ["slow", "fast"] * 3 and len(said) == 3
    assert slow.wall == pytest.approx([1.0] * 3) and fast.wall == pytest.approx([4.0] * 3)
    assert fast.processor == pytest.approx([8.0] * 3)
    assert ratios(fast.wall, slow.wall) == pytest.approx([4.0] * 3)


def test_ratios_are_within_a_round():
    # Other programs halve the second round: what is compared meets the same.
    ours, theirs = [8000.0, 4000.0, 8000.0], [2000.0, 1000.0, 1000.0]
    assert statistics.median(ratios(ours, theirs)) == 4.0
    with pytest.raises(ValueError, match="shorter"):
        ratios(ours, theirs[:2])
    assert (
        rates_text([StepRates("ours", ours, theirs)]) == "ours 8 [1] thousand steps a second [of processor time]"
    )
