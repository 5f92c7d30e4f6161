"""Plays a VectorNetwork beside Gymnasium's SyncVectorEnv of as many single ones and demands the same of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from msgspec import structs

from netlab.control.policy import Predictor
from netlab.envs.cartpole import CartPole
from netlab.envs.doorkey import DoorKey
from netlab.envs.reacher import Reacher
from netlab.envs.vector.cartpole import CartPoleColumns
from netlab.envs.vector.doorkey import DoorKeyColumns
from netlab.envs.vector.network import VectorNetwork
from netlab.envs.vector.reacher import ReacherColumns
from netlab.envs.vector.remote_columns import VectorPredictor
from netlab.envs.virtual.asked_network import Network
from netlab.envs.virtual.options import NetworkOptions
from netlab.envs.virtual.virtual_network import VirtualNetwork


class Twins(NamedTuple):
    """A task once by itself and once as columns."""

    single: Callable[[], Any]
    columns: Callable[[int], Any]


def at_pace(twins: Twins, pace: str) -> Twins:
    """Return the same task at another pace."""

    def described(task: Any) -> Any:
        task.description = structs.replace(task.description, pace=pace)
        return task

    return Twins(lambda: described(twins.single()), lambda n: described(twins.columns(n)))


CARTPOLE = Twins(CartPole, CartPoleColumns)
DOORKEY = Twins(lambda: DoorKey(limit_ticks=15), lambda n: DoorKeyColumns(n, limit_ticks=15))
REACHER = Twins(Reacher, ReacherColumns)

SAME_INFOS = ("asked", "ticked", "tick", "age_ticks", "horizon_ticks", "privileged")


class Played(NamedTuple):
    """What came up while both were played."""

    steps: int
    ended: int
    asked: int
    idle: int
    """Steps in which a row had no question."""
    remote: int
    ages: set[int]
    horizons: set[int]


def play_both(
    twins: Twins,
    network: Network,
    options: NetworkOptions,
    *,
    n: int = 3,
    steps: int = 150,
    seed: int = 0,
    predictors: tuple[Predictor, VectorPredictor] | None = None,
) -> Played:
    """Play random actions and compare all that both tell, the beginnings of next episodes included."""
    one, many = predictors or (None, None)
    vector = VectorNetwork(twins.columns(n), network, options, predictor=many, is_privileged=True)
    singles = [lambda: VirtualNetwork(twins.single(), network, options, predictor=one)] * n
    sync = SyncVectorEnv(singles, autoreset_mode=AutoresetMode.SAME_STEP)
    assert vector.observation_space == sync.observation_space
    assert vector.action_space == sync.action_space
    ours, theirs = vector.reset(seed=seed), sync.reset(seed=seed)
    _same_rows("reset", ours[0], theirs[0])
    _same_infos("reset", ours[1], theirs[1], np.ones(n, bool))
    played = Played(steps, 0, 0, 0, 0, set(), set())
    sync.action_space.seed(seed)
    for step in range(steps):
        if step == 12:  # in the midst of episodes: each row goes on with its next one
            ours, theirs = vector.reset(), sync.reset()
            _same_rows("reset again", ours[0], theirs[0])
            _same_infos("reset again", ours[1], theirs[1], np.ones(n, bool))
        actions = sync.action_space.sample()
        us, them = vector.step(actions), sync.step(actions)
        where = f"step {step}"
        for name, mine, other in zip(("reward", "terminated", "truncated"), us[1:4], them[1:4], strict=True):
            assert mine.dtype == other.dtype, f"{where}: {name}"
            np.testing.assert_array_equal(mine, other, f"{where}: {name}")
        _same_rows(where, us[0], them[0])
        _same_infos(where, us[4], them[4], np.ones(n, bool))
        ended = us[2] | us[3]
        assert ("final_obs" in us[4]) == ended.any() == ("final_obs" in them[4])
        if ended.any():
            _same_ends(where, us[4], them[4], ended)
        played = _count(played, us[4], ended)
    return played


def _same_rows(where: str, ours: Any, theirs: Any) -> None:
    assert ours.dtype == theirs.dtype == np.float32 and ours.flags.owndata
    np.testing.assert_array_equal(ours, theirs, f"{where}: features")


def _same_infos(where: str, ours: dict[str, Any], theirs: dict[str, Any], rows: Any) -> None:
    for name in SAME_INFOS:
        np.testing.assert_array_equal(ours[name][rows], np.asarray(theirs[name])[rows], f"{where}: {name}")
        assert ours[f"_{name}"].all()
    is_remote = np.array([played == "remote" for played in theirs["played"]])
    np.testing.assert_array_equal(ours["played_remote"][rows], is_remote[rows], f"{where}: played")


def _same_ends(where: str, ours: dict[str, Any], theirs: dict[str, Any], ended: Any) -> None:
    np.testing.assert_array_equal(ours["_final_obs"], ended)
    np.testing.assert_array_equal(ours["_final_info"], ended)
    for row in np.flatnonzero(ended):
        np.testing.assert_array_equal(ours["final_obs"][row], theirs["final_obs"][row], f"{where}: last features")
        ticks = theirs["final_info"]["counters"]["edge"]["ticks"][row]
        assert ours["episode"]["l"][row] == ticks, f"{where}: length"
    _same_infos(f"{where}, at the end", ours["final_info"], theirs["final_info"], ended)


def _count(played: Played, infos: dict[str, Any], ended: Any) -> Played:
    return played._replace(
        ended=played.ended + int(ended.sum()),
        asked=played.asked + int(infos["asked"].sum()),
        idle=played.idle + int((~infos["asked"]).sum()),
        remote=played.remote + int((infos["played_remote"] & infos["ticked"]).sum()),
        ages=played.ages | set(infos["age_ticks"].tolist()),
        horizons=played.horizons | set(infos["horizon_ticks"].tolist()),
    )


def returns_of(vector: gymnasium.vector.VectorEnv[Any, Any, Any], seed: int, steps: int) -> list[Any]:
    """Return all that a run gives, for comparing two."""
    given = [vector.reset(seed=seed)[0]]
    vector.action_space.seed(seed)
    for _ in range(steps):
        given += list(vector.step(vector.action_space.sample())[:4])
    return given
