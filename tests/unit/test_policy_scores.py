"""Figures of shipped policies: what is compared with which target, and that the numbers are the scorer's."""

from __future__ import annotations

import statistics

import pytest

from netlab.bench import policy_scores
from netlab.bench.catalogue import CATALOGUE, measure
from netlab.bench.policy_scores import Part, Scores
from netlab.scoring.scorer import score

NAMES = ("cartpole-best", "cartpole-modelfree", "doorkey-learned", "doorkey-protocol", "paper-method")


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_scores, "EPISODES", 2)
    whole = policy_scores._with_seeds
    assert len(whole("cartpole-paper")) == len(whole("doorkey-aware")) == 5
    monkeypatch.setattr(policy_scores, "_with_seeds", lambda policy: whole(policy)[:2])


@pytest.mark.parametrize("name", NAMES)
def test_each_is_in_the_catalogue_and_is_measured(name: str) -> None:
    assert CATALOGUE[name].where.startswith("policy_scores:")
    figure = measure(name, lambda text: None)
    assert figure.name == name and figure.n == 2 * 2 and figure.engine == "model"
    assert "2 training seeds" in figure.spread and "seeds from 1000000" in figure.note


def test_the_value_is_the_median_over_training_seeds_of_scores() -> None:
    figure = measure("paper-method", lambda text: None)
    scores = [
        score(f"cartpole-paper-{seed}", "wifi-degraded@rtt", episodes=2, seed=1_000_000).mean for seed in (1, 2)
    ]
    assert figure.value == statistics.median(scores)
    assert f"{min(scores):.4g}..{max(scores):.4g}, mean {statistics.fmean(scores):.4g}" in figure.spread


def test_every_target_is_held_against_its_own_value(monkeypatch: pytest.MonkeyPatch) -> None:
    def played(means: dict[str, float]):
        return lambda parts, say: [Scores(part, (means[part.network],), 0.0) for part in parts]

    enough = {"wifi-degraded@rtt": 495.0, "wifi-degraded@oneway": 480.0, "none": 495.0}
    for short in (None, *enough):
        means = {network: mean - (network == short) for network, mean in enough.items()}
        monkeypatch.setattr(policy_scores, "_play", played(means))
        figure = policy_scores.cartpole_modelfree(lambda text: None)
        assert figure.holds == (short is None) and figure.value == means["wifi-degraded@rtt"]
        assert "495 on wifi-degraded@rtt, 480 on wifi-degraded@oneway, 495 on none" in figure.target


def test_the_protocol_is_held_against_the_same_policy_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, holds, value in ((90.0, True, 100.0), (81.0, False, 90.0)):
        monkeypatch.setattr(
            policy_scores,
            "_play",
            lambda parts, say, there=there: [
                Scores(part, (90.0 if part.network == "none" else there,), 0.0) for part in parts
            ],
        )
        figure = policy_scores.doorkey_protocol(lambda text: None)
        assert figure.holds is holds and figure.value == pytest.approx(value)


def test_what_has_no_target_is_held_to_none() -> None:
    assert Scores(Part("it", "none"), (1.0, 2.0), 0.0).holds
    assert not Scores(Part("it", "none", 2.0), (1.0, 2.0), 0.0).holds
    assert Part("it", "none", limit_ticks=160).label == "none, limit 160"
