"""LSTMs of random weights, for tasks that there are; for tests alone."""

from __future__ import annotations

import numpy as np
from policy_files import linear

from netlab.agents.policy_card import PolicyCard
from netlab.agents.policy_file import PolicyFile
from netlab.agents.ppo_config import GridLayout
from netlab.control.feature_spec import FeatureSpec
from netlab.messages import TaskDescription

DOORKEY = "MiniGrid-DoorKey-8x8-v0"


def lstm(
    task: TaskDescription,
    features: FeatureSpec,
    grid: GridLayout | None = None,
    *,
    seed: int = 1,
    scale: float = 1.0,
    **card,
) -> PolicyFile:
    """An LSTM; with a large ``scale`` it hangs on what it remembers."""
    rng = np.random.default_rng(seed)
    size = max(part.stop for part in features.layout(task).values())
    weights, inputs, encoded, units = {}, size, 10, 8
    if grid is not None:
        weights |= linear(rng, "grid", grid.one_hot_size, 6)
        inputs += 6 - (grid.stop - grid.start)
    weights |= linear(rng, "encoder", inputs, encoded)
    for part, width in (("ih", encoded), ("hh", units)):
        weights[f"lstm.weight_{part}_l0"] = rng.normal(size=(4 * units, width)).astype(np.float32)
        weights[f"lstm.bias_{part}_l0"] = rng.normal(size=4 * units).astype(np.float32)
    weights |= linear(rng, "actor", units, task.action.n)
    for name in ("encoder.weight", "lstm.weight_ih_l0", "lstm.weight_hh_l0"):
        weights[name] *= np.float32(scale)
    made = PolicyCard(name="lstm", kind="lstm", task=task, features=features, grid=grid, **card)
    return PolicyFile(made, weights)
