"""Schedule steps: levels on a grid and windows of outage become the steps of two schedules in step.

::

    grid     |-------|-------|-------|-------|
    outage               |=====|
    edges    |-------|---|===|=|-----|-------|    equal neighbours become one step

Knows what a step of a schedule is; knows no trace.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.traces.fit.step_levels import Grid
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step

__all__ = ["Direction", "Window", "WindowedSteps", "joint_steps", "to_schedule"]

NORMAL_REACH = 4.1
"""A normal law's table reaches so many deviations: with less delay than that it would be clipped at zero."""

SNAP_S = 1e-3
"""An outage's edge so near to the grid's falls on it: no step is shorter (or than a tenth of a step)."""

SQRT_3 = 3.0**0.5


class Window(NamedTuple):
    """Stretches of time in order, none overlapping, ``[windows]`` each."""

    begin_s: NDArray[np.float64]
    end_s: NDArray[np.float64]

    @classmethod
    def none(cls) -> Window:
        """Return no window."""
        return cls(np.empty(0), np.empty(0))


class Direction(NamedTuple):
    """One direction on the grid, ``[steps]`` each, and its outages."""

    level_s: NDArray[np.float64]
    spread_s: NDArray[np.float64]
    loss_ratio: NDArray[np.float64]
    rate_bps: NDArray[np.float64]
    windows: Window


class WindowedSteps(NamedTuple):
    """Steps of both directions, which change at the same moments.

    Attributes:
        starts_s: When each begins, ``[steps]``.
        states: Level, spread, loss and rate (0 for no limit) of each step, forward and back,
            ``[2, steps, 4]``.
        ordered: Whether packets keep their order, forward and back.
    """

    starts_s: NDArray[np.float64]
    states: NDArray[np.float64]
    ordered: tuple[bool, bool] = (True, True)


def joint_steps(forward: Direction, back: Direction, grid: Grid, duration_s: float) -> WindowedSteps:
    """Return the steps of both directions: the grid cut at the outages' edges, equal neighbours merged."""
    snap_s = min(SNAP_S, grid.step_s / 10.0)
    windows = [_snapped(one.windows, grid, snap_s, duration_s) for one in (forward, back)]
    edges_s = np.round(np.concatenate([grid.edges_s[:-1], *(edge for window in windows for edge in window)]), 6)
    starts_s = np.unique(edges_s)
    starts_s = starts_s[starts_s < duration_s - 1e-9]
    index = grid.step_of(starts_s)
    states = np.stack(
        [_states(one, window, starts_s, index) for one, window in zip((forward, back), windows, strict=True)]
    )
    changed = np.ones(starts_s.size, dtype=bool)
    changed[1:] = (states[:, 1:] != states[:, :-1]).any(axis=(0, 2))
    return WindowedSteps(starts_s[changed], states[:, changed])


def to_schedule(
    steps: WindowedSteps, way: int, duration_s: float, loop: bool, packet_rate_hz: float | None
) -> Schedule:
    """Return the schedule of one direction: one step where it never changes; equal profiles are one object."""
    unique, which = np.unique(steps.states[way], axis=0, return_inverse=True)
    starts_s = steps.starts_s if len(unique) > 1 else steps.starts_s[:1]
    ordered = steps.ordered[way]
    profiles = [
        _profile(level_s, spread_s, loss, rate, ordered) for level_s, spread_s, loss, rate in unique.tolist()
    ]
    return Schedule(
        tuple(
            Step(start_s, profiles[index])
            for start_s, index in zip(starts_s.tolist(), which.ravel().tolist(), strict=False)
        ),
        duration_s,
        loop,
        packet_rate_hz,
    )


def is_normal(level_s: NDArray[np.float64], spread_s: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell where a normal law keeps clear of zero; elsewhere it is the uniform one, which needs less room."""
    normal: NDArray[np.bool_] = level_s >= NORMAL_REACH * spread_s
    return normal


def _profile(level_s: float, spread_s: float, loss_ratio: float, rate_bps: float, ordered: bool) -> LinkProfile:
    normal = level_s >= NORMAL_REACH * spread_s
    return LinkProfile(
        delay_s=level_s,
        jitter_s=spread_s if normal else min(round(SQRT_3 * spread_s, 9), level_s),
        law="normal" if normal else "uniform",
        loss=loss_ratio,
        rate_bps=rate_bps or None,
        ordered=ordered,
    )


def _snapped(windows: Window, grid: Grid, snap_s: float, duration_s: float) -> Window:
    """Return windows with edges near to the grid's put on it, those cut off or emptied left out."""
    edges = []
    for edge_s in windows:
        on_grid = np.round(edge_s / grid.step_s) * grid.step_s
        near = np.abs(edge_s - on_grid) < snap_s
        edges.append(np.minimum(np.round(np.where(near, on_grid, edge_s), 6), duration_s))
    kept = edges[1] > edges[0]
    return Window(edges[0][kept], edges[1][kept])


def _states(
    direction: Direction, windows: Window, starts_s: NDArray[np.float64], index: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return level, spread, loss and rate of each step, ``[steps, 4]``."""
    begun = np.searchsorted(windows.begin_s, starts_s + 1e-9, side="right")
    out = begun > np.searchsorted(windows.end_s, starts_s + 1e-9, side="right")
    # Within an outage nothing but the loss matters: the levels it began with hold, so it is one step.
    held = index.copy()
    first = np.searchsorted(starts_s, windows.begin_s - 1e-9)
    held[out] = index[np.minimum(first[begun[out] - 1], index.size - 1)]
    return np.column_stack(
        [
            direction.level_s[held],
            direction.spread_s[held],
            np.where(out, 1.0, direction.loss_ratio[held]),
            np.nan_to_num(direction.rate_bps[held], nan=0.0),
        ]
    )
