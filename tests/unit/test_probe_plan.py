"""ProbePlan: its bounds, and when probes are due."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netlab.errors import SpecError
from netlab.probe.probe_frame import LEAST_BYTES
from netlab.probe.probe_plan import MAX_BYTES, MAX_COUNT, MAX_RATE_HZ, ProbePlan


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rate_hz", 0.0), ("rate_hz", -1.0), ("rate_hz", math.nan), ("rate_hz", math.inf),
        ("rate_hz", MAX_RATE_HZ + 1), ("size_bytes", LEAST_BYTES - 1), ("size_bytes", MAX_BYTES + 1), ("count", 0),
        ("count", MAX_COUNT + 1), ("wait_s", -0.1), ("wait_s", math.nan), ("wait_s", 61.0), ("poisson_seed", -1),
    ],
)  # fmt: skip
def test_what_is_out_of_bounds_is_refused_by_name(key: str, value: float) -> None:
    with pytest.raises(SpecError, match=key) as caught:
        ProbePlan(**{key: value})  # type: ignore[arg-type]
    assert caught.value.hint


def test_even_probes_are_due_on_a_grid_that_does_not_drift() -> None:
    plan = ProbePlan(rate_hz=3.0, count=300_001)
    offsets_ns = plan.offsets_ns()
    assert offsets_ns[0] == 0
    assert offsets_ns[-1] == 100_000 * 10**9
    assert set(np.unique(np.diff(offsets_ns))) == {333_333_333, 333_333_334}


def test_poisson_gaps_are_exponential_and_the_seeds() -> None:
    n = 20_000
    plan = ProbePlan(rate_hz=200.0, count=n, poisson_seed=5)
    assert plan.offsets_ns()[0] == 0
    gaps_s = np.diff(plan.offsets_ns()) / 1e9
    # The mean of n exponential gaps has sd mean / sqrt(n), their sd about mean * sqrt(2 / n); 5 of them each way.
    assert abs(gaps_s.mean() - 0.005) < 5 * 0.005 / math.sqrt(n)
    assert abs(gaps_s.std() - 0.005) < 5 * 0.005 * math.sqrt(2 / n)
    assert (gaps_s >= 0).all()
    assert (plan.offsets_ns() == ProbePlan(rate_hz=200.0, count=n, poisson_seed=5).offsets_ns()).all()
    assert (plan.offsets_ns() != ProbePlan(rate_hz=200.0, count=n, poisson_seed=6).offsets_ns()).any()


def test_a_duration_is_a_count() -> None:
    assert ProbePlan.lasting(60.0, 100.0).count == 6000
    assert ProbePlan.lasting(0.001, 10.0).count == 1
    for duration_s in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(SpecError, match="duration_s"):
            ProbePlan.lasting(duration_s)
    for duration_s in (1e9, 1e308):
        with pytest.raises(SpecError, match="at most 1,000,000 probes") as caught:
            ProbePlan.lasting(duration_s)
        assert caught.value.key == "duration_s"
    assert ProbePlan.lasting(MAX_COUNT / 100.0).count == MAX_COUNT


def test_a_bound_is_said_with_all_its_digits_and_a_hint_that_helps() -> None:
    with pytest.raises(SpecError, match=r"must be 1 \.\. 1,000,000\n") as few:
        ProbePlan(count=0)
    with pytest.raises(SpecError, match=r"must be 1 \.\. 1,000,000\n") as many:
        ProbePlan(count=MAX_COUNT + 1)
    assert "several runs" in many.value.hint
    assert "several runs" not in few.value.hint
    with pytest.raises(SpecError, match=r"must be 0\.1 \.\. 10,000\n"):
        ProbePlan(rate_hz=1e6)


def test_sizes() -> None:
    assert ProbePlan(size_bytes=200).packet_bytes == 228
    assert ProbePlan(rate_hz=50.0, count=100).duration_s == 2.0
