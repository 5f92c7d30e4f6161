"""CalfTable: finished cells added up: over episodes, then over training seeds; gaps and their ratios.

::

    CalfPlan + CalfResult by key --calf_table--> CalfTable: Entry a row and network, GapRatio a row and reading

Pure arithmetic: plays nothing, writes nothing.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping

from msgspec import Struct

from netlab.scoring.network_figures import NetworkFigures
from netlab.scoring.score import standard_error
from netlab.tables.calf_cell import FIRST_SEED
from netlab.tables.calf_plan import CalfPlan, PlannedCell
from netlab.tables.calf_result import CalfResult
from netlab.tables.calf_rows import CLEAN, DEGRADED, PAPER, Group, Row, Section

__all__ = [
    "NO_GAP",
    "CalfTable",
    "Entry",
    "GapRatio",
    "SeedScore",
    "calf_table",
    "gap",
    "gap_ratio",
    "paper_gap_ratio",
]

NO_GAP = 5e-4
"""A gap below this is none: a ratio to it says nothing."""


class SeedScore(Struct, frozen=True, kw_only=True):
    """What the policy of one training seed scored.

    Attributes:
        training_seed: Of the policy; None of code.
        policy_sha256: Of its file; empty of code.
        mean: Over episodes.
        standard_error: Of that mean; None below two episodes.
        least: The worst episode.
    """

    training_seed: int | None
    policy_sha256: str
    mean: float
    standard_error: float | None
    least: float


class Entry(Struct, frozen=True, kw_only=True):
    """One row on one network.

    Attributes:
        section: Name of the table.
        row: Name of the row.
        network: In words.
        seeds: A score a training seed.
        episodes: A training seed.
        median: Over training seeds, of their means; so are the others.
        mean: Their mean.
        sd: Their standard deviation; None below two.
        least: The least of them.
        greatest: The greatest of them.
    """

    section: str
    row: str
    network: str
    seeds: tuple[SeedScore, ...]
    episodes: int
    median: float
    mean: float
    sd: float | None
    least: float
    greatest: float

    @property
    def standard_error(self) -> float:
        """Of the mean: over training seeds where there are several, else over episodes; 0 where neither says."""
        if self.sd is not None:
            return self.sd / math.sqrt(len(self.seeds))
        return self.seeds[0].standard_error or 0.0


class GapRatio(Struct, frozen=True, kw_only=True):
    """How many times narrower a row's gap is than a baseline's.

    Attributes:
        section: Name of the table.
        row: Whose.
        baseline: Against which row.
        network: Where.
        baseline_gap: 1 - the baseline's score there / its score without a network.
        gap: The row's.
        ratio: Of the two; None where the row's gap is none, or the baseline's.
    """

    section: str
    row: str
    baseline: str
    network: str
    baseline_gap: float
    gap: float
    ratio: float | None


class CalfTable(Struct, frozen=True, kw_only=True):
    """All that the page says.

    Attributes:
        sections: As declared.
        entries: A row and a network.
        ratios: A row and a reading.
        episodes: A cell.
        first_seed: Of the episodes.
        networks: What was asked of each and what it delivers.
        missing: Policies of which there was none.
        commands: What trained each policy, by its SHA-256.
        versions: That decide figures.
        machines: Where it was computed.
        cells: How many different ones.
        computing_s: How long all processes took together.
    """

    sections: tuple[Section, ...]
    entries: tuple[Entry, ...]
    ratios: tuple[GapRatio, ...]
    episodes: int
    first_seed: int
    networks: dict[str, NetworkFigures]
    missing: tuple[str, ...]
    commands: dict[str, str]
    versions: dict[str, str]
    machines: tuple[dict[str, object], ...]
    cells: int
    computing_s: float

    def entry(self, section: str, row: str, network: str) -> Entry | None:
        """Return a row on a network; None where it was not played."""
        for entry in self.entries:
            if (entry.section, entry.row, entry.network) == (section, row, network):
                return entry
        return None


def gap(score: float, clean: float) -> float | None:
    """Return 1 - score / clean; None where clean is not above 0, and a share means nothing."""
    return 1.0 - score / clean if clean > 0.0 else None


def gap_ratio(baseline_gap: float, own_gap: float) -> float | None:
    """Return how many times narrower a gap is than the baseline's; None where one of them is none."""
    return baseline_gap / own_gap if own_gap >= NO_GAP and baseline_gap >= NO_GAP else None


