from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vector_twins import play_both, singles

from netlab.envs.cartpole import CartPole
from netlab.envs.vector.cartpole import CartPoleColumns
from netlab.errors import LocalProtocolError, SpecError


def any_push(task, seen, rng):
    return int(rng.integers(2))


def balance(task, seen, rng):
    return int(5.3 * seen[1] + 2.6 * seen[0] + 50 * seen[2] + 15 * seen[3] > 0)


@given(st.integers(0, 10**6), st.integers(1, 9), st.sampled_from([0.0, 3.0]))
@settings(max_examples=12, deadline=None)
def test_each_row_is_the_single_task_to_the_last_bit(seed, n, push_n):
    columns = CartPoleColumns(n, push_n=push_n)
    played = play_both(columns, singles(lambda: CartPole(push_n=push_n), n), any_push, 300, seed)
    assert played.terminated or n < 3  # one row in a hundred stands for 60 ticks
    assert played.ticks > 150 * n


@pytest.mark.parametrize("push_n", [0.0, 2.0])
def test_balanced_poles_reach_the_limit_on_both(push_n):
    columns = CartPoleColumns(4, push_n=push_n)
    played = play_both(columns, singles(lambda: CartPole(push_n=push_n), 4), balance, 1150, 7)
    assert played.truncated >= 4
    assert played.neutral > 300
    assert played.idle > 300


def test_the_state_in_double_precision_is_gymnasium_s_too():
    """203 rows: what numpy's vector instructions do at once, and what it does to single numbers, are the same."""
    n = 203
    columns, tasks = CartPoleColumns(n), singles(CartPole, n)
    on = np.ones(n, bool)
    columns.reset(on, np.arange(n))
    for seed, task in enumerate(tasks):
        task.reset(seed)
        assert task._env.state.tobytes() == columns._motion[:, seed].tobytes()
    rng, alive = np.random.default_rng(1), on.copy()
    for _ in range(40):
        actions, neutral = rng.integers(0, 2, n), rng.random(n) < 0.4
        columns.step(actions, neutral, alive)
        for row in np.flatnonzero(alive).tolist():
            step = tasks[row].step(None if neutral[row] else int(actions[row]))
            assert tasks[row]._env.state.tobytes() == columns._motion[:, row].tobytes()
            assert step.terminated == columns.terminated[row]
        alive &= ~columns.terminated
    assert 0 < alive.sum() < n


def test_pushes_are_those_of_the_seed_and_have_the_deviation_asked_for():
    """4 rows x 500 draws: the deviation of 2,000 normal draws is within 8 % (5 sd of its estimate)."""
    columns, again = CartPoleColumns(4, push_n=3.0), CartPoleColumns(4, push_n=3.0)
    on = np.ones(4, bool)
    columns.reset(on, np.array([5, 6, 7, 8]))
    again.reset(on, np.array([5, 6, 9, 8]))
    pushes_n = columns._pushes_n
    assert abs(pushes_n.std() / 3.0 - 1.0) < 0.08
    assert (pushes_n == again._pushes_n).all(axis=1).tolist() == [True, True, False, True]
    still = CartPoleColumns(4)
    still.reset(on, np.array([5, 6, 7, 8]))
    for one in (columns, still):
        one.step(np.zeros(4, int), on, on)
    assert (columns.observations[:, 1] != still.observations[:, 1]).all()


@pytest.mark.parametrize("push_n", [-1.0, float("nan"), float("inf"), 1000.1, 1e308, 10**400])
def test_what_is_no_deviation(push_n):
    for make in (lambda: CartPole(push_n=push_n), lambda: CartPoleColumns(2, push_n=push_n)):
        with pytest.raises(SpecError, match="push_n"):
            make()


def test_negative_seeds_are_refused_in_the_rows_of_the_mask_alone():
    columns = CartPoleColumns(2)
    columns.reset(np.array([True, False]), np.array([3, -1]))
    with pytest.raises(LocalProtocolError, match="must be at least 0"):
        columns.reset(np.array([True, True]), np.array([3, -1]))
