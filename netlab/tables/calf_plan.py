"""CalfPlan: the cells of the tables that are declared, for the policies that there are.

::

    Section, Row --seeds that there are, x networks--> PlannedCell: where it stands, CalfCell
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from netlab.agents.policy import find_policy
from netlab.agents.shipped_policies import shipped_path
from netlab.errors import SpecError
from netlab.tables.calf_cell import CalfCell
from netlab.tables.calf_rows import SECTIONS, Row, Section
from netlab.tables.deciding_versions import deciding_versions

__all__ = ["QUICK", "CalfPlan", "PlannedCell", "TableSize", "plan_calf"]

MAX_TRAINING_SEEDS = 5


class TableSize(Struct, frozen=True, kw_only=True):
    """How much is played.

    Attributes:
        episodes: A cell.
        training_seeds: The most a policy; fewer where there are fewer.
    """

    episodes: int = 100
    training_seeds: int = MAX_TRAINING_SEEDS

    def __post_init__(self) -> None:
        if not 1 <= self.training_seeds <= MAX_TRAINING_SEEDS:
            raise SpecError(f"{self.training_seeds}: must be 1 .. {MAX_TRAINING_SEEDS}", key="training_seeds")


QUICK = TableSize(episodes=10, training_seeds=2)
"""What takes about a minute on two cores."""


class PlannedCell(Struct, frozen=True):
    """A cell and where it stands.

    Attributes:
        section: Name of the table.
        row: Name of the row.
        cell: What is played.
        key: Of the cell, which takes a moment to compute.
    """

    section: str
    row: str
    cell: CalfCell
    key: str


class CalfPlan(Struct, frozen=True, kw_only=True):
    """All cells of the tables.

    Attributes:
        size: How much is played.
        sections: What is declared.
        cells: Of all sections, in order. One may stand in two of them.
        missing: Policies of which there is none, in order.
        versions: That decide figures.
    """

    size: TableSize
    sections: tuple[Section, ...]
    cells: tuple[PlannedCell, ...]
    missing: tuple[str, ...]
    versions: dict[str, str]

    @property
    def distinct(self) -> dict[str, CalfCell]:
        """The cells by their keys, each once."""
        return {planned.key: planned.cell for planned in self.cells}


def plan_calf(size: TableSize, folder: Path | None = None, sections: Sequence[Section] = SECTIONS) -> CalfPlan:
    """Return the cells to be played.

    Args:
        size: How much.
        folder: Of policy files NAME-SEED.safetensors, which take precedence over what is shipped.
        sections: What is declared.

    Raises:
        SpecError: A policy's file is none, or is for another task.
    """
    cells: list[PlannedCell] = []
    missing: dict[str, None] = {}
    for section in sections:
        for row in section.rows:
            found = _policies(row, size.training_seeds, folder)
            if not found:
                missing[row.policy] = None
            for seed, policy in found:
                cells += _cells(section, row, size, seed, policy)
    return CalfPlan(
        size=size,
        sections=tuple(sections),
        cells=tuple(cells),
        missing=tuple(missing),
        versions=deciding_versions(),
    )


def _policies(row: Row, most: int, folder: Path | None) -> list[tuple[int | None, str]]:
    """Return the training seeds of a row's policy and what each one is found by."""
    if row.is_code:
        return [(None, row.policy)]
    found: list[tuple[int | None, str]] = []
    for seed in range(1, most + 1):
        name = f"{row.policy}-{seed}"
        file = None if folder is None else folder / f"{name}.safetensors"
        if file is not None and file.exists():
            found.append((seed, str(file.absolute())))
        elif shipped_path(name) is not None:
            found.append((seed, name))
    return found


def _cells(section: Section, row: Row, size: TableSize, seed: int | None, policy: str) -> list[PlannedCell]:
    recipe = find_policy(policy)
    if recipe.file is not None:
        task, training = recipe.file.card.task.name, recipe.file.card.training
        if task != section.task:
            raise SpecError(f"{policy} controls {task}, not {section.task}", key=row.policy)
        if training is not None and training.seed != seed:
            hint = "files are named by what they are: NAME-SEED.safetensors"
            raise SpecError(f"{policy} was trained with seed {training.seed}", key=row.policy, hint=hint)
    planned = []
    for network in section.networks:
        cell = CalfCell(
            policy=policy,
            policy_sha256=recipe.sha256,
            training_seed=seed,
            task=section.task,
            options=section.options,
            network=network,
            overrides=row.overrides,
            episodes=size.episodes,
        )
        planned.append(PlannedCell(section.name, row.name, cell, cell.key))
    return planned
