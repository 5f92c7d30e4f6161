"""What the figures of policies and of speed play, word for word, and the least that they ask for.

Who plays is replaced here, and what he is told is written down; each figure's own code asks and judges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from calf_results import result

from netlab.bench import policy_scores as scores_module
from netlab.bench import rough, train_speed, train_time, vector_speed
from netlab.bench.catalogue import measure
from netlab.bench.figure import Figure
from netlab.bench.policy_scores import Scores
from netlab.control.feature_spec import FeatureSpec
from netlab.envs.virtual.options import NetworkOptions
from netlab.scoring.score import Score
from netlab.scoring.scorer import Overrides, score
from netlab.tables.calf_cell import CalfCell
from netlab.tables.cell_runner import Done
from netlab.traces.loss import GilbertElliott
from netlab.traces.presets import parse_preset
from netlab.training.recipe import find_recipe

RTT, ONE_WAY, CLEAN = "wifi-degraded@rtt", "wifi-degraded@oneway", "none"
ALL = (CLEAN, "ethernet-clean@rtt", "ethernet-clean@oneway", "wifi-normal@rtt", "wifi-normal@oneway", RTT, ONE_WAY)
Key = tuple[str, int]
"""A network and a limit of ticks, 0 for none."""


class Scorer:
    """Stands in for ``score``: writes down what it is asked for, and has every training seed score as it is told.

    Args:
        means: What the five training seeds of a policy score: by network and limit.
    """

    def __init__(self, means: Callable[[Key], Sequence[float]]) -> None:
        self._means = means
        self.asked: list[tuple[str, str, int, int, Overrides, dict[str, int]]] = []
        self._pole = score("linear", episodes=1)

    def __call__(
        self,
        name: str,
        network: str,
        *,
        episodes: int,
        seed: int,
        overrides: Overrides,
        options: Mapping[str, int],
    ) -> Score:
        self.asked.append((name, network, episodes, seed, overrides, dict(options)))
        mean = self._means((network, options.get("limit_ticks", 0)))[int(name.rpartition("-")[2]) - 1]
        if name.startswith("doorkey"):
            successes = tuple(number < mean for number in range(episodes))
            return msgspec.structs.replace(self._pole, returns=(0.5,) * episodes, successes=successes)
        return msgspec.structs.replace(self._pole, returns=(mean,) * episodes)


def seeds_of(kind: str, *played: tuple[str, dict[str, int]], overrides: Overrides = Overrides()) -> list[Any]:  # noqa: B008
    """Return what is asked for where all five training seeds of a kind are played, each 100 episodes."""
    return [
        (f"{kind}-{seed}", network, 100, 1_000_000, overrides, options)
        for network, options in played
        for seed in (1, 2, 3, 4, 5)
    ]


def figure_of(monkeypatch: pytest.MonkeyPatch, name: str, means: Callable[[Key], Sequence[float]]) -> Any:
    scorer = Scorer(means)
    monkeypatch.setattr(scores_module, "score", scorer)
    return measure(name, lambda text: None), scorer.asked


L640, L160 = {"limit_ticks": 640}, {"limit_ticks": 160}


@pytest.mark.parametrize(
    ("name", "kind", "targets"),
    [
        ("cartpole-best", "cartpole-predictor", {(RTT, 0): 500.0, (ONE_WAY, 0): 495.0}),
        ("cartpole-modelfree", "cartpole-scheduled", {(RTT, 0): 495.0, (ONE_WAY, 0): 480.0, (CLEAN, 0): 495.0}),
        ("doorkey-learned", "doorkey-aware", {(RTT, 640): 99.0, (ONE_WAY, 160): 95.0, (CLEAN, 640): 99.0}),
    ],
)
def test_medians_of_five_training_seeds_are_held_against_these_targets(
    monkeypatch: pytest.MonkeyPatch, name: str, kind: str, targets: dict[Key, float]
) -> None:
    most = 100.0 if kind.startswith("doorkey") else 500.0

    def just(key: Key) -> Sequence[float]:  # below in the mean
        return (most, 0.0, targets[key], 1.0, most)

    figure, asked = figure_of(monkeypatch, name, just)
    played = [(network, {"limit_ticks": limit} if limit else {}) for network, limit in targets]
    assert asked == seeds_of(kind, *played)
    assert figure.holds and figure.value == next(iter(targets.values())) and figure.n == 5 * 100
    assert figure.target.startswith("at least ") and "medians over training seeds" in figure.target
    for (network, limit), target in targets.items():
        on = network + (f", limit {limit}" if limit else "")
        assert f"{target:g} on {on}" in figure.target
        short = (network, limit)

        def below(key: Key, short: Key = short) -> Sequence[float]:  # the best of them are not enough
            less = targets[key] - (key == short)
            return (most, less, 0.0, most, less) if key == short else (targets[key],) * 5

        assert not figure_of(monkeypatch, name, below)[0].holds


def test_the_protocol_is_asked_for_all_that_it_does_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    for short, holds in ((None, True), ((ONE_WAY, 160), True), ((RTT, 640), False), ((ONE_WAY, 640), False)):
        figure, asked = figure_of(
            monkeypatch,
            "doorkey-protocol",
            lambda key, short=short: (100.0, 98.0 - (key == short), 99.0, 99.0, 7.0),
        )
        assert asked == seeds_of(
            "doorkey-baseline",
            (RTT, L640), (ONE_WAY, L640), (CLEAN, L640), (RTT, L160), (ONE_WAY, L160), (CLEAN, L160),
            overrides=Overrides(actuator="stop-and-wait"),
        )  # fmt: skip
        assert figure.holds is holds and (figure.value >= 100.0) is holds
        assert figure.target == "at least 100 %" and "limit 640" in figure.unit
        reported = ", ".join(f"99 on {network}, limit 160" for network in (RTT, ONE_WAY, CLEAN))
        assert f"; limit 160, reported: {reported}; " in figure.note


def test_the_papers_method_is_reported_beside_the_baseline_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    figure, asked = figure_of(monkeypatch, "paper-method", lambda key: (500.0, 1.0, 300.0, 400.0, 2.0))
    neutral, hold = (Overrides(actuator="newest", fallback=fallback) for fallback in ("neutral", "hold"))
    played = [(network, {}) for network in (CLEAN, RTT, ONE_WAY)]
    assert sorted(asked, key=repr) == sorted(
        [
            *seeds_of("cartpole-paper", *((network, {}) for network in ALL)),
            *seeds_of("cartpole-baseline", *played, overrides=neutral),
            *seeds_of("cartpole-baseline", *played, overrides=hold),
        ],
        key=repr,
    )
    assert figure.holds and figure.value == 300.0 and figure.target == "none: reported as it is"


def rough_figure(monkeypatch: pytest.MonkeyPatch, ours: float) -> tuple[Figure, list[CalfCell]]:
    """Return the figure where the oracle comes to 400 on average, and the cells that are played for it."""
    asked: list[CalfCell] = []

    def computed(cells: Sequence[CalfCell], workers: int) -> Any:
        asked.extend(cells)
        for cell in cells:
            is_planned = cell.overrides.actuator == "planned"
            mean = 400.0 if cell.policy == "linear-predict" else ours if is_planned else 3.0
            returns = [mean - 100.0, mean + 100.0] * (cell.episodes // 2)
            yield cell, Done(msgspec.json.encode(result(tuple(returns))))

    monkeypatch.setattr(rough, "computed", computed)
    return rough.cartpole_rough(lambda text: None), asked


def test_rough_is_a_thousand_episodes_of_pushes_and_bursts_for_policy_and_oracle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    figure, asked = rough_figure(monkeypatch, 380.4)
    planned, as_shipped = Overrides(actuator="planned", horizon=7), Overrides()
    players = [("linear-predict", planned)]
    players += [(f"cartpole-predictor-{seed}", planned) for seed in (1, 2, 3, 4, 5)]
    players += [("cartpole-predictor-1", as_shipped)]
    assert [(one.policy, one.overrides, one.first_seed, one.episodes) for one in asked] == [
        (name, overrides, 1_000_000 + 100 * part, 100) for name, overrides in players for part in range(10)
    ]
    for one in asked:
        assert (one.task, one.options) == ("CartPole-v1", {"push_n": 3.0})
        pair, degraded = parse_preset(one.network), parse_preset("wifi-degraded@rtt")
        for link, usual in ((pair.forward, degraded.forward), (pair.back, degraded.back)):
            assert link.delay_s == usual.delay_s and not link.ordered
            assert link.jitter_s == pytest.approx(usual.jitter_s, rel=1e-3)
            assert isinstance(link.loss, GilbertElliott)
            p, r = link.loss.p, link.loss.r
            assert (link.loss.loss_in_bad, link.loss.loss_in_good) == (1.0, 0.0)
            assert p / (p + r) == pytest.approx(0.15) and 1.0 / r == pytest.approx(5.0)
    assert figure.holds and figure.value == pytest.approx(0.951) and figure.target == "at least 0.95"
    assert figure.n == 1000 and "linear-predict" in figure.note
    assert not rough_figure(monkeypatch, 379.6)[0].holds


def test_vector_speed_steps_256_of_each_behind_the_same_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours and the single ones are told the same; how long the steps of each take is the clock's to say."""
    made: dict[str, list[Any]] = {"ours": [], "single": [], "rows": [], "bare": []}

    def vector_network(task: Any, *told: Any) -> Any:
        assert task.description.name == "CartPole-v1"
        made["ours"].append((task.n, told))
        return SimpleNamespace(num_envs=task.n)

    def single_network(task: Any, *told: Any) -> Any:
        assert task.description.name == "CartPole-v1"
        made["single"].append(told)
        return SimpleNamespace()

    def rows(makers: Sequence[Callable[[], Any]], **told: Any) -> Any:
        made["rows"].append((len(makers), told))
        for make in makers:
            make()
        return SimpleNamespace(num_envs=len(makers))

    monkeypatch.setattr(vector_speed, "VectorNetwork", vector_network)
    monkeypatch.setattr(vector_speed, "VirtualNetwork", single_network)
    monkeypatch.setattr(vector_speed, "SyncVectorEnv", rows)
    monkeypatch.setattr(vector_speed, "CartPoleVectorEnv", made["bare"].append)
    measured = [20.0, 1.0, 60.0]

    def in_turn(ways: Sequence[Any], rounds: int, say: Any) -> list[Any]:
        assert rounds == 5 and [way.name for way in ways] == ["at once", "single ones", "bare"]
        return [vector_speed.StepRates(way.name, [rate], [rate]) for way, rate in zip(ways, measured, strict=True)]

    monkeypatch.setattr(vector_speed, "measure_in_turn", in_turn)
    monkeypatch.setattr(vector_speed, "_Player", lambda env: SimpleNamespace(ticked=1, steps=1))
    for measured[:], holds in (
        ([20.0, 1.0, 60.0], True),
        ([19.9, 1.0, 20.0], False),
        ([20.0, 1.0, 60.1], False),
    ):
        assert vector_speed.vector_speed(lambda text: None).holds is holds
    told = ("wifi-normal", NetworkOptions(features=FeatureSpec(stack=4)))
    played = 3 * 2  # at random and well
    assert made["ours"] == [(256, told)] * played
    assert set(made["single"]) == {told} and len(made["single"]) == 256 * played
    assert {one[0] for one in made["rows"]} == {256} and len(made["rows"]) == played
    assert made["bare"] == [256] * played


