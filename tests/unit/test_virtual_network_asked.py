"""A virtual network's seeds, what may be asked for as a network, and what is refused."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from msgspec import structs
from virtual_network_play import RICH, Remembering, Watched, play_episode

from netlab.envs.cartpole import CartPole
from netlab.envs.virtual.gymnasium_task import GymnasiumTask
from netlab.envs.virtual.network import VirtualLink, VirtualWay
from netlab.envs.virtual.options import NetworkOptions
from netlab.envs.virtual.privileged import Privileged
from netlab.envs.virtual.seeds import change_seed, network_seed
from netlab.envs.virtual.track import LinkTrack
from netlab.envs.virtual.virtual_network import VirtualNetwork
from netlab.errors import ProfileError, SpecError
from netlab.messages import Action, Observation
from netlab.traces.loss import GilbertElliott
from netlab.traces.network_distribution import LinkRanges, NetworkDistribution, Range
from netlab.traces.network_pool import NetworkPool
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step
from netlab.traces.seed import link_seed
from netlab.traces.slot import Slot

# Seeds


def trajectory(env: VirtualNetwork, episodes: int, seed: int | None) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    rng = np.random.default_rng(0)
    for episode in range(episodes):
        row, info = env.reset(seed=seed if episode == 0 else None)
        found.append((row.tobytes(), info["asked"], info["tick"]))
        over = False
        while not over:
            row, reward, terminated, truncated, info = env.step(rng.integers(2))
            found.append((row.tobytes(), reward, info["asked"], info["tick"], info["privileged"].tobytes()))
            over = terminated or truncated
    return found


def test_one_seed_is_one_trajectory_and_episodes_differ() -> None:
    options = NetworkOptions(features=RICH)
    env = VirtualNetwork(CartPole(), "wifi-degraded", options)
    first = trajectory(env, 3, 7)
    assert trajectory(env, 3, 7) == first  # again, in the same object
    assert trajectory(VirtualNetwork(CartPole(), "wifi-degraded", options), 3, 7) == first
    assert trajectory(env, 3, 8) != first
    renamed = structs.replace(options, link="other")
    assert trajectory(VirtualNetwork(CartPole(), "wifi-degraded", renamed), 3, 7) != first


def test_a_reset_without_a_seed_goes_on_with_the_run() -> None:
    env = VirtualNetwork(CartPole(), "wifi-degraded")
    seeds = [env.reset(seed=seed)[1] for seed in (4, None, None, 9, None)]
    assert [(one["run_seed"], one["episode"]) for one in seeds] == [(4, 0), (4, 1), (4, 2), (9, 0), (9, 1)]
    drawn = {VirtualNetwork(CartPole()).reset()[1]["run_seed"] for _ in range(3)}
    assert len(drawn) == 3  # from the system: two equal ones in three are 1 in 10^9


def test_links_of_one_run_share_no_seed() -> None:
    seeds = {
        change_seed(1, "a", direction, episode, step)
        for direction in ("forward", "back")
        for episode in range(50)
        for step in range(50)
    }
    assert len(seeds) == 5000
    assert change_seed(1, "a", "back", 0, 3) == link_seed(1, "a", "back", 4)  # a lab's link
    assert network_seed(1, 2) != network_seed(2, 1) != network_seed(1, 1)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(SpecError, match="seed"):
        VirtualNetwork(CartPole()).reset(seed=seed)


# Networks


def test_networks_are_drawn_for_each_episode_from_its_seed() -> None:
    class Drawing:
        def __init__(self) -> None:
            self.seeds: list[int] = []

        def draw(self, seed: int) -> ProfilePair | None:
            self.seeds.append(seed)
            return None if len(self.seeds) == 2 else parse_preset("ethernet-clean")

    drawing = Drawing()
    env = VirtualNetwork(CartPole(), drawing)
    ticked = [env.reset(seed=6 if episode == 0 else None)[1]["ticked"] for episode in range(3)]
    assert ticked == [True, True, True]  # one that is clean is a network as well: the first tick waits for nobody
    assert drawing.seeds == [network_seed(6, episode) for episode in range(3)]


def test_messages_come_in_order_of_arrival_and_then_of_sending() -> None:
    def way(delay_s: float) -> VirtualWay:
        return VirtualWay(LinkTrack(LinkProfile(delay_s=delay_s, ordered=False)), int)

    link = VirtualLink(forward=way(0.004), back=way(0.001))
    seen = [Observation(1, 0, tick, b"", b"", 0, 0, -1, 0.0) for tick in range(2)]
    answers = [Action(1, 0, tick, tick + 1, 1, b"") for tick in range(2)]
    link.send(0, seen[0])
    link.send(1_000_000, seen[1])
    link.send(3_000_000, answers[0])  # is there when the first is, sent after it
    link.send(3_500_000, answers[1])
    assert link.take(3_999_999) is None
    taken = [link.take(5_000_000) for _ in range(5)]
    expected = [(4_000_000, seen[0]), (4_000_000, answers[0]), (4_500_000, answers[1]), (5_000_000, seen[1]), None]
    assert taken == expected


def test_what_is_under_way_is_bounded_by_the_delay() -> None:
    task = GymnasiumTask(gymnasium.make("MountainCar-v0", max_episode_steps=3000), rate_hz=50.0, neutral=1)
    env = VirtualNetwork(task, "delay=100ms,jitter=20ms,loss=10%,duplicate=10%", NetworkOptions(features=RICH))
    tracemalloc.start()
    try:
        env.reset(seed=1)
        for _ in range(1400):  # a link's backlog keeps 1024 moments before it looks for those that have passed
            env.step(1)
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1500):
            env.step(1)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 50_000  # a message that stayed would be 200 bytes and more, each step


def test_a_pool_gives_an_episode_the_network_of_its_number() -> None:
    ranges = LinkRanges(delay_s=Range(0.01, 0.1), jitter_s=Range(0.0, 0.02), loss_ratio=Range(0.0, 0.1))
    pool = NetworkPool(NetworkDistribution(name="any", forward=ranges, clean_ratio=0.3), run_seed=5, size=4)
    env = VirtualNetwork(CartPole(), pool)
    for episode in range(12):
        _, info = env.reset(seed=2 if episode == 0 else None)
        pair = pool.pair(pool.number_of(network_seed(2, episode)))
        expected = 0.0 if pair is None else pair.forward.delay_mean_s / 0.02
        assert info["privileged"][4] == np.float32(expected)


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(ProfileError, match="int is no network"):
        VirtualNetwork(CartPole(), 5)  # type: ignore[arg-type]
    with pytest.raises(ProfileError, match="unknown preset"):
        VirtualNetwork(CartPole(), "wifi-degradet")
    with pytest.raises(ProfileError, match="a str was drawn"):
        VirtualNetwork(CartPole(), lambda seed: "wifi-normal").reset(seed=1)  # type: ignore[arg-type,return-value]
    with pytest.raises(ProfileError, match="the model has no slots"):
        VirtualNetwork(CartPole(), LinkProfile(slot=Slot(delay_s=0.01)))
    with pytest.raises(ProfileError, match="LinkProfile or a Schedule"):
        LinkTrack(None)  # type: ignore[arg-type]


def test_a_step_of_a_schedule_holds_from_its_very_moment_and_over_passes() -> None:
    slow, fast = LinkProfile(delay_s=0.009, ordered=False), LinkProfile(delay_s=0.001, ordered=False)
    track = LinkTrack(Schedule((Step(0.0, slow), Step(0.05, fast)), duration_s=0.1, loop=True))
    asked: list[int] = []

    def seed_of(step: int) -> int:
        asked.append(step)
        return step

    way = VirtualWay(track, seed_of)
    moments_ms = (0, 49.999999, 50, 99, 100, 10_049, 10_050)
    delays = [(way.send(round(at * 1e6), None) or 0) - round(at * 1e6) for at in moments_ms]  # type: ignore[arg-type]
    assert delays == [9_000_000, 9_000_000, 1_000_000, 1_000_000, 9_000_000, 9_000_000, 1_000_000]
    assert asked == [0, 1, 2, 200, 201]  # those that were overtaken met no packet


def test_privileged_knows_the_state_and_what_the_link_does_now() -> None:
    burst = GilbertElliott.from_mean(0.2, 5.0)
    back = Schedule(
        (Step(0.0, LinkProfile(delay_s=0.1)), Step(1.0, LinkProfile(loss=burst))),
        duration_s=1000.0,
        packet_rate_hz=1000.0,
    )
    forward = LinkProfile(delay_s=0.04, jitter_s=0.01, loss=0.1, ordered=False)
    link = VirtualLink(VirtualWay(LinkTrack(forward), int), VirtualWay(LinkTrack(back), int))
    knows = Privileged(link, 0.02)
    early, late = knows.of(np.array([1.0, 2.0]), 0), knows.of(np.array([3.0, 4.0]), 1_000_000_000)
    assert early.dtype == np.float32
    np.testing.assert_allclose(early, [1, 2, 2, 0.5, 0.1, 0, 5, 0, 0, 0], atol=2e-3)
    np.testing.assert_allclose(late, [3, 4, 2, 0.5, 0.1, 0, 0, 0, 0.2, 0.8], atol=2e-3)


def test_privileged_of_a_task_that_hides_its_state() -> None:
    class Hiding(Watched):
        state = np.array([5.0, 6.0], np.float32)

    _, info = VirtualNetwork(Hiding(CartPole())).reset(seed=1)
    np.testing.assert_array_equal(info["privileged"], [5.0, 6.0] + [0.0] * 8)


# Options, tasks


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"transport": "pigeon"}, ("pigeon",)),
        ({"actuator": "scheduled"}, ("horizon", "needs a horizon")),
        ({"horizon": 3}, ("horizon", "newest actuator has no horizon")),
        ({"actuator": "stop-and-wait", "horizon": 3}, ("horizon", "stop-and-wait")),
        ({"actuator": "stop-and-wait", "fallback": "hold"}, ("fallback", "plays each decision once")),
        ({"actuator": "scheduled", "horizon": 0}, ("horizon",)),
        ({"actuator": "scheduled", "horizon": 257}, ("horizon",)),
        ({"actuator": "scheduled", "horizon": "clever"}, ("horizon",)),
        ({"horizon": "adaptive"}, ("newest actuator has no horizon",)),
        ({"hold_limit_ticks": 3}, ("hold_limit_ticks", "neutral fallback holds nothing")),
        ({"fallback": "hold", "hold_limit_ticks": 0}, ("hold_limit_ticks",)),
        ({"rate_hz": 0.0}, ("rate_hz",)),
        ({"rate_hz": float("nan")}, ("rate_hz",)),
        ({"rate_hz": float("inf")}, ("rate_hz",)),
        ({"link": ""}, ("link",)),
    ],
)
def test_options_that_make_no_sense_are_refused_by_their_name(
    options: dict[str, Any], words: tuple[str, ...]
) -> None:
    with pytest.raises(SpecError) as caught:
        VirtualNetwork(CartPole(), None, NetworkOptions(**options))
    assert all(word in str(caught.value) for word in words)


def test_what_is_no_task_is_refused() -> None:
    with pytest.raises(SpecError, match="is no task") as caught:
        VirtualNetwork(gymnasium.make("CartPole-v1"))  # type: ignore[arg-type]
    assert "GymnasiumTask" in caught.value.hint


def test_an_environment_without_a_known_neutral_action_is_refused() -> None:
    with pytest.raises(SpecError, match="neutral: 2 discrete actions"):
        GymnasiumTask(gymnasium.make("CartPole-v1"), rate_hz=50.0)
    with pytest.raises(SpecError, match=r"neutral: .* not a value of the discrete space"):
        GymnasiumTask(gymnasium.make("CartPole-v1"), rate_hz=50.0, neutral=2)
    aside = gymnasium.wrappers.RescaleAction(gymnasium.make("Pendulum-v1"), np.float32(1.0), np.float32(2.0))
    with pytest.raises(SpecError, match="neutral: a box without zeros"):
        GymnasiumTask(aside, rate_hz=20.0)
    for rate_hz in (0.0, float("nan"), 1e6):
        with pytest.raises(SpecError, match="rate_hz"):
            GymnasiumTask(aside, rate_hz)
    with pytest.raises(SpecError, match="pace: 'turnbased': must be one of real-time, turn-based"):
        GymnasiumTask(aside, 20.0, neutral=np.array([1.5], np.float32), pace="turnbased")  # type: ignore[arg-type]
    task = GymnasiumTask(aside, rate_hz=20.0, neutral=np.array([1.5], np.float32))
    task.reset(1)
    assert not task.step(None).terminated


def test_a_task_takes_the_rate_that_is_asked_for() -> None:
    env = VirtualNetwork(CartPole(), "delay=30ms", NetworkOptions(rate_hz=10.0))
    assert env.description.rate_hz == 10.0
    watched = Watched(CartPole())
    ticks, _ = play_episode(
        VirtualNetwork(watched, "delay=30ms", NetworkOptions(rate_hz=10.0)), watched, Remembering(), 1
    )
    assert {one.age_ticks for one in ticks[1:]} == {1}  # 60 ms are within a tick of 100 ms


def test_the_example_of_the_docs_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "virtual-network.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(block, "docs/virtual-network.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"# prints (.*)", block)
