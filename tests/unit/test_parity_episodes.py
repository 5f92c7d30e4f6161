"""N episodes of one run: the wrapper and the model corner play the same ones, whoever decides."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from policy_files import mlp_file

from netlab.agents.policy_file import write_policy
from netlab.control.feature_spec import FeatureSpec
from netlab.envs.registry import make_task
from netlab.episode.corner import ModelCorner
from netlab.episode.run import read_ticks
from netlab.errors import LabError
from netlab.messages import ADAPTIVE_HORIZON
from netlab.modes.corner import CornerMode
from netlab.modes.local import LocalMode
from netlab.modes.plan import RunPlan
from netlab.modes.request import RunRequest
from netlab.tables import parity_cell
from netlab.tables.parity_cell import Parting
from netlab.tables.parity_difference import FirstDifference, by_episode, first_differences, of_log
from netlab.tables.parity_race import (
    CLOSE_US,
    SHIFT_TICKS,
    answers_ns,
    nearest_pair_us,
    nearest_tick_us,
    observations_ns,
)
from netlab.tables.parity_wrapper import EpisodeTick, play_in_wrapper
from netlab.traces.packets.packet_log import PacketRecord


def both(tmp_path: Path, **asked):
    plan = RunPlan.of(RunRequest(**asked), "link")
    CornerMode("model", ModelCorner()).play(plan, tmp_path / "ticks.jsonl", lambda text: None)
    return play_in_wrapper(plan), of_log(read_ticks(tmp_path / "ticks.jsonl"))


@pytest.mark.parametrize(
    ("policy", "network", "options"),
    [
        ("cartpole-baseline", "wifi-normal", {}),
        ("cartpole-paper", "wifi-degraded", {}),
        ("cartpole-scheduled", "wifi-degraded@oneway", {}),
        ("cartpole-predictor", "wifi-degraded@oneway", {}),
        ("linear", "wifi-jammed", {"fallback": "hold"}),
        ("linear", "delay=30ms,jitter=10ms,loss=3%", {"options": {"push_n": 3.0}}),
        ("doorkey-baseline", "wifi-degraded@oneway", {}),
        ("doorkey-baseline", "wifi-degraded@oneway", {"actuator": "stop-and-wait"}),
        ("doorkey-aware", "wifi-degraded", {"options": {"limit_ticks": 160}}),
        ("linear-predict", "wifi-normal", {"horizon_ticks": ADAPTIVE_HORIZON, "options": {"push_n": 3.0}}),
        ("cartpole-predictor", "wifi-degraded", {"actuator": "planned", "horizon_ticks": ADAPTIVE_HORIZON}),
    ],
)
def test_every_episode_begins_on_fresh_links_with_draws_of_its_own(tmp_path, policy, network, options) -> None:
    here, there = both(tmp_path, policy=policy, network=network, episodes=4, seed=11, **options)
    assert len(by_episode(here)) == 4
    assert first_differences(here, there) == []
    assert here == there
    first, *others = [[(one.source, one.age_ticks, one.action) for one in ticks] for ticks in by_episode(here)]
    assert all(first != other for other in others), "they are other episodes, not one four times"


@pytest.mark.parametrize("mode", [LocalMode(), CornerMode("model", ModelCorner())], ids=["local", "model"])
def test_an_adaptive_horizon_begins_anew_with_each_episode(tmp_path, mode) -> None:
    asked = {"network": "wifi-normal"} if mode.name == "model" else {}
    request = RunRequest(policy="linear-predict", horizon_ticks=ADAPTIVE_HORIZON, episodes=3, seed=5, **asked)
    mode.play(RunPlan.of(request, mode.between), tmp_path / "ticks.jsonl", lambda text: None)
    lines = [json.loads(line) for line in (tmp_path / "ticks.jsonl").read_text().splitlines()]
    for episode in range(3):
        told = [line["horizon_ticks"] for line in lines if line["episode"] == episode]
        reaches = [ticks for ticks in told if ticks != ADAPTIVE_HORIZON]
        assert reaches[0] == 10, "0.2 s at 50 Hz"
        assert reaches[-1] < 10, "which the link does not need"


@pytest.mark.parametrize("horizon_ticks", [4, ADAPTIVE_HORIZON])
def test_what_features_hold_of_the_network_is_of_the_episode_alone(tmp_path, horizon_ticks) -> None:
    features = FeatureSpec(stack=2, actions=3, age=True, acknowledgement=8, network=True)
    task = make_task("netlab/Reacher-v0")
    path = tmp_path / "sees-all.safetensors"
    write_policy(mlp_file(task.description, features, (8,), actuator="scheduled", horizon_ticks=7), path)
    task.close()
    asked = {"network": "wifi-degraded", "horizon_ticks": horizon_ticks, "options": {}}
    here, there = both(tmp_path, policy=str(path), episodes=3, seed=2, **asked)
    assert first_differences(here, there) == [] and len(by_episode(here)) == 3
    played = [sum(one.source == "remote" for one in ticks) for ticks in by_episode(here)]
    assert min(played) > 70, "more than a window of what is measured"


def test_another_run_seed_is_another_run(tmp_path) -> None:
    asked = {"policy": "doorkey-baseline", "network": "wifi-normal", "episodes": 2}
    first, second = (both(tmp_path, **asked, seed=seed)[1] for seed in (1, 2))
    assert first != second


def test_a_difference_is_found_where_it_begins(tmp_path) -> None:
    asked = {"policy": "cartpole-paper", "network": "wifi-degraded", "episodes": 2, "seed": 3}
    here, _ = both(tmp_path, **asked)
    _, there = both(tmp_path, **{**asked, "policy": "cartpole-paper-2"})
    found = first_differences(here, there)
    assert [one.episode for one in found] == [0, 1]
    for one in found:
        assert one.what == "action" and one.here is not None and one.there is not None
        assert one.here.action != one.there.action and one.here.tick == one.there.tick == one.tick
    shorter = [one for one in here if one.tick < 5]
    ended = first_differences(shorter, here)[0]
    assert (ended.what, ended.tick, ended.here) == ("end", 5, None)


def tick(number: int, episode: int = 0, action: int = 1) -> EpisodeTick:
    return EpisodeTick(episode, number, "remote", 2, action, 1.0)


def test_a_tick_that_one_side_left_out_is_no_tick_of_another_kind() -> None:
    whole, gap = [tick(0), tick(1, action=0), tick(2)], [tick(0), tick(2), tick(3)]
    (found,) = first_differences(whole, gap)
    assert (found.what, found.tick) == ("tick", 1)
    (turned,) = first_differences(gap, whole)
    assert (turned.what, turned.tick) == ("tick", 1)


def test_episodes_are_paired_by_their_number() -> None:
    whole = [tick(0, episode) for episode in range(3)]
    for part in (whole[1:], whole[:2], [whole[0], whole[2]]):
        with pytest.raises(LabError, match="is on one alone") as caught:
            first_differences(whole, part)
        assert caught.value.hint and "3 episodes on one side, 2 on the other" in str(caught.value)
    other = [whole[0], tick(0, 1, action=0), whole[2]]
    assert [one.episode for one in first_differences(whole, other)] == [1]


PERIOD_NS = 20_000_000


def test_a_race_is_found_as_many_ticks_before_as_it_takes_to_show() -> None:
    begin = 7 * PERIOD_NS
    raced = begin + 40 * PERIOD_NS - 700  # in time for tick 40 of the model, late for services
    arrived = sorted([raced, *(begin + n * PERIOD_NS + 9_000_000 for n in range(30, 60))])
    for parted in (39, 40, 41):
        assert nearest_tick_us(arrived, begin, PERIOD_NS, parted, 0) == pytest.approx(0.7)
    assert nearest_tick_us(arrived, begin, PERIOD_NS, 50, 0) == pytest.approx(9000.0)
    assert nearest_tick_us(arrived, begin, PERIOD_NS, 50, 10) == pytest.approx(0.7)
    assert nearest_tick_us(arrived, begin, PERIOD_NS, 55, 10) == pytest.approx(9000.0)
    assert nearest_tick_us(arrived, begin, PERIOD_NS, 0, 10) is None
    assert nearest_tick_us([], begin, PERIOD_NS, 3, 0) is None
    assert nearest_tick_us([begin - 300], begin, PERIOD_NS, 0, 5) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("policy", "network", "reach"),
    [("cartpole-scheduled", "wifi-degraded", 16), ("cartpole-paper", "wifi-degraded", 0), ("linear", "none", 0)],
)
def test_how_long_it_takes_to_show_follows_from_the_actuator(policy: str, network: str, reach: int) -> None:
    plan = RunPlan.of(RunRequest(policy=policy, network="" if network == "none" else network), "link")
    assert parity_cell._reach_ticks(plan) == (plan.horizon_ticks if reach else 0) == reach


def packet(direction: str, sent_ns: int, delivered_ns: int | None) -> PacketRecord:
    return PacketRecord(sent_ns, "edge-agent", direction, 147, "delivered", delivered_ns)


def test_only_answers_race_and_one_without_any_delay_does_not() -> None:
    records = [
        packet("forward", 0, 0),
        packet("back", 0, 0),  # at once, both ways: late for tick 0 wherever it is played
        packet("forward", 20, 25),
        packet("back", 25, 25),
        packet("back", 25, 22),
        packet("back", 30, None),
    ]
    assert answers_ns(records) == [22, 25]


def test_where_an_episode_parts_is_said_with_the_nearest_answer_of_that_episode() -> None:
    """Of the second episode: its own beginning counts, not that of the run."""
    plan = RunPlan.of(RunRequest(policy="cartpole-paper", network="wifi-degraded", episodes=2, seed=3), "link")
    wrapper = play_in_wrapper(plan)
    records = parity_cell.play_on_model(parity_cell.episode_plan(plan)).packets.records
    observed = [one.sent_ns for one in records if one.direction == "forward"]
    begin_ns = observed[len(by_episode(wrapper)[0])]
    offsets = {
        (at - begin_ns) // PERIOD_NS: (at - begin_ns) % PERIOD_NS for at in answers_ns(records) if at > begin_ns
    }
    number = next(n for n, offset in offsets.items() if n > 2 and offset < 5_000_000)
    found = [FirstDifference(1, number, "age", None, None)]
    (parting,) = parity_cell._partings(plan, found, wrapper)
    expected = min(min(o, PERIOD_NS - o) for n, o in offsets.items() if n in (number - 1, number))
    assert parting.nearest_us is not None and parting.nearest_us * 1e3 <= expected + 1
    came = sorted(one.delivered_ns for one in records if one.direction == "forward" and one.delivered_ns)
    first, end = (begin_ns + n * PERIOD_NS for n in (max(0, number - SHIFT_TICKS), number + 1))
    window = [at for at in came if first <= at < end]
    assert parting.pair_us == min(later - earlier for earlier, later in pairwise(window)) / 1e3
    assert parting.is_race == (min(parting.nearest_us, parting.pair_us) <= CLOSE_US)


@pytest.mark.parametrize(
    ("nearest_us", "pair_us", "with_tick", "race"),
    [
        (None, None, False, False),
        (CLOSE_US, None, True, True),
        (CLOSE_US + 0.1, CLOSE_US + 0.1, False, False),
        (None, CLOSE_US, False, True),
        (CLOSE_US, 90.0, True, True),
    ],
)
def test_a_race_is_with_a_tick_or_of_two_observations(nearest_us, pair_us, with_tick, race) -> None:
    parting = Parting(0, 0, "age", nearest_us, pair_us)
    assert (parting.is_race_with_tick, parting.is_race) == (with_tick, race)


def test_two_observations_together_are_found_as_long_as_their_answers_can_show() -> None:
    begin = 7 * PERIOD_NS
    arrived = [begin + n * PERIOD_NS + 9_000_000 for n in range(100)]
    arrived[40] = arrived[41] - 400  # overtaken, all but
    assert nearest_pair_us(arrived, begin, PERIOD_NS, 40, 0) == pytest.approx(20_000.0)
    for parted in (41, 50, 41 + SHIFT_TICKS - 1):
        assert nearest_pair_us(arrived, begin, PERIOD_NS, parted, 0) == pytest.approx(0.4)
    assert nearest_pair_us(arrived, begin, PERIOD_NS, 41 + SHIFT_TICKS + 1, 0) == pytest.approx(20_000.0)
    assert nearest_pair_us(arrived, begin, PERIOD_NS, 41 + SHIFT_TICKS + 1, 10) == pytest.approx(0.4)
    assert nearest_pair_us(arrived, begin, PERIOD_NS, 0, 10) is None and nearest_pair_us([], 0, 1.0, 9, 0) is None


def test_observations_that_were_lost_reach_nobody() -> None:
    records = [
        packet("forward", 0, 30),
        packet("back", 30, 40),
        packet("forward", 20, 25),
        packet("forward", 22, None),
    ]
    assert observations_ns(records) == [25, 30]
