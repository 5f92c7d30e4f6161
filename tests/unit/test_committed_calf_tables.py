"""The tables below docs/results belong to this repository: its pages, its policy files, its code's figures.

What is committed there was made by commands; here it is made again, as far as seconds go: pages and findings from
the documents beside them, some cells by playing them. After a change that moves figures, make the tables anew.
"""

from __future__ import annotations

import hashlib
import statistics
from functools import cache

import msgspec
import pytest
from committed_results import (
    RESULTS,
    ROOT,
    are_close,
    as_written,
    command_of,
    first_difference,
    is_such_a_machine,
)

from netlab.agents.policy_file import read_policy
from netlab.scoring.score import standard_error
from netlab.tables.calf_cell import CalfCell
from netlab.tables.calf_page import calf_page
from netlab.tables.calf_plan import TableSize, plan_calf
from netlab.tables.calf_result import CalfResult
from netlab.tables.calf_rows import CLEAN, SECTIONS
from netlab.tables.calf_run import calf_document
from netlab.tables.calf_table import CalfTable, Entry, gap_estimate, gap_ratio

SHIPPED = ROOT / "agents" / "shipped"


@cache
def calf() -> CalfTable:
    return msgspec.json.decode((RESULTS / "calf.json").read_bytes(), type=CalfTable)


def test_calfs_page_and_findings_are_those_of_its_document() -> None:
    command = command_of("calf.json")
    assert command == "netlab table calf -o docs/results"
    assert not first_difference("calf.md", calf_page(calf(), command))
    assert not first_difference("calf.json", as_written(calf_document(calf(), command)))
    assert (RESULTS / "calf.png").read_bytes().startswith(b"\x89PNG")


def test_calfs_document_is_of_all_that_is_declared() -> None:
    table, plan = calf(), plan_calf(TableSize())
    assert table.sections == SECTIONS and table.missing == ()
    assert (table.episodes, table.first_seed, table.cells) == (100, 1_000_000, len(plan.distinct))
    declared = dict.fromkeys((one.section, one.row, one.cell.network) for one in plan.cells)
    assert [(one.section, one.row, one.network) for one in table.entries] == list(declared)


def test_calfs_policies_are_the_files_that_are_shipped() -> None:
    rows = {(section.name, row.name): row for section in SECTIONS for row in section.rows}
    found: set[str] = set()
    for entry in calf().entries:
        row = rows[entry.section, entry.row]
        if row.is_code:
            assert [(one.training_seed, one.policy_sha256) for one in entry.seeds] == [(None, "")]
            continue
        files = {one: SHIPPED / f"{row.policy}-{one}.safetensors" for one in (1, 2, 3, 4, 5)}
        assert [(one.training_seed, one.policy_sha256) for one in entry.seeds] == [
            (one, hashlib.sha256(file.read_bytes()).hexdigest()) for one, file in files.items()
        ]
        found |= {one.policy_sha256 for one in entry.seeds}
    commands = {}
    for file in SHIPPED.glob("*.safetensors"):
        training = read_policy(file).card.training
        assert training is not None
        commands[hashlib.sha256(file.read_bytes()).hexdigest()] = training.command
    assert calf().commands == {digest: commands[digest] for digest in found}


def test_calfs_figures_follow_from_those_of_training_seeds() -> None:
    for entry in calf().entries:
        means = [one.mean for one in entry.seeds]
        assert (entry.median, entry.mean) == (statistics.median(means), statistics.fmean(means))
        assert (entry.least, entry.greatest) == (min(means), max(means))
        assert entry.sd == (statistics.stdev(means) if len(means) > 1 else None)
    ratios = calf().ratios
    assert ratios
    for ratio in ratios:
        own, theirs = (
            gap_estimate(place(ratio.section, row, ratio.network), place(ratio.section, row, CLEAN))
            for row in (ratio.row, ratio.baseline)
        )
        assert own is not None and theirs is not None
        assert (ratio.gap, ratio.baseline_gap) == (own.value, theirs.value)
        assert ratio.ratio == gap_ratio(theirs.value, own.value)


def place(section: str, row: str, network: str) -> Entry:
    entry = calf().entry(section, row, network)
    assert entry is not None
    return entry


@pytest.mark.parametrize(
    ("section", "row", "network", "training_seed"),
    [
        ("cartpole", "linear", "wifi-degraded@oneway", None),
        ("cartpole", "baseline, hold", "wifi-degraded@oneway", 3),
        ("cartpole", "paper's method", "wifi-degraded@oneway", 2),
        ("ablation", "loss", "wifi-degraded@oneway", 4),
        ("cartpole", "scheduled, model-free", "wifi-degraded@rtt", 5),
    ],
)
def test_a_cell_that_is_played_again_is_what_calfs_document_says(
    section: str, row: str, network: str, training_seed: int | None
) -> None:
    (cell,) = [
        one.cell
        for one in plan_calf(TableSize()).cells
        if (one.section, one.row, one.cell.network, one.cell.training_seed)
        == (section, row, network, training_seed)
    ]
    (kept,) = [one for one in place(section, row, network).seeds if one.training_seed == training_seed]
    points = played(cell)
    error = standard_error(points)
    mean, table = statistics.fmean(points), calf()
    if is_such_a_machine(table.machines, table.versions["numpy"]):
        assert (mean, error, min(points)) == (kept.mean, kept.standard_error, kept.least)
    else:
        assert are_close(mean, error, kept.mean, kept.standard_error)


def played(cell: CalfCell) -> tuple[float, ...]:
    return msgspec.json.decode(cell.compute(), type=CalfResult).points
