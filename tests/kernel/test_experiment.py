"""Experiments on real netem: the main job, small."""

from __future__ import annotations

import math
import time

import msgspec
import pytest

from netlab.clock_name import clock_name
from netlab.envs.service import Progress
from netlab.errors import LabError, ProfileError
from netlab.experiment import Cell, Experiment, Share, run_experiment
from netlab.namespaces.features import kernel_features
from netlab.report import ExperimentResult
from netlab.traces.seed import link_seed


def experiment(*cells: Cell, episodes: int = 1, **changes: object) -> Experiment:
    return Experiment(name="test", cells=cells, episodes=episodes, **changes)  # type: ignore[arg-type]


def test_both_policies_over_two_networks() -> None:
    seen: list[tuple[Share, Progress]] = []
    result = run_experiment(
        experiment(
            Cell(network="wifi-degraded", policy="linear-predict", actuator="scheduled"),
            Cell(network="wifi-degraded", policy="linear", actuator="newest", fallback="hold"),
            Cell(network="measured", policy="linear-predict", actuator="scheduled"),
        ),
        "the test",
        lambda share, progress: seen.append((share, progress)),
    )
    scheduled, newest, measured = result.cells
    # The margin between the two is a factor of ten (docs/control.md); one episode each is enough to tell.
    assert scheduled.return_mean is not None and newest.return_mean is not None
    assert scheduled.return_mean > 450
    assert newest.return_mean < 250
    assert scheduled.horizon_ticks == 10
    assert scheduled.seeds == newest.seeds, "both meet the same links and episodes"
    asked_seed = link_seed(scheduled.seeds[0], "edge-agent", "forward", 0)
    assert scheduled.link_seeds == newest.link_seeds == (asked_seed,)
    assert newest.counters.missed_hold > 0
    assert measured.changes is not None
    assert measured.changes.applied > 50
    # Half of about 180 ms each way, whatever the services add.
    assert measured.latency_ms.p50 is not None
    assert 160 < measured.latency_ms.p50 < 230
    assert {share.cell.network for share, _ in seen} == {"wifi-degraded", "measured"}
    assert any("clipped" in text for text in result.warnings)
    assert result.machine["clock"] == clock_name()
    assert result.seeded == kernel_features().seed
    again = msgspec.json.decode(msgspec.json.encode(result), type=ExperimentResult)
    assert again == result


def test_episodes_are_spread_over_labs_and_all_played() -> None:
    seen: dict[str, list[float]] = {}
    result = run_experiment(
        experiment(Cell(network="", policy="linear", actuator="newest", labs=2), episodes=3),
        "the test",
        lambda share, progress: seen.setdefault(share.label, []).append(time.monotonic()),
    )
    first, second = seen.values()
    assert max(first[0], second[0]) < min(first[-1], second[-1]), "the labs ran beside one another"
    (cell,) = result.cells
    assert len(cell.returns) == 3
    assert len(set(cell.seeds)) == 2
    assert cell.return_mean is not None and cell.return_mean > 450
    assert cell.return_se is not None and math.isfinite(cell.return_se)
    assert cell.ticks == sum(cell.returns)


def test_a_service_that_dies_ends_the_experiment_with_its_last_words() -> None:
    with pytest.raises(LabError, match="did you mean 'linear'"):
        run_experiment(
            experiment(
                Cell(network="", policy="linaer", actuator="newest"),
                Cell(network="", policy="linear", actuator="newest"),
                episodes=50,
            ),
            "the test",
        )


def test_an_unknown_network_is_refused_before_anything_starts() -> None:
    with pytest.raises(ProfileError, match="no-such"):
        run_experiment(experiment(Cell(network="no-such", policy="linear", actuator="newest")), "the test")
