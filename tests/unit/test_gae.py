"""Advantages against their definition, summed decision by decision in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.agents.gae import estimate_advantages


def advantage_by_definition(columns: dict, last: np.ndarray, lambda_: float, t: int, n: int) -> float:
    """Sum (gamma lambda)^k delta of the decisions from (t, n) on; unasked steps belong to the one before."""
    total, weight, at = 0.0, 1.0, t
    while True:
        earned, gamma, step, ended = 0.0, 1.0, at, False
        while True:
            earned += gamma * columns["rewards"][step, n]
            gamma *= columns["discounts"][step, n]
            if columns["done"][step, n]:
                worth, ended = columns["final_values"][step, n], True
                break
            step += 1
            if step == len(columns["rewards"]):
                worth, ended = last[n], True
                break
            if columns["asked"][step, n]:
                worth = columns["values"][step, n]
                break
        total += weight * (earned + gamma * worth - columns["values"][at, n])
        if ended:
            return total
        weight *= gamma * lambda_
        at = step


@given(
    seed=st.integers(0, 2**32 - 1),
    lambda_=st.floats(0.0, 1.0),
    asked=st.floats(0.2, 1.0),
    length=st.integers(1, 25),
)
def test_equals_the_definition(seed: int, lambda_: float, asked: float, length: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (length, 3)
    done = rng.random(shape) < 0.15
    columns = {
        "rewards": rng.normal(size=shape).astype(np.float32),
        "values": rng.normal(size=shape).astype(np.float32),
        "asked": rng.random(shape) < asked,
        "done": done,
        # Of two ends one is a termination, which is worth nothing; where nothing ended it must not matter.
        "final_values": np.where(done & (rng.random(shape) < 0.5), 0.0, rng.normal(size=shape)).astype(np.float32),
        "discounts": np.where(rng.random(shape) < 0.8, 0.97, 1.0).astype(np.float32),
    }
    last = rng.normal(size=3).astype(np.float32)
    rest = {name: column for name, column in columns.items() if name not in ("rewards", "values")}
    found = estimate_advantages(columns["rewards"], columns["values"], last, **rest, lambda_=lambda_)
    for t, n in np.argwhere(columns["asked"]):
        wanted = advantage_by_definition(columns, last, lambda_, t, n)
        assert found[t, n] == pytest.approx(wanted, rel=1e-4, abs=1e-4)
    assert found.dtype == np.float32


def test_lambda_one_is_the_discounted_return_less_the_value() -> None:
    column = np.ones((4, 1), dtype=np.float32)
    no = np.zeros((4, 1), dtype=bool)
    found = estimate_advantages(
        column,
        2.0 * column,
        np.array([8.0], dtype=np.float32),
        asked=~no,
        done=no,
        final_values=column,
        discounts=0.5 * column,
        lambda_=1.0,
    )
    assert found[:, 0].tolist() == [0.375, 0.75, 1.5, 3.0]  # 1 + 1/2 + 1/4 + 1/8 + 8/16 - 2 = 0.375


def test_a_step_without_a_question_takes_nothing_from_the_critic() -> None:
    ones, no = np.ones((3, 1), dtype=np.float32), np.zeros((3, 1), dtype=bool)
    asked = np.array([[True], [False], [True]])
    values = np.array([[1.0], [np.nan], [4.0]], dtype=np.float32)
    found = estimate_advantages(
        ones,
        values,
        np.zeros(1, dtype=np.float32),
        asked=asked,
        done=no,
        final_values=0.0 * ones,
        discounts=0.5 * ones,
        lambda_=0.0,
    )
    assert found[0, 0] == 1.0 + 0.5 * (1.0 + 0.5 * 4.0) - 1.0
