"""A policy file that balances CartPole over any link, and the commands that play it; for tests of the modes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from netlab.agents.cartpole_linear import GAINS
from netlab.agents.policy_card import PolicyCard
from netlab.agents.policy_export import export_policy
from netlab.agents.policy_file import write_policy
from netlab.control.feature_spec import FeatureSpec
from netlab.envs.cartpole import CartPole

NETLAB = [sys.executable, "-P", "-m", "netlab"]
QUICK_HZ = 200.0
"""An episode of 500 ticks in 2.5 s of real time: CartPole's physics steps 20 ms a tick whatever the rate."""
AHEAD_TICKS = 10
"""50 ms at that rate: the link below, and what a busy machine adds to it."""
LINK = "delay=8ms,jitter=2ms,loss=2%"


def write_linear(
    path: Path, *, rate_hz: float = QUICK_HZ, gains: Sequence[float] = GAINS, **card: Any
) -> PolicyCard:
    """Write the linear feedback as a network of one layer, on the state that the physics predicts."""
    asked = {"actuator": "scheduled", "horizon_ticks": AHEAD_TICKS, "predictor": "cartpole-physics"} | card
    made = PolicyCard(
        name="saved-linear",
        kind="mlp",
        task=CartPole(rate_hz).description,
        features=FeatureSpec(predicted=True),
        **asked,
    )
    row = np.array([gains], np.float32)
    weights = {"actor.0.weight": np.concatenate((-row, row)), "actor.0.bias": np.zeros(2, np.float32)}
    write_policy(export_policy(made, weights), path)
    return made


def netlab_run(folder: Path, *words: object) -> dict[str, Any]:
    """Run ``netlab run`` and return its document."""
    command = [*NETLAB, "run", *map(str, words), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=folder)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return document


def returns(document: dict[str, Any]) -> list[float]:
    """Return the return of each episode of a document."""
    return [episode["return"] for episode in document["run"]["episodes"]]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the ticks that a run has written."""
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
