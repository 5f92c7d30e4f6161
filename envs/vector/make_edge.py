"""The edges of N rows as options ask for them."""

from __future__ import annotations

import numpy as np

from netlab.envs.config import DEFAULT_HOLD_LIMIT_TICKS
from netlab.envs.vector.edge_columns import (
    ActuatorColumns,
    EdgeColumns,
    NewestColumns,
    ScheduledColumns,
    StopAndWaitColumns,
)
from netlab.envs.virtual.options import NetworkOptions
from netlab.messages import TaskDescription

__all__ = ["make_edge"]


def make_edge(options: NetworkOptions, task: TaskDescription, n: int, *, knows_lengths: bool) -> EdgeColumns:
    """Return the edges of N rows.

    Args:
        options: How the task is controlled.
        task: What is controlled.
        n: Number of rows.
        knows_lengths: Whether lengths of frames are computed, to which what the edge tells belongs.
    """
    actuators: dict[str, ActuatorColumns] = {
        "newest": NewestColumns(n),
        "scheduled": ScheduledColumns(),
        "stop-and-wait": StopAndWaitColumns(),
    }
    hold_limit_ticks = 0
    if options.fallback == "hold":
        hold_limit_ticks = options.hold_limit_ticks or DEFAULT_HOLD_LIMIT_TICKS
    action = task.action.shape, np.dtype(task.action.dtype)
    spec = options.features
    tells_history = knows_lengths or spec.acknowledgement > 0 or options.actuator == "stop-and-wait"
    return EdgeColumns(
        n,
        actuators[options.actuator],
        hold_limit_ticks,
        action,
        tells_history=tells_history,
        counts_losses=spec.network,
    )
