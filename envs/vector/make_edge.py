"""The edges of N rows as options ask for them."""

from __future__ import annotations

import numpy as np

from netlab.control.fallback import Hold
from netlab.envs.vector.actuators import ActuatorParts
from netlab.envs.vector.edge_columns import EdgeColumns
from netlab.envs.vector.loss_columns import LossColumns
from netlab.envs.virtual.options import NetworkOptions
from netlab.messages import TaskDescription

__all__ = ["make_edge"]


def make_edge(
    options: NetworkOptions, parts: ActuatorParts, task: TaskDescription, n: int, *, knows_lengths: bool
) -> EdgeColumns:
    """Return the edges of N rows.

    Args:
        options: How the task is controlled.
        parts: What belongs to its actuator.
        task: What is controlled.
        n: Number of rows.
        knows_lengths: Whether lengths of frames are computed, to which what the edge tells belongs.
    """
    fallback = options.make_fallback()
    action = task.action.shape, np.dtype(task.action.dtype)
    spec = options.features
    tells_history = knows_lengths or spec.acknowledgement > 0 or parts.tells_turns
    return EdgeColumns(
        n,
        parts.make_edge(n),
        fallback.limit_ticks if isinstance(fallback, Hold) else 0,
        action,
        tells_history=tells_history,
        losses=LossColumns(n, 1e9 / task.rate_hz) if spec.network else None,
    )
