from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from vector_twins import play_both, singles

from netlab.envs.reacher import Reacher
from netlab.envs.vector.reacher import ReacherColumns


def any_torque(task, seen, rng):
    return rng.uniform(-1.0, 1.0, 2).astype(np.float32)


@given(st.integers(0, 10**6), st.integers(1, 9))
@settings(max_examples=8, deadline=None)
def test_each_row_is_the_single_task_to_the_last_bit(seed, n):
    played = play_both(ReacherColumns(n), singles(Reacher, n), any_torque, 40, seed)
    assert played.ticks > 20 * n


def test_episodes_end_at_the_limit_on_both():
    played = play_both(ReacherColumns(17), singles(Reacher, 17), any_torque, 180, 3)
    assert played.truncated >= 10
    assert played.terminated == 0
    assert played.neutral > 200
    assert played.idle > 200
