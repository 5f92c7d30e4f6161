from __future__ import annotations

import numpy as np
import pytest

from netlab.envs.registry import TASKS, TaskEntry, find_task, make_task, make_vector_task
from netlab.errors import SpecError

DOORKEY = "MiniGrid-DoorKey-8x8-v0"


@pytest.mark.parametrize("name", TASKS)
def test_each_task_and_its_twin_have_their_own_rate_and_one_description(name):
    if name == DOORKEY:
        pytest.importorskip("minigrid")
    task, columns = make_task(name), make_vector_task(name, 3)
    assert task.description.name == name
    assert task.state.dtype == np.float32
    assert task.state.tobytes() == columns.state[0].tobytes() == bytes(4 * task.state.size)
    assert task.description.rate_hz == TASKS[name].rate_hz
    assert columns.description == task.description
    assert columns.n == len(columns.observations) == len(columns.state) == 3
    faster = make_task(name, 7.0).description
    assert faster.rate_hz == make_vector_task(name, 3, 7.0).description.rate_hz == 7.0
    task.close()


def test_options_reach_the_task_and_its_twin():
    pytest.importorskip("minigrid")
    task = make_task(DOORKEY, options={"limit_ticks": 2})
    columns = make_vector_task(DOORKEY, 1, options={"limit_ticks": 2}, aids={"easy_share": 1.0})
    on = np.ones(1, bool)
    task.reset(0), columns.reset(on, np.array([0]))
    for truncated in (False, True):
        columns.step(np.array([6]), ~on, on)
        assert task.step(None).truncated == columns.truncated[0] == truncated
    assert columns.state[0, 8] or columns.state[0, 13]
    pushed, still = make_task("CartPole-v1", options={"push_n": 3.0}), make_task("CartPole-v1")
    pushed.reset(0), still.reset(0)
    assert pushed.step(1).observation[1] != still.step(1).observation[1]


def test_a_whole_number_may_come_as_a_float():
    pytest.importorskip("minigrid")
    on = np.ones(1, bool)
    task = make_task(DOORKEY, options={"limit_ticks": 1.0})
    columns = make_vector_task(DOORKEY, 1, options={"limit_ticks": 1.0})
    task.reset(0), columns.reset(on, np.array([0]))
    columns.step(np.array([6]), ~on, on)
    assert task.step(None).truncated
    assert columns.truncated[0]
    for limit in (1.5, 1e300, float("nan"), float("inf")):
        with pytest.raises(SpecError, match="whole number"):
            make_task(DOORKEY, options={"limit_ticks": limit})


def test_options_nobody_knows_are_refused_with_the_nearest():
    with pytest.raises(SpecError, match="no option 'push'") as caught:
        make_task("CartPole-v1", options={"push": 3.0})
    assert caught.value.hint == "did you mean 'push_n'?"
    with pytest.raises(SpecError, match="no option 'rate_hz'") as caught:
        make_task("netlab/Reacher-v0", options={"rate_hz": 3.0})
    assert caught.value.hint == "it has no options"
    # An aid makes another game of it: no option, and never of a single task.
    for make in (make_task, lambda name, options: make_vector_task(name, 2, options=options)):
        with pytest.raises(SpecError, match="no option 'easy_share'"):
            make(DOORKEY, options={"easy_share": 0.3})
    with pytest.raises(SpecError, match="no aid 'limit_ticks'"):
        make_vector_task(DOORKEY, 2, aids={"limit_ticks": 9})


def test_rows_and_rates_are_bounded_before_anything_is_made():
    for n in (0, -1, 10**9):
        with pytest.raises(SpecError, match=r"must be a whole number, 1 \.\. 65536"):
            make_vector_task("CartPole-v1", n)
    with pytest.raises(SpecError, match=r"must be 0\.001 \.\."):
        make_vector_task("CartPole-v1", 2, float("nan"))
    with pytest.raises(SpecError, match="no task is called"):
        make_vector_task("CartPole-v2", 2)


def test_a_task_need_not_have_a_twin(monkeypatch):
    monkeypatch.setitem(TASKS, "single", TaskEntry(make=find_task("CartPole-v1").make, rate_hz=50.0))
    assert make_task("single").description.rate_hz == 50.0
    with pytest.raises(SpecError, match="no vectorised twin") as caught:
        make_vector_task("single", 2)
    assert "docs/adding-an-environment.md" in caught.value.hint
