"""Scores: the episodes that are played in rows are those that the policy plays alone."""

from __future__ import annotations

import hashlib

import msgspec
import numpy as np
import pytest
from policy_files import CARTPOLE, cartpole_transitions, linear_file, mlp_file, with_card
from scored_policies import DOORKEY, lstm

from netlab.agents.cartpole_physics import CartPolePhysics
from netlab.agents.fit_model import fit_model
from netlab.agents.network_policy import NetworkPolicy
from netlab.agents.policy_file import PolicyFile, write_policy
from netlab.agents.ppo_config import GridLayout
from netlab.control.feature_spec import FeatureSpec
from netlab.control.policy import Persistence
from netlab.envs.registry import make_task
from netlab.envs.virtual.options import NetworkOptions
from netlab.envs.virtual.virtual_network import VirtualNetwork
from netlab.errors import NetlabError, ProfileError, SpecError
from netlab.network_words import as_network, find_network
from netlab.scoring.course import Course
from netlab.scoring.entrant import find_entrant
from netlab.scoring.row_policy import RowPolicy
from netlab.scoring.score import PlayedEpisodes
from netlab.scoring.scorer import Overrides, score

RICH = FeatureSpec(stack=3, actions=4, age=True)


def alone(file: PolicyFile, course: Course, seeds, predictor) -> PlayedEpisodes:
    """What NetworkPolicy does through the single VirtualNetwork, an environment and a policy an episode."""
    played = PlayedEpisodes()
    for seed in seeds:
        task = make_task(course.task, options=course.options)
        env = VirtualNetwork(task, course.network, course.control, predictor=predictor)
        policy = NetworkPolicy(file.card, file.weights, env.description, run_seed=seed)
        env.reset(seed=seed)
        total, over, info, terminated = 0.0, False, {}, False
        while not over:
            question = env.question
            action = 0 if question is None else policy.decide(question)
            _, reward, terminated, truncated, info = env.step(action)
            total, over = total + reward, terminated or truncated
        env.close()
        played += PlayedEpisodes((total,), (info["tick"] + 1,), (terminated,))
    return played


def both(file, network, control, seeds, *, task="CartPole-v1", options=None, predictor=None):
    course = Course(
        task=task,
        rate_hz=None,
        options=options or {},
        network=as_network(find_network(network), 5),
        control=msgspec.structs.replace(control, features=file.card.features),
    )
    ended: list[int] = []
    rows = course.play_rows(file, seeds, ended.append)
    assert ended == sorted(ended) and ended[-1] == len(seeds)
    singly = course.play_singly(
        lambda seed: find_entrant(file).make(make_task(task, options=options).description, seed),
        seeds,
        lambda n: None,
    )
    expected = alone(file, course, seeds, predictor or Persistence())
    assert rows == singly == expected
    return rows


@pytest.mark.parametrize("network", ["none", "wifi-degraded", "delay=30ms,loss=30%"])
def test_an_mlp_with_stack_actions_and_age(network):
    """n = 12 episodes a network, of a random network's policy: all of them equal, and they differ."""
    played = both(mlp_file(CARTPOLE, RICH, (16,), seed=3), network, NetworkOptions(), range(40, 52))
    assert len(set(played.returns)) > 3


def test_a_learned_model_on_a_schedule_and_on_the_newest():
    model = fit_model(cartpole_transitions(2000, 1))
    file = linear_file(model)
    options = {"push_n": 6}
    for control in (NetworkOptions(actuator="scheduled", horizon=12), NetworkOptions()):
        played = both(file, "wifi-degraded@oneway", control, range(6), options=options, predictor=model)
        assert len(set(played.returns)) > 2


def test_an_adaptive_horizon_and_physics():
    file = with_card(linear_file(), predictor="cartpole-physics")
    control = NetworkOptions(actuator="scheduled", horizon="adaptive")
    played = both(
        file, "wifi-degraded@oneway", control, range(8), options={"push_n": 6}, predictor=CartPolePhysics()
    )
    assert len(set(played.returns)) > 2


def test_a_greedy_lstm_remembers_in_its_own_row_alone():
    file = lstm(CARTPOLE, FeatureSpec(actions=2, age=True), seed=7, scale=3.0)
    played = both(file, "wifi-degraded", NetworkOptions(), range(10))
    assert len(set(played.returns)) > 3


def test_a_drawn_episode_is_the_same_alone_and_among_others():
    """Whatever the seed: each run has draws of its own, and the three ways of playing have the same ones."""
    file = lstm(CARTPOLE, FeatureSpec(), choose="sampled", sampling_seed=3)
    both(file, "wifi-degraded", NetworkOptions(), [0, 1, 2, 77, 2**63, 2**64 - 1])
    many = score(file, "wifi-degraded", episodes=6, seed=10)
    assert len(set(many.returns)) > 1
    assert score(file, "wifi-degraded", episodes=2, seed=13).returns == many.returns[3:5]
    other = with_card(file, sampling_seed=4)
    assert score(other, "wifi-degraded", episodes=6, seed=10).returns != many.returns


