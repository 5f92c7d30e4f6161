"""Pooling latencies, and the table people read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.control.counters import EdgeCounters
from netlab.control.histogram import Histogram
from netlab.report import CellResult, ExperimentResult, Milliseconds, cell_table


def cell(**changes: object) -> CellResult:
    fields: dict[str, object] = {
        "network": "wifi-degraded",
        "reading": "rtt",
        "network_toml": "",
        "link_seeds": (1,),
        "disconnected_ticks": 0,
        "counters": EdgeCounters(),
        "policy": "linear-predict",
        "actuator": "scheduled",
        "horizon_ticks": 10,
        "fallback": "neutral",
        "seeds": (1,),
        "returns": (500.0, 480.0),
        "return_mean": 490.0,
        "return_se": 10.0,
        "asked_round_trip_ms": (80.0, 40.0),
        "expected_round_trip_ms": (82.0, 37.3),
        "latency_ms": Milliseconds.of(Histogram.from_pairs([(100, 3), (120, 1)])),
        "answered_ratio": 0.8,
        "age_p50_ticks": 4.0,
        "age_p99_ticks": 9.0,
        "ticks": 980,
        "action_miss_ratio": 0.021,
        "deadline_miss_ratio": 0.0005,
        "skipped_ticks": 0,
    }
    return CellResult(**(fields | changes))  # type: ignore[arg-type]


def result(*cells: CellResult) -> ExperimentResult:
    return ExperimentResult(
        netlab="0", experiment="test", started="", engine="", machine={}, task="CartPole-v1", rate_hz=50.0,
        transport="datagram", seed=1, seeded=True, labs_at_once=1, cells=cells,
    )  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 127), st.integers(1, 50)), min_size=1, max_size=40))
def test_milliseconds_pool_like_the_values_themselves(pairs: list[tuple[int, int]]) -> None:
    values = np.repeat([value for value, _ in pairs], [count for _, count in pairs]) / 1e3
    pooled = Milliseconds.of(Histogram.from_pairs(pairs))  # exact below 128
    assert pooled.n == values.size
    assert pooled.mean == pytest.approx(values.mean())
    assert pooled.sd == pytest.approx(values.std(), abs=1e-6)
    assert pooled.p50 == pytest.approx(np.quantile(values, 0.5, method="inverted_cdf"))
    assert pooled.p99 == pytest.approx(np.quantile(values, 0.99, method="inverted_cdf"))


def test_milliseconds_of_nothing_are_null() -> None:
    assert Milliseconds.of(Histogram()) == Milliseconds(mean=None, sd=None, p50=None, p99=None, n=0)


def test_table_shows_asked_and_expected_and_measured() -> None:
    heading, row = cell_table(result(cell()))
    assert len(heading) == len(row)
    assert row == (
        "wifi-degraded", "linear-predict", "10", "490±10", "80±40", "82±37", "0/0", "2.1%", "0.1%",
    )  # fmt: skip


def test_table_of_a_cell_without_episodes_shows_dashes() -> None:
    empty = cell(returns=(), return_mean=None, return_se=None, latency_ms=Milliseconds.of(Histogram()))
    row = cell_table(result(empty))[1]
    assert (row[3], row[6]) == ("-", "-/-")
