"""What environments are made of in Python: numbers of rows, rates, options; refused before anything is made."""

from __future__ import annotations

import tracemalloc

import gymnasium
import numpy as np
import pytest

from netlab.control.feature_spec import FeatureSpec
from netlab.envs.bound import number_within
from netlab.envs.cartpole import CartPole
from netlab.envs.reacher import Reacher
from netlab.envs.registry import TASKS, TaskEntry, make_task, make_vector_task
from netlab.envs.vector.cartpole import CartPoleColumns
from netlab.envs.vector.doorkey import DoorKeyColumns
from netlab.envs.vector.network import VectorNetwork
from netlab.envs.vector.pcg64 import first_doubles
from netlab.envs.vector.reacher import ReacherColumns
from netlab.envs.vector.vector_task import MAX_ROWS
from netlab.envs.virtual.gymnasium_task import GymnasiumTask
from netlab.envs.virtual.options import NetworkOptions
from netlab.envs.virtual.virtual_network import VirtualNetwork
from netlab.errors import SpecError

COLUMNS = [CartPoleColumns, ReacherColumns, DoorKeyColumns]
NO_COUNTS = [10**9, MAX_ROWS + 1, 10**30, 0, -1, 1.5, 4.0, True, np.bool_(True), "4", None, [4], float("nan")]
NO_RATES = [5e-324, 0.0, -1.0, 1e6, float("nan"), float("inf"), 10**400, True, "50", None]
TINY = 1 << 20


@pytest.mark.parametrize("make", [*COLUMNS, *(lambda n, name=name: make_vector_task(name, n) for name in TASKS)])
@pytest.mark.parametrize("n", NO_COUNTS, ids=repr)
def test_what_is_no_number_of_rows_takes_no_memory(make, n):
    tracemalloc.start()
    try:
        with pytest.raises(SpecError, match=rf"^n: .*: must be a whole number, 1 \.\. {MAX_ROWS}\b") as refused:
            make(n)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert repr(n)[:80] in str(refused.value) and refused.value.hint
    assert peak_bytes < TINY


def test_columns_of_others_are_told_a_number_of_rows(monkeypatch):
    told = []
    entry = TaskEntry(make=CartPole, rate_hz=50.0, columns=lambda n, rate_hz: told.append(n))
    monkeypatch.setitem(TASKS, "others/Task-v0", entry)
    for n in NO_COUNTS:
        with pytest.raises(SpecError, match=r"^n: "):
            make_vector_task("others/Task-v0", n)
    make_vector_task("others/Task-v0", np.int64(3))
    assert told == [3] and type(told[0]) is int


@pytest.mark.parametrize("make", COLUMNS)
def test_numbers_of_numpy_are_numbers(make):
    columns = make(np.int64(3), np.float32(20))
    assert type(columns.n) is int and columns.rewards.shape == (3,)
    assert type(columns.description.rate_hz) is float


def test_as_many_rows_as_there_may_be_and_more_states_drawn_ahead():
    columns = CartPoleColumns(MAX_ROWS)
    seeds = np.arange(2 * MAX_ROWS)
    columns.prepare(seeds)
    every = np.ones(MAX_ROWS, bool)
    columns.reset(every, seeds[MAX_ROWS:])
    expected = (-0.05 + 0.1 * first_doubles(seeds[MAX_ROWS:], 4)).astype(np.float32)
    np.testing.assert_array_equal(columns.observations, expected)


@pytest.mark.parametrize("rate_hz", NO_RATES, ids=lambda rate_hz: repr(rate_hz)[:10])
def test_what_is_no_rate(rate_hz):
    makers = [
        CartPole,
        Reacher,
        *(lambda rate_hz, make=make: make(2, rate_hz) for make in COLUMNS),
        lambda rate_hz: GymnasiumTask(gymnasium.make("CartPole-v1"), rate_hz, 0),
    ]
    if rate_hz is not None:  # which is the task's own, there
        makers += [lambda rate_hz: make_task("CartPole-v1", rate_hz)]
        makers += [lambda rate_hz: make_vector_task("CartPole-v1", 2, rate_hz)]
    for make in makers:
        with pytest.raises(SpecError, match=r"^rate_hz: .*: must be 0.001 \.\. 100000\b") as refused:
            make(rate_hz)
        assert "ticks a second" in refused.value.hint