def paper_gap_ratio(task: str) -> float:
    """Return the ratio that follows from the paper's own figures of a task, on Wi-Fi-Degraded."""
    gaps: list[float] = []
    for name in ("baseline", "network-aware"):
        figures = PAPER[task][name]
        gaps.append(1.0 - figures["wifi-degraded"] / figures[CLEAN])
    return gaps[0] / gaps[1]


def calf_table(plan: CalfPlan, results: Mapping[str, CalfResult]) -> CalfTable:
    """Add finished cells up.

    Args:
        plan: What was to be played.
        results: What came of each, by its key: all of them.
    """
    grouped: dict[tuple[str, str, str], list[PlannedCell]] = {}
    for planned in plan.cells:
        grouped.setdefault((planned.section, planned.row, planned.cell.network), []).append(planned)
    entries = tuple(_entry(place, cells, results) for place, cells in grouped.items())
    cells = plan.distinct
    machines: list[dict[str, object]] = []
    for key in cells:
        if results[key].machine not in machines:
            machines.append(results[key].machine)
    by_place = {(entry.section, entry.row, entry.network): entry for entry in entries}
    return CalfTable(
        sections=plan.sections,
        entries=entries,
        ratios=tuple(ratio for section in plan.sections for ratio in _ratios(section, by_place)),
        episodes=plan.size.episodes,
        first_seed=FIRST_SEED,
        networks=_networks(plan, results),
        missing=plan.missing,
        commands={one.policy_sha256: results[key].command for key, one in cells.items() if one.policy_sha256},
        versions=plan.versions,
        machines=tuple(machines),
        cells=len(cells),
        computing_s=sum(results[key].seconds for key in cells),
    )


def _networks(plan: CalfPlan, results: Mapping[str, CalfResult]) -> dict[str, NetworkFigures]:
    """Return the networks in the order of columns, as the first task that meets each has them."""
    found: dict[str, NetworkFigures] = {}
    for planned in plan.cells:
        found.setdefault(planned.cell.network, results[planned.key].figures)
    return found


def _entry(place: tuple[str, str, str], cells: list[PlannedCell], results: Mapping[str, CalfResult]) -> Entry:
    seeds = []
    for planned in cells:
        points = results[planned.key].points
        seeds.append(
            SeedScore(
                training_seed=planned.cell.training_seed,
                policy_sha256=planned.cell.policy_sha256,
                mean=statistics.fmean(points),
                standard_error=standard_error(points),
                least=min(points),
            )
        )
    means = [seed.mean for seed in seeds]
    return Entry(
        section=place[0],
        row=place[1],
        network=place[2],
        seeds=tuple(seeds),
        episodes=cells[0].cell.episodes,
        median=statistics.median(means),
        mean=statistics.fmean(means),
        sd=statistics.stdev(means) if len(means) > 1 else None,
        least=min(means),
        greatest=max(means),
    )


def _ratios(section: Section, entries: Mapping[tuple[str, str, str], Entry]) -> list[GapRatio]:
    baselines = [row for row in section.rows if row.group is Group.BASELINE]
    others = [row for row in section.rows if row.group not in (Group.BASELINE, Group.REFERENCE)]
    found = []
    for network in (name for name in section.networks if name in DEGRADED):
        for row in others:
            own = _row_gap(section, row, network, entries)
            for baseline in baselines:
                theirs = _row_gap(section, baseline, network, entries)
                if own is None or theirs is None:
                    continue
                found.append(
                    GapRatio(
                        section=section.name,
                        row=row.name,
                        baseline=baseline.name,
                        network=network,
                        baseline_gap=theirs,
                        gap=own,
                        ratio=gap_ratio(theirs, own),
                    )
                )
    return found


def _row_gap(
    section: Section, row: Row, network: str, entries: Mapping[tuple[str, str, str], Entry]
) -> float | None:
    there, clean = (entries.get((section.name, row.name, name)) for name in (network, CLEAN))
    return None if there is None or clean is None else gap(there.mean, clean.mean)
