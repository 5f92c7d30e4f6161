"""Figures of shipped policies: what is compared with which target, and that the numbers are the scorer's."""

from __future__ import annotations

import math
import statistics

import pytest

from netlab.agents.shipped_policies import training_seeds
from netlab.bench import policy_scores
from netlab.bench.catalogue import CATALOGUE, measure
from netlab.bench.figure import Figure
from netlab.bench.policy_scores import Part, Scores
from netlab.errors import NetlabError
from netlab.scoring.scorer import score

NAMES = ("cartpole-best", "cartpole-modelfree", "doorkey-learned", "doorkey-protocol", "paper-method")


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_scores, "EPISODES", 2)
    assert len(training_seeds("cartpole-paper")) == len(training_seeds("doorkey-aware")) == 5
    monkeypatch.setattr(policy_scores, "training_seeds", lambda kind: training_seeds(kind)[:2])


@pytest.mark.parametrize("name", NAMES)
def test_each_is_in_the_catalogue_and_is_measured(name: str) -> None:
    assert CATALOGUE[name].where.startswith("policy_scores:")
    figure = measure(name, lambda text: None)
    assert figure.name == name and figure.n == 2 * 2 and figure.engine == "model"
    assert "2 training seeds" in figure.spread and "seeds from 1000000" in figure.note


def test_the_value_is_the_median_over_training_seeds_of_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_scores, "training_seeds", lambda kind: training_seeds(kind)[:3])
    figure = measure("paper-method", lambda text: None)
    scores = [
        score(f"cartpole-paper-{seed}", "wifi-degraded@rtt", episodes=2, seed=1_000_000).mean for seed in (1, 2, 3)
    ]
    assert statistics.median(scores) != pytest.approx(statistics.fmean(scores))
    assert figure.value == statistics.median(scores)
    assert f"{min(scores):.4g}..{max(scores):.4g}, mean {statistics.fmean(scores):.4g}" in figure.spread


def test_every_target_is_held_against_its_own_value(monkeypatch: pytest.MonkeyPatch) -> None:
    def played(means: dict[str, float]):
        return lambda parts, say: [Scores(part, ((means[part.network],) * 2,)) for part in parts]

    enough = {"wifi-degraded@rtt": 495.0, "wifi-degraded@oneway": 480.0, "none": 495.0}
    for short in (None, *enough):
        means = {network: mean - (network == short) for network, mean in enough.items()}
        monkeypatch.setattr(policy_scores, "_play", played(means))
        figure = policy_scores.cartpole_modelfree(lambda text: None)
        assert figure.holds == (short is None) and figure.value == means["wifi-degraded@rtt"]
        assert "495 on wifi-degraded@rtt, 480 on wifi-degraded@oneway, 495 on none" in figure.target


def protocol(monkeypatch: pytest.MonkeyPatch, there: tuple[tuple[float, ...], ...]) -> Figure:
    """Return the figure of a policy that without a network fails in one episode of ten, of two training seeds."""
    alone = ((100.0,) * 9 + (0.0,),) * 2
    monkeypatch.setattr(
        policy_scores,
        "_play",
        lambda parts, say: [Scores(part, alone if part.network == "none" else there) for part in parts],
    )
    return policy_scores.doorkey_protocol(lambda text: None)


def test_the_protocol_is_held_against_the_same_policy_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    same = protocol(monkeypatch, ((100.0,) * 9 + (0.0,),) * 2)
    assert same.holds and same.value == 100.0
    assert "wifi-degraded@oneway: all 20 pairs alike: no interval" in same.note
    worse = protocol(monkeypatch, ((100.0,) * 8 + (0.0,) * 2, (100.0,) * 9 + (0.0,)))
    assert not worse.holds and worse.value == pytest.approx(100.0 * 17 / 18)


def test_the_protocol_is_compared_in_pairs_and_what_that_shows_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as without a network, but in other episodes: not worse, and that is not shown."""
    other = protocol(monkeypatch, ((0.0,) + (100.0,) * 9,) * 2)
    assert other.holds and other.value == 100.0
    assert "at least 100 is not shown; 4 of 20 pairs differ" in other.note
    error = 100 / 0.9 * math.sqrt(2 / 9 / 10)  # two residuals of +-1 / 0.9 among ten
    assert f"95 % interval {100 - 2.26216 * error:.4g}..{100 + 2.26216 * error:.4g}, " in other.note
    with pytest.raises(NetlabError, match="never succeeds without a network"):
        monkeypatch.setattr(policy_scores, "_play", lambda parts, say: [Scores(p, ((0.0,) * 2,)) for p in parts])
        policy_scores.doorkey_protocol(lambda text: None)


def test_means_are_over_episodes_and_the_worst_episode_is_of_all_seeds() -> None:
    scores = Scores(Part("it", "none", 4.0), ((1.0, 3.0), (9.0, 5.0), (2.0, 8.0)))
    assert (scores.means, scores.least, scores.median, scores.mean) == ((2.0, 7.0, 5.0), 1.0, 5.0, 14 / 3)
    assert scores.holds


def test_what_has_no_target_is_held_to_none_and_asks_for_nothing() -> None:
    asked, free = (
        Scores(Part("it", network, target), ((1.0, 2.0),)) for network, target in (("a", 2.0), ("b", None))
    )
    assert free.holds and not asked.holds
    assert policy_scores._figure("it", "return", [free]).target == "none: reported as it is"
    both = policy_scores._figure("it", "return", [free, asked])
    assert both.target == "at least 2 on a; medians over training seeds" and not both.holds
    assert Part("it", "none", limit_ticks=160).label == "none, limit 160"
