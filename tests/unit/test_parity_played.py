"""What the parity table plays: the declared rows, word for word; both sides of a cell, each on its own."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import msgspec
import pytest

from netlab.agents.policy import find_policy
from netlab.episode.corner import ModelCorner
from netlab.modes.corner import CornerMode
from netlab.modes.plan import RunPlan
from netlab.modes.report import RunReport
from netlab.modes.request import RunRequest
from netlab.scoring.scorer import score
from netlab.tables import parity_cell
from netlab.tables.parity_cell import ParityCell
from netlab.tables.parity_engines import VIRTUAL, kernel_of
from netlab.tables.parity_rows import DIFFERENCE_SHARE, PLAYED, REAL_NETWORKS, VIRTUAL_NETWORKS

NETWORKS = ("ethernet-clean", "wifi-normal", "wifi-normal@oneway", "wifi-degraded", "wifi-degraded@oneway")


def test_these_rows_are_declared_and_no_others() -> None:
    assert [tuple(one) for one in PLAYED] == [
        ("cartpole-baseline", 500.0, None),
        ("cartpole-paper", 500.0, None),
        ("cartpole-scheduled", 500.0, None),
        ("cartpole-predictor", 500.0, None),
        ("doorkey-baseline", 1.0, None),
        ("doorkey-baseline", 1.0, "stop-and-wait"),
        ("doorkey-aware", 1.0, None),
    ]
    assert (VIRTUAL_NETWORKS, REAL_NETWORKS, DIFFERENCE_SHARE) == (NETWORKS, ("wifi-degraded",), 0.02)


def test_a_range_is_that_of_the_tasks_own_returns() -> None:
    """CartPole pays 1 a tick up to its limit; DoorKey less than 1, once, at the goal."""
    assert score("linear", episodes=1).returns == (500.0,)
    limit = gymnasium.spec("CartPole-v1").max_episode_steps
    door = score("doorkey-aware", episodes=3)
    assert door.successes == (True,) * 3 and 0.5 < min(door.returns) <= max(door.returns) < 1.0
    ranges = {"CartPole-v1": float(limit or 0), "MiniGrid-DoorKey-8x8-v0": 1.0}
    for one in PLAYED:
        file = find_policy(one.policy).file
        assert file is not None and one.range == ranges[file.card.task.name]


def test_services_and_wrapper_are_two_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where services play another run, their returns are that one's, the wrapper's are its own, and all part."""
    asked: list[Sequence[str]] = []
    given: dict[str, Any] = {
        "policy": "cartpole-paper",
        "network": "wifi-degraded",
        "actuator": "planned",
        "options": {"push_n": 1.5},
        "episodes": 3,
    }

    def run(words: Sequence[str], **told: object) -> subprocess.CompletedProcess[bytes]:
        asked.append(words)
        ticks = Path(words[words.index("--ticks") + 1])
        mode, plan = CornerMode("model", ModelCorner()), RunPlan.of(RunRequest(**given, seed=8), "link")
        report = RunReport.of(mode, plan, mode.play(plan, ticks, lambda text: None))
        return subprocess.CompletedProcess(words, 0, msgspec.json.encode(report), b"")

    monkeypatch.setattr(parity_cell.subprocess, "run", run)
    here = score("linear", episodes=1).machine
    cell = ParityCell(
        **given, policy_sha256=find_policy("cartpole-paper").sha256, engine=VIRTUAL, kernel=kernel_of(here), seed=7
    )
    found = cell.play()
    ours, theirs = (own_returns(given, seed) for seed in (7, 8))
    assert (found.wrapper, found.services) == (ours, theirs) and ours != theirs
    assert found.ticks == sum(theirs), "CartPole pays 1 a tick"
    assert [one.episode for one in found.partings] == [0, 1, 2]
    words = list(asked[0][asked[0].index("run") :])
    del words[words.index("--ticks") : words.index("--ticks") + 2]
    assert words == [
        "run", "cartpole-paper", "--mode", "lab", "--virtual-time", "--network", "wifi-degraded",
        "--actuator", "planned", "--option", "push_n=1.5", "--episodes", "3", "--seed", "7", "--json",
    ]  # fmt: skip


def own_returns(given: dict[str, Any], seed: int) -> tuple[float, ...]:
    """Return what the model plays of a run, by the tick log of a corner that is no part of the table."""
    plan = RunPlan.of(RunRequest(**given, seed=seed), "link")
    played = CornerMode("model", ModelCorner()).play(plan, None, lambda text: None)
    return tuple(one.return_ for one in played.run.episodes)