def test_each_row_draws_from_the_seed_of_its_run():
    """Of 64 draws of two actions two rows agree in all by chance once in 2^64 times."""
    file = mlp_file(CARTPOLE, FeatureSpec(), (), choose="sampled", sampling_seed=5)
    file.weights["actor.0.weight"][:] = file.weights["actor.0.bias"][:] = 0.0

    def played(*seeds: int) -> list[tuple[int, ...]]:
        policy, asked = RowPolicy(file, seeds), np.ones(len(seeds), bool)
        rows = np.zeros((len(seeds), 4), np.float32)
        drawn = np.array([policy.decide(rows, asked).copy() for _ in range(64)])
        return [tuple(column) for column in drawn.T.tolist()]

    first, second, again = played(1, 2, 1)
    assert first == again == played(1)[0]
    assert second == played(2)[0] != first


def test_a_task_by_turns_tells_success():
    pytest.importorskip("minigrid")
    description = make_task(DOORKEY).description
    file = lstm(description, FeatureSpec(actions=2), GridLayout())
    for actuator in ("newest", "stop-and-wait"):
        control = NetworkOptions(actuator=actuator)
        both(file, "wifi-degraded@oneway", control, range(3), task=DOORKEY, options={"limit_ticks": 40})
    told = score(file, episodes=3, options={"limit_ticks": 40})
    assert told.successes == tuple(value > 0.0 for value in told.returns)
    assert told.success_ratio == sum(told.successes) / 3


def test_more_episodes_than_rows_are_those_of_their_seeds(monkeypatch, tmp_path):
    """On drawn networks too: which one an episode has follows from its seed."""
    drawn = tmp_path / "drawn.toml"
    choices = "".join(f'[[choice]]\nnetwork = "{name}"\n' for name in ("wifi-degraded", "delay=200ms"))
    drawn.write_text(f'clean_ratio = "30%"\n{choices}')
    file = mlp_file(CARTPOLE, RICH, (16,), seed=3)
    whole = score(file, str(drawn), episodes=10, seed=7)
    assert whole.figures.kind == "drawn" and len(set(whole.returns)) > 2
    monkeypatch.setattr("netlab.scoring.course.MAX_ROWS", 4)
    parts = score(file, str(drawn), episodes=10, seed=7)
    assert parts.returns == whole.returns
    assert parts.seeds == tuple(range(7, 17))


def test_a_score_says_what_was_played():
    file = with_card(linear_file(), actuator="scheduled", horizon_ticks=9, predictor="cartpole-physics")
    told = score(file, "wifi-degraded@oneway", episodes=4, seed=2, options={"push_n": 4})
    assert (told.policy, told.task, told.clock) == ("linear-file", "CartPole-v1", "model")
    assert (told.control.actuator, told.control.horizon, told.control.fallback) == ("scheduled", 9, "neutral")
    assert told.card == file.card and told.task_options == {"push_n": 4}
    assert told.mean == np.mean(told.returns) and told.minimum == min(told.returns)
    assert told.standard_error == pytest.approx(np.std(told.returns, ddof=1) / 2)
    assert told.returns == tuple(map(float, told.ticks))  # CartPole pays 1 a tick
    assert told.successes is None and told.success_ratio is None
    figures = told.figures
    assert figures.asked_round_trip_ms == pytest.approx((160.0, 40.0 * 2**0.5))
    # Delays are clipped at zero, so a little more is delivered: 160 ms and a half of a percent.
    assert 160.0 < figures.delivered_round_trip_ms[0] < 162.0
    assert figures.loss_ratio == (0.1, 0.1)
    assert msgspec.json.decode(msgspec.json.encode(told))["machine"]["clock"] == "model"


def test_a_card_says_how_it_is_played_unless_something_else_is_asked():
    file = with_card(linear_file(), actuator="scheduled", predictor="cartpole-physics")
    entrant, numbered = find_entrant(file), find_entrant(with_card(file, horizon_ticks=9))
    one, many = find_network("wifi-degraded"), find_network("random")
    assert many is not None and many.fixed is None
    asked = Overrides()
    assert [numbered.actuator, *(asked.apply(numbered, net, CARTPOLE).horizon for net in (None, one, many))] == [
        "scheduled", 9, 9, 9,
    ]  # fmt: skip
    assert [asked.apply(entrant, net, CARTPOLE).horizon for net in (None, one, many)] == [1, 10, "adaptive"]
    adaptive = find_entrant(with_card(file, horizon_ticks="adaptive"))
    assert [asked.apply(adaptive, net, CARTPOLE).horizon for net in (None, one, many)] == ["adaptive"] * 3
    assert Overrides(horizon=4).apply(adaptive, one, CARTPOLE).horizon == 4
    assert Overrides(horizon=4).apply(numbered, one, CARTPOLE).horizon == 4
    assert Overrides(horizon="adaptive").apply(numbered, one, CARTPOLE).horizon == "adaptive"
    newest = Overrides(actuator="newest", fallback="hold").apply(numbered, one, CARTPOLE)
    assert (newest.actuator, newest.horizon, newest.fallback) == ("newest", None, "hold")
    plain = find_entrant(mlp_file(CARTPOLE, RICH, (4,)))
    assert plain.features == RICH and Overrides().apply(plain, one, CARTPOLE).features == RICH
    assert Overrides(actuator="scheduled").apply(plain, many, CARTPOLE).horizon == "adaptive"
    with pytest.raises(SpecError, match="has no horizon"):
        Overrides(horizon=3).apply(plain, one, CARTPOLE)