def test_a_task_that_describes_itself_with_no_rate():
    task, columns = CartPole(), CartPoleColumns(2)
    for described in (task, columns):
        described.description = described.description.__class__(
            name="mine", rate_hz=5e-324, observation=task.description.observation, action=task.description.action
        )
    for make in (lambda: VirtualNetwork(task), lambda: VectorNetwork(columns)):
        with pytest.raises(SpecError, match="rate_hz: 5e-324"):
            make()


@pytest.mark.parametrize("value", ["x", None, True, float("nan"), -0.5])
def test_numbers_that_change_a_task(value):
    for key, make in (
        ("push_n", lambda: CartPole(push_n=value)),
        ("push_n", lambda: make_vector_task("CartPole-v1", 2, options={"push_n": value})),
        ("key_reward", lambda: DoorKeyColumns(2, key_reward=value)),
        ("easy_share", lambda: DoorKeyColumns(2, easy_share=value)),
        ("limit_ticks", lambda: DoorKeyColumns(2, limit_ticks=value)),
    ):
        with pytest.raises(SpecError, match=f"^{key}: ") as refused:
            make()
        assert repr(value) in str(refused.value)


def test_a_number_keeps_its_kind():
    assert number_within("x", 3, 0, 9) == 3 and type(number_within("x", 3, 0, 9)) is int
    assert type(number_within("x", np.float32(0.5), 0, 9)) is float


def test_options_take_the_numbers_of_numpy():
    given = NetworkOptions(
        rate_hz=np.float64(50),
        actuator="scheduled",
        horizon=np.int64(3),
        fallback="hold",
        hold_limit_ticks=np.uint8(4),
        link=np.str_("a"),
    )
    plain = NetworkOptions(
        rate_hz=50.0, actuator="scheduled", horizon=3, fallback="hold", hold_limit_ticks=4, link="a"
    )
    assert given == plain and given.horizon_ticks == 3
    assert [type(value) for value in (given.rate_hz, given.horizon, given.hold_limit_ticks)] == [float, int, int]
    for env in (VirtualNetwork(CartPole(), "wifi-normal", given), VectorNetwork(CartPoleColumns(2), None, given)):
        env.reset(seed=1)
        assert type(env.description.rate_hz) is float


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"rate_hz": 5e-324}, "rate_hz"),
        ({"rate_hz": float("nan")}, "rate_hz"),
        ({"rate_hz": "50"}, "rate_hz"),
        ({"rate_hz": 1j}, "rate_hz"),
        ({"rate_hz": np.array([50.0])}, "rate_hz"),
        ({"rate_hz": True}, "rate_hz"),
        ({"actuator": "scheduled", "horizon": np.bool_(True)}, "horizon"),
        ({"actuator": "scheduled", "horizon": 3.0}, "horizon"),
        ({"actuator": "scheduled", "horizon": 0}, "horizon"),
        ({"fallback": "hold", "hold_limit_ticks": np.float64(3)}, "hold_limit_ticks"),
        ({"link": 5}, "link"),
        ({"actuator": ["newest"]}, "actuator"),
        ({"features": {"stack": 3}}, "features"),
        ({"features": None}, "features"),
    ],
    ids=repr,
)
def test_options_that_are_none_name_their_field(wrong, named):
    for make in (
        lambda: VirtualNetwork(CartPole(), None, NetworkOptions(**wrong)),
        lambda: VectorNetwork(CartPoleColumns(2), None, NetworkOptions(**wrong)),
    ):
        with pytest.raises(SpecError, match=named) as refused:
            make()
        assert refused.value.hint


def test_what_is_no_options_or_no_task():
    for make in (lambda options: VirtualNetwork(CartPole(), None, options),
                 lambda options: VectorNetwork(CartPoleColumns(2), None, options)):  # fmt: skip
        for options in (None, {}, FeatureSpec()):
            with pytest.raises(SpecError, match=r"^options: .*: must be NetworkOptions"):
                make(options)
    for task in (None, CartPole(), CartPoleColumns, 5):
        with pytest.raises(SpecError, match="is no task of many rows") as refused:
            VectorNetwork(task)
        assert "make_vector_task" in refused.value.hint
    with pytest.raises(SpecError, match=r"^env: NoneType: must be a Gymnasium environment"):
        GymnasiumTask(None, 50.0)
