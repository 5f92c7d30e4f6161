"""The figures of replay and of verification: their targets as asked, and what counts as meeting them."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from netlab.bench import replay_lag1, replay_thousand, replay_timing, verify_power
from netlab.bench.figure import Figure

Replayed = Callable[..., Figure]


def test_the_targets_are_those_that_were_asked() -> None:
    assert replay_lag1.TARGET == 0.1
    assert (replay_timing.TARGET_MEDIAN_S, replay_timing.TARGET_P99_S) == (0.3e-3, 2e-3)
    assert replay_thousand.TARGET_SHARE == 0.5
    assert (verify_power.MOST_ALARMS, verify_power.LEAST_CAUGHT) == (5, 95)


@pytest.fixture
def figure(monkeypatch: pytest.MonkeyPatch) -> Replayed:
    """Return the figure of two traces, both with a lag-1 of 0.9, that are delivered with these."""

    def of(*delivered: float) -> Figure:
        found = iter([replay_lag1._Lag1(f"trace {lag:g}", 0.9, lag, 0.0, 300) for lag in delivered])
        monkeypatch.setattr(replay_lag1, "_measure", lambda path, say: next(found))
        monkeypatch.setattr(replay_lag1, "_several", lambda folder: (0.9, {0.1: 0.8}))
        return replay_lag1.replay_lag1(lambda text: None)

    return of


@pytest.mark.parametrize("delivered", [(0.88, math.nan), (math.nan, 0.88), (math.nan, math.nan)])
def test_memory_that_was_not_measured_is_no_memory_kept(figure: Replayed, delivered: tuple[float, float]) -> None:
    found = figure(*delivered)
    assert not found.holds and found.value is None


@pytest.mark.parametrize(
    ("delivered", "holds", "value"),
    [((0.88, 0.85), True, 0.05), ((0.75, 0.9), False, 0.15), ((0.9, 1.02), False, 0.12)],
)
def test_the_worse_of_two_traces_counts(
    figure: Replayed, delivered: tuple[float, float], holds: bool, value: float
) -> None:
    found = figure(*delivered)
    assert found.holds is holds and found.value == pytest.approx(value)