def test_policies_without_a_file_are_scored_one_by_one():
    assert score("linear", episodes=2).returns == (500.0, 500.0)
    predicting = score("linear-predict", "ethernet-clean", episodes=2)
    assert (predicting.control.actuator, predicting.control.horizon) == ("scheduled", 1)
    assert predicting.card is None and predicting.returns == (500.0, 500.0)
    assert predicting.policy_sha256 == ""


def test_after_the_last_seed_comes_the_first():
    told = score(linear_file(), "wifi-degraded", seed=2**64 - 2, episodes=4, overrides=Overrides(horizon=2))
    assert told.seeds == (2**64 - 2, 2**64 - 1, 0, 1)
    assert (
        told.returns[2:]
        == score(linear_file(), "wifi-degraded", episodes=2, overrides=Overrides(horizon=2)).returns
    )


def test_the_gap_is_a_share_of_a_score_above_nothing():
    best, worst = (score("linear", network, episodes=1) for network in ("none", "delay=300ms"))
    assert worst.gap(best) == 1.0 - worst.mean / 500.0
    assert best.gap(msgspec.structs.replace(best, mean=-1.0)) is None


def test_what_cannot_be_scored_is_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    write_policy(linear_file(), path)
    told = score(path, episodes=1)
    assert told.policy == "linear-file"
    assert told.policy_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(SpecError, match="no policy is called"):
        score("best")
    with pytest.raises(SpecError, match="cannot be read"):
        score(tmp_path / "none.safetensors")
    with pytest.raises(ProfileError, match="unknown network"):
        score(path, "wifi-degrade")
    with pytest.raises(SpecError, match="no option 'push'"):
        score(path, options={"push": 1})
    for bad in ({"episodes": 0}, {"seed": -1}, {"seed": 2**64}):
        with pytest.raises(SpecError):
            score(path, **bad)
    wider = msgspec.structs.replace(CARTPOLE.observation, shape=(5,), low=(), high=())
    other = mlp_file(msgspec.structs.replace(CARTPOLE, observation=wider), FeatureSpec(), (4,))
    with pytest.raises(SpecError, match="its observations are"):
        score(other)
    with pytest.raises(NetlabError, match="no task is called"):
        score(mlp_file(msgspec.structs.replace(CARTPOLE, name="Pendulum-v1"), FeatureSpec(), (4,)))


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        *(({"episodes": value}, "episodes") for value in (True, 1.5, 2.0, "3", None, 100_001)),
        *(({"seed": value}, "seed") for value in (True, 1.5, "3", None, [1])),
        *(({"network": value}, "network") for value in (None, 5)),
        *(({"overrides": value}, "overrides") for value in (None, {"horizon": 3})),
        *(({"options": value}, "options") for value in (None, 5)),
        *(({"options": {"push_n": value}}, "push_n") for value in ("x", True)),
        *(
            ({"overrides": Overrides(horizon=value)}, "overrides: .*horizon")
            for value in (0, -1, 257, True, 3.0, "9")
        ),
        ({"overrides": Overrides(actuator="new")}, "overrides: .*actuator"),
        ({"overrides": Overrides(fallback=5)}, "overrides: .*fallback"),
    ],
    ids=repr,
)
def test_what_no_score_can_be_asked_for_is_named(asked, named):
    with pytest.raises(SpecError, match=f"^{named}") as refused:
        score("linear-predict", **{"episodes": 1, **asked})
    assert refused.value.hint or named in ("episodes", "seed")
    for policy in (None, 5):
        with pytest.raises(SpecError, match=r"^policy: ") as refused:
            score(policy)
        assert "netlab agent policies" in refused.value.hint


def test_numbers_of_numpy_are_taken_and_written_down_as_numbers():
    overrides = Overrides(actuator="scheduled", horizon=np.int64(3))
    told = score("linear-predict", episodes=np.int64(2), seed=np.uint64(2**64 - 1), overrides=overrides)
    assert told.seeds == (2**64 - 1, 0) and told.control.horizon == 3
    assert msgspec.json.decode(msgspec.json.encode(told))["control"]["horizon"] == 3
