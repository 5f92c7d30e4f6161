"""Results of cells that nobody played, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Callable

from netlab.envs.virtual.options import NetworkOptions
from netlab.scoring.network_figures import NetworkFigures
from netlab.scoring.scorer import Overrides
from netlab.tables.calf_cell import CalfCell
from netlab.tables.calf_plan import CalfPlan, PlannedCell, TableSize
from netlab.tables.calf_result import CalfResult
from netlab.tables.calf_rows import SECTIONS, Section

Scores = Callable[[str, CalfCell], float]
"""A row's name and a cell: what each of its episodes scores."""


def result(points: tuple[float, ...], *, has_goal: bool = False) -> CalfResult:
    """Return what is kept of such episodes; with a goal, of 100 and 0."""
    return CalfResult(
        command="netlab train it --seed 1",
        control=NetworkOptions(),
        figures=NetworkFigures(kind="none"),
        returns=points,
        successes=tuple(point > 0.0 for point in points) if has_goal else None,
        seconds=1.5,
        machine={"cpu": "one", "cpus": 2, "kernel": "Linux"},
    )


def plan(
    seeds: int = 3,
    episodes: int = 2,
    sections: tuple[Section, ...] = SECTIONS,
    versions: tuple[tuple[str, str], ...] = (("netlab", "0"),),
) -> CalfPlan:
    """Return a plan in which every policy that is declared has so many training seeds."""
    cells = []
    for section in sections:
        for row in section.rows:
            for seed in [None] if row.is_code else range(1, seeds + 1):
                for network in section.networks:
                    cell = CalfCell(
                        policy=row.policy if seed is None else f"{row.policy}-{seed}",
                        policy_sha256="" if seed is None else f"{row.policy}-{seed}",
                        training_seed=seed,
                        task=section.task,
                        options=section.options,
                        network=network,
                        overrides=row.overrides,
                        episodes=episodes,
                    )
                    cells.append(PlannedCell(section.name, row.name, cell, cell.key))
    size = TableSize(episodes=episodes, training_seeds=seeds)
    return CalfPlan(size=size, sections=sections, cells=tuple(cells), missing=(), versions=dict(versions))


def results(planned: CalfPlan, scores: Scores) -> dict[str, CalfResult]:
    """Return a result of each cell, all episodes of which score the same."""
    found = {}
    for one in planned.cells:
        point = scores(one.row, one.cell)
        has_goal = "DoorKey" in one.cell.task
        found[one.key] = result((point,) * one.cell.episodes, has_goal=has_goal)
    return found


def cell(**fields: object) -> CalfCell:
    """Return a cell, of which some fields are others."""
    usual: dict[str, object] = {
        "policy": "linear",
        "task": "CartPole-v1",
        "network": "wifi-degraded@rtt",
        "overrides": Overrides(),
        "episodes": 2,
    }
    return CalfCell(**{**usual, **fields})  # type: ignore[arg-type]
