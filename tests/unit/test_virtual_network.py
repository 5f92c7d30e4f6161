"""A task behind a virtual network, as a Gymnasium environment: Gymnasium's rules, the step rule, seeds, errors."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from virtual_network_play import RICH, Remembering, Watched, play_episode

from netlab.envs.cartpole import CartPole
from netlab.envs.task import Task
from netlab.envs.virtual.gymnasium_task import GymnasiumTask
from netlab.envs.virtual.options import NetworkOptions
from netlab.envs.virtual.seeds import episode_seed
from netlab.envs.virtual.virtual_network import VirtualNetwork
from netlab.errors import LocalProtocolError
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step

NEWEST = NetworkOptions()
ALL_LOST = LinkProfile(loss=1.0)


def pendulum(pace: str = "real-time") -> Task:
    return GymnasiumTask(gymnasium.make("Pendulum-v1", max_episode_steps=40), rate_hz=20.0, pace=pace)


def turn_cartpole() -> Task:
    return GymnasiumTask(gymnasium.make("CartPole-v1"), rate_hz=50.0, neutral=0, pace="turn-based")


def play(
    network: Any, options: NetworkOptions = NEWEST, seed: int = 1, task: Task | None = None
) -> tuple[list[Any], list[dict[str, Any]], Remembering]:
    watched, policy = Watched(task or CartPole()), Remembering()
    ticks, infos = play_episode(VirtualNetwork(watched, network, options), watched, policy, seed)
    return ticks, infos, policy


# Gymnasium's rules


@pytest.mark.parametrize(
    "make",
    [
        lambda: VirtualNetwork(CartPole()),
        lambda: VirtualNetwork(CartPole(), "wifi-degraded", NetworkOptions(features=RICH, fallback="hold")),
        lambda: VirtualNetwork(CartPole(), "wifi-normal", NetworkOptions(actuator="scheduled", horizon=4)),
        lambda: VirtualNetwork(CartPole(), "measured", NetworkOptions(rate_hz=20.0)),
        lambda: VirtualNetwork(CartPole(), lambda seed: parse_preset("wifi-normal") if seed % 2 else None),
        lambda: VirtualNetwork(turn_cartpole(), "wifi-degraded", NetworkOptions(actuator="stop-and-wait")),
        lambda: VirtualNetwork(pendulum(), "wifi-degraded@oneway", NetworkOptions(features=RICH)),
    ],
)
def test_gymnasium_finds_nothing_wrong(make: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # That a box has no bounds is so, and an environment that is not registered has no spec to render by.
        warnings.filterwarnings("ignore", message=".*Box observation space m.* value is.*infinity.*")
        warnings.filterwarnings("ignore", message=".*not able to test alternative render modes.*")
        warnings.filterwarnings("ignore", message=".*recommend using a symmetric and normalized space.*")
        check_env(make())


# No network: plain Gymnasium


def assert_lock_step(env: VirtualNetwork, plain: gymnasium.Env[Any, Any], seed: int, episodes: int) -> None:
    """Both are played by the same actions and do the same, step by step."""
    env.action_space.seed(seed)
    for episode in range(episodes):
        seen, info = env.reset(seed=seed if episode == 0 else None)
        expected, _ = plain.reset(seed=episode_seed(seed, episode))
        assert not info["ticked"]
        steps, over = 0, False
        while not over:
            assert info["asked"]
            np.testing.assert_array_equal(seen, np.asarray(expected, np.float32).ravel())
            action = env.action_space.sample()
            seen, reward, terminated, truncated, info = env.step(action)
            expected, *outcome, _ = plain.step(action)
            assert [reward, terminated, truncated] == outcome
            assert (info["ticked"], info["tick"], info["played"]) == (True, steps, "remote")
            assert info["age_ticks"] == 0
            np.testing.assert_array_equal(info["privileged"][: expected.size], np.float32(expected).ravel())
            over = terminated or truncated
            steps += 1
        assert info["counters"]["edge"]["played_remote"] == steps


def test_without_a_network_it_is_gymnasium_step_by_step() -> None:
    assert_lock_step(VirtualNetwork(CartPole()), gymnasium.make("CartPole-v1"), 3, 20)
    assert_lock_step(VirtualNetwork(pendulum()), gymnasium.make("Pendulum-v1", max_episode_steps=40), 3, 3)
    car = GymnasiumTask(gymnasium.make("MountainCar-v0", max_episode_steps=50), rate_hz=30.0, neutral=1)
    assert_lock_step(VirtualNetwork(car), gymnasium.make("MountainCar-v0", max_episode_steps=50), 3, 3)


@pytest.mark.parametrize("actuator", ["newest", "stop-and-wait"])
def test_by_turns_a_round_trip_below_a_tick_is_lock_step(actuator: Any) -> None:
    options = NetworkOptions(actuator=actuator)
    for network in ("ethernet-clean", "delay=10ms,ordered=false", "delay=4ms,jitter=1ms,ordered=false"):
        assert_lock_step(VirtualNetwork(turn_cartpole(), network, options), gymnasium.make("CartPole-v1"), 5, 10)


def test_by_turns_a_round_trip_just_above_a_tick_is_not() -> None:
    ticks, infos, _ = play("delay=10.001ms", task=turn_cartpole())
    assert [one.source for one in ticks[:3]] == ["neutral", "remote", "remote"]
    assert [one.age_ticks for one in ticks[1:]] == [1] * (len(ticks) - 1)
    assert not infos[1]["ticked"] or infos[1]["tick"] == 0


# Actuators and fallbacks


def test_the_newest_is_played_a_tick_late_on_any_link() -> None:
    ticks, infos, _ = play("ethernet-clean")
    assert [one.source for one in ticks] == ["neutral"] + ["remote"] * (len(ticks) - 1)
    assert {one.age_ticks for one in ticks[1:]} == {1}
    assert all(info["asked"] and info["ticked"] for info in infos[:-1])


def test_a_scheduled_decision_is_played_at_its_tick() -> None:
    ticks, _, policy = play("delay=5ms", NetworkOptions(actuator="scheduled", horizon=3))
    assert [one.source for one in ticks] == ["neutral"] * 3 + ["remote"] * (len(ticks) - 3)
    assert [one.action for one in ticks[3:]] == policy.said[: len(ticks) - 3]
    assert {one.age_ticks for one in ticks[3:]} == {1}  # a later frame repeats it
    assert [question.target_tick for question in policy.asked] == list(range(3, 3 + len(policy.asked)))


def test_an_adaptive_horizon_follows_the_link() -> None:
    fast, slow = LinkProfile(delay_s=0.003), LinkProfile(delay_s=0.048)
    worse = Schedule((Step(0.0, fast), Step(20.0, slow)), duration_s=1000.0)
    options = NetworkOptions(actuator="scheduled", horizon="adaptive")
    task = GymnasiumTask(gymnasium.make("MountainCar-v0", max_episode_steps=1100), rate_hz=50.0, neutral=1)
    watched, policy = Watched(task), Remembering()
    _, infos = play_episode(VirtualNetwork(watched, worse, options), watched, policy, 1)
    horizon = {info["tick"]: info["horizon_ticks"] for info in infos}
    assert horizon[3] == 10  # 0.2 s until something is known
    assert horizon[990] in (1, 2) and horizon[1090] in (5, 6, 7)  # ages of 1 tick, then of 5, and a margin
    targets = [question.target_tick for question in policy.asked]
    assert targets[:990] == list(range(10, 1000))
    assert targets == sorted(set(targets))  # some are skipped as all that was decided runs out
    late = [info["tick"] for info in infos if info["ticked"] and info["played"] != "remote"]
    assert late[:10] == list(range(10)) and all(1000 <= tick <= 1060 for tick in late[10:])


def test_where_all_is_lost_fallbacks_play() -> None:
    for network in (
        ProfilePair("deaf", ALL_LOST, LinkProfile()),
        ProfilePair("mute", LinkProfile(), ALL_LOST),
        ALL_LOST,
    ):
        for fallback in ("neutral", "hold"):
            ticks, infos, policy = play(network, NetworkOptions(fallback=fallback))
            assert {one.source for one in ticks} == {"neutral"}
            is_deaf = isinstance(network, LinkProfile) or network.name == "deaf"
            assert (len(policy.asked) == 0) == is_deaf
            assert infos[-1]["counters"]["edge"]["missed_neutral"] == len(ticks)


def test_unasked_rows_are_zeros_until_the_first_question() -> None:
    env = VirtualNetwork(CartPole(), ALL_LOST, NetworkOptions(features=RICH))
    row, info = env.reset(seed=1)
    assert not row.any() and not info["asked"] and info["ticked"]
    row, *_, info = env.step(0)
    assert not row.any() and not info["asked"] and info["ticked"]


def outage(start_s: float, end_s: float) -> Schedule:
    good, bad = LinkProfile(delay_s=0.002), LinkProfile(delay_s=0.002, loss=1.0)
    return Schedule((Step(0.0, good), Step(start_s, bad), Step(end_s, good)), duration_s=1000.0)


def test_hold_holds_in_an_outage_and_gives_up() -> None:
    options = NetworkOptions(fallback="hold", hold_limit_ticks=3)
    task = GymnasiumTask(gymnasium.make("MountainCar-v0", max_episode_steps=60), rate_hz=50.0, neutral=1)
    watched = Watched(task)
    ticks, _ = play_episode(VirtualNetwork(watched, outage(0.19, 0.39), options), watched, Remembering(), 1)
    # Tick 9 (180 ms) is the last that was answered before the outage, and plays at tick 10.
    sources = [one.source for one in ticks[:23]]
    assert sources == ["neutral"] + ["remote"] * 10 + ["hold"] * 3 + ["neutral"] * 7 + ["remote"] * 2
    assert [one.action for one in ticks[11:14]] == [ticks[10].action] * 3


@pytest.mark.parametrize("pace", ["real-time", "turn-based"])
def test_stop_and_wait_plays_each_decision_once_and_in_order(pace: str) -> None:
    link = LinkProfile(delay_s=0.06, jitter_s=0.04, loss=0.3, ordered=False)
    for seed in range(5):
        env = gymnasium.make("MountainCar-v0", max_episode_steps=150)
        ticks, _, policy = play(
            link,
            NetworkOptions(actuator="stop-and-wait"),
            seed,
            GymnasiumTask(env, rate_hz=20.0, neutral=1, pace=pace),
        )
        played = [one.action for one in ticks if one.source == "remote"]
        assert 20 < len(played) < 150
        assert policy.said[: len(played)] == played
        assert len(policy.said) - len(played) in (0, 1)  # the last may be under way


# The step rule


def test_several_questions_in_one_gap_cost_no_time() -> None:
    ticks, infos, policy = play("wifi-degraded@oneway", seed=2)
    further = [after for _, after in itertools.pairwise(infos) if not after["ticked"]]
    assert further and all(info["asked"] for info in further)
    assert len(ticks) == sum(info["ticked"] for info in infos)
    assert len(policy.asked) == sum(info["asked"] for info in infos)


def test_a_lost_observation_is_made_up_for_within_one_moment() -> None:
    _, infos, policy = play("delay=5ms,loss=40%", NetworkOptions(actuator="scheduled", horizon=4), seed=3)
    targets = [question.target_tick for question in policy.asked]
    assert targets == list(range(4, 4 + len(targets)))
    counters = infos[-1]["counters"]["remote"]
    assert counters["decided_by_prediction"] > 0
    together = [
        (first, then)
        for first, then in itertools.pairwise(policy.asked)
        if then.observation.tick == first.observation.tick
    ]
    assert together and all(then.pending[-1] is not None for _, then in together)


def test_an_action_that_nobody_asked_for_changes_nothing() -> None:
    def rows(unasked: int) -> list[tuple[bytes, float]]:
        env, rng = (
            VirtualNetwork(CartPole(), "wifi-degraded@oneway", NetworkOptions(features=RICH)),
            iter(np.random.default_rng(5).integers(2, size=10_000)),
        )
        found = []
        for seed in range(5):
            row, info = env.reset(seed=seed)
            over = False
            while not over:
                action = next(rng) if info["asked"] else unasked
                row, reward, terminated, truncated, info = env.step(action)
                found.append((row.tobytes(), reward))
                over = terminated or truncated
        return found

    assert rows(0) == rows(1)


def test_no_reward_is_lost_and_none_counted_twice() -> None:
    env = VirtualNetwork(CartPole(), "wifi-normal")
    for seed in range(5):
        env.reset(seed=seed)
        rewards, over = 0.0, False
        while not over:
            _, reward, terminated, truncated, info = env.step(0)
            assert reward <= 2.0  # the first has tick 0's as well, which the reset made
            rewards += reward
            over = terminated or truncated
        assert rewards == info["counters"]["edge"]["ticks"] == info["tick"] + 1


def test_an_episode_that_ends_in_its_first_tick_is_over_at_the_first_step() -> None:
    task = GymnasiumTask(gymnasium.make("CartPole-v1", max_episode_steps=1), rate_hz=50.0, neutral=0)
    env = VirtualNetwork(task, "ethernet-clean")
    _, info = env.reset(seed=1)
    assert (info["asked"], info["ticked"], info["tick"]) == (False, True, 0)
    _, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated, info["ticked"]) == (1.0, False, True, False)
    assert info["counters"]["edge"]["ticks"] == 1


def test_a_step_outside_an_episode_is_refused() -> None:
    env = VirtualNetwork(CartPole())
    with pytest.raises(LocalProtocolError, match="outside an episode"):
        env.step(0)
    env.reset(seed=1)
    over = False
    while not over:
        *_, terminated, truncated, _ = env.step(0)
        over = terminated or truncated
    with pytest.raises(LocalProtocolError, match="outside an episode"):
        env.step(0)


@pytest.mark.parametrize("action", [2, -1, 0.5, "left", None, np.array([0, 1])])
def test_what_is_no_action_is_refused(action: Any) -> None:
    env = VirtualNetwork(CartPole(), "ethernet-clean")
    env.reset(seed=1)
    with pytest.raises(LocalProtocolError, match="not a value of the discrete space"):
        env.step(action)


def test_the_learners_own_array_may_change_after_the_step() -> None:
    env = VirtualNetwork(pendulum(), "ethernet-clean", NetworkOptions(actuator="scheduled", horizon=2))
    env.reset(seed=1)
    action = np.array([1.5], np.float32)
    env.step(action)
    action[0] = -1.5
    assert env.question is not None
    assert env.question.pending[-1] == 1.5
