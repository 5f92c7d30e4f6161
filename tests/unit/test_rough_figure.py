"""cartpole-rough: how its ratio is computed, and that planned does what it is there for."""

import numpy as np
import pytest

from netlab.bench.rough import NETWORK, ratio_of_means
from netlab.scoring.scorer import Overrides, score


def test_a_ratio_and_its_error_are_those_of_many_draws():
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(2000):
        theirs = rng.uniform(1.0, 3.0, 100)
        drawn.append(ratio_of_means(0.9 * theirs + rng.normal(0.0, 0.3, 100), theirs))
    ratios, errors = np.array(drawn).T
    assert ratios.mean() == pytest.approx(0.9, abs=0.002)  # n = 2000, five standard errors
    assert errors.mean() == pytest.approx(ratios.std(), rel=0.08)


def test_of_equal_values_the_ratio_is_sure():
    assert ratio_of_means([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]) == (0.5, 0.0)


def test_planned_survives_bursts_that_scheduled_does_not():
    """12 episodes with their own seeds, no pushes; of 600 the means are 497 and 411."""
    means = {
        actuator: score(
            "linear-predict", NETWORK, episodes=12, overrides=Overrides(actuator=actuator, horizon=7)
        ).mean
        for actuator in ("scheduled", "planned")
    }
    assert means["planned"] > means["scheduled"] + 20.0, means
