"""A horizon is asked for and shown where the actuator has one, and nowhere else."""

from __future__ import annotations

import pytest
from test_report import cell, result

from netlab.cli.episode_text import control_words
from netlab.experiment import Experiment, _split
from netlab.messages import ADAPTIVE_HORIZON
from netlab.report import cell_table
from netlab.share import Cell


@pytest.mark.parametrize(
    ("actuator", "horizon", "words"),
    [
        ("newest", 1, "newest"),
        ("stop-and-wait", 1, "stop-and-wait"),
        ("scheduled", 7, "scheduled D=7"),
        ("scheduled", ADAPTIVE_HORIZON, "scheduled adaptive"),
        ("planned", "adaptive", "planned adaptive"),
        ("planned", 7, "planned D=7"),
    ],
)
def test_a_line_shows_it(actuator: str, horizon: int, words: str) -> None:
    assert control_words(actuator, horizon) == words


@pytest.mark.parametrize(
    ("actuator", "horizon", "shown"),
    [
        ("newest", 1, "-"),
        ("stop-and-wait", 1, "stop-and-wait"),
        ("scheduled", 10, "10"),
        ("scheduled", ADAPTIVE_HORIZON, "adaptive"),
        ("planned", 10, "10"),
    ],
)
def test_a_table_shows_none_where_there_is_none(actuator: str, horizon: int, shown: str) -> None:
    assert cell_table(result(cell(actuator=actuator, horizon_ticks=horizon)))[1][2] == shown


@pytest.mark.parametrize(
    ("actuator", "horizon"), [("newest", 1), ("stop-and-wait", 1), ("scheduled", 10), ("planned", 10)]
)
def test_an_experiment_fits_it_to_the_network_where_there_is_one(actuator: str, horizon: int) -> None:
    asked = Cell(network="wifi-degraded", policy="linear-predict", actuator=actuator)
    experiment = Experiment(name="x", cells=(asked,), episodes=1, labs_at_once=1, seed=0)
    (share,) = _split(experiment, 0, asked)
    assert share.horizon_ticks == horizon