@pytest.mark.parametrize(
    ("seconds", "returns", "holds"), [(59.9, 475.0, True), (60.1, 500.0, False), (1.0, 474.0, False)]
)
def test_baseline_and_predictor_have_two_minutes_together(
    monkeypatch: pytest.MonkeyPatch, seconds: float, returns: float, holds: bool
) -> None:
    asked: list[tuple[str, int]] = []

    def train(recipe: str, seed: int, folder: Any) -> Any:
        asked.append((recipe, seed))
        return train_time._Run(seconds, seconds, 1, returns)

    monkeypatch.setattr(train_time, "_train", train)
    figure = train_time.train_time(lambda text: None)
    assert asked == [(f"cartpole-{kind}", seed) for seed in (1, 2, 3) for kind in ("baseline", "predictor")]
    assert figure.holds is holds and figure.value == pytest.approx(2 * seconds)
    assert figure.target == "under 120 s, and each ends at 475 or more"


def test_the_median_is_held_against_the_target_and_not_the_best() -> None:
    part = scores_module.Part("it", CLEAN, 2.0)
    assert Scores(part, ((9.0,), (2.0,), (0.0,))).holds
    assert not Scores(part, ((9.0,), (1.0,), (8.0,), (0.0,), (1.0,))).holds


def test_all_learners_of_train_speed_meet_the_same_task_network_and_features() -> None:
    """The single environments and the vectorised one give the same rows and rewards for the same actions."""
    pytest.importorskip("stable_baselines3")
    recipe = train_speed._recipe()
    assert (recipe.ppo.environments, train_speed.SINGLE_TARGET, train_speed.VECTOR_TARGET) == (64, 4.0, 1.5)
    assert recipe.network == find_recipe("cartpole-scheduled").network == "random"
    small = msgspec.structs.replace(
        recipe, network="wifi-degraded@oneway", ppo=msgspec.structs.replace(recipe.ppo, environments=3)
    )
    rows = []
    for make in (train_speed._single_environments, train_speed._vector_environment):
        env = make(small)
        env.seed(5)
        played = [(env.reset(), np.zeros(3), np.zeros(3, dtype=bool))]
        for step in range(120):
            played.append(env.step(np.array([0, 1, step % 2]))[:3])
        env.close()
        rows.append([np.stack(column) for column in zip(*played, strict=True)])
    for single, vector in zip(*rows, strict=True):
        np.testing.assert_array_equal(single, vector)
    seen, _, done = rows[0]
    assert seen.shape[2] > 4 and done.any()  # more than the state is seen, and episodes end
