"""CalfTable: finished cells added up: over episodes, then over training seeds; gaps and their ratios.

::

    CalfPlan + CalfResult by key --calf_table--> CalfTable: Entry a row and network, GapRatio a row and reading
    Entry there, Entry without a network --gap_estimate--> Estimate of the gap: paired by training seed

Pure arithmetic: plays nothing, writes nothing.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping

from msgspec import Struct

from netlab.scoring.network_figures import NetworkFigures
from netlab.scoring.score import gap, standard_error
from netlab.tables.calf_cell import FIRST_SEED
from netlab.tables.calf_plan import CalfPlan, PlannedCell
from netlab.tables.calf_result import CalfResult
from netlab.tables.calf_rows import CLEAN, DEGRADED, PAPER, Group, Row, Section
from netlab.tables.intervals import Estimate, ratio_ends, reach

__all__ = [
    "NO_GAP",
    "CalfTable",
    "Entry",
    "GapRatio",
    "SeedScore",
    "calf_table",
    "gap_estimate",
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

    @property
    def estimate(self) -> Estimate:
        """The mean, with its error and that error's degrees of freedom."""
        return Estimate(self.mean, self.standard_error, self.freedom)

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the standard error; 1 where neither seeds nor episodes are two."""
        return max(1, (self.episodes if self.sd is None else len(self.seeds)) - 1)


class GapRatio(Struct, frozen=True, kw_only=True):
    """How many times narrower a row's gap is than a baseline's.

    Attributes:
        section: Name of the table.
        row: Whose.
        baseline: Against which row.
        network: Where.
        baseline_gap: 1 - the baseline's score there / its score without a network.
        baseline_reach: How far its interval of 95 % reaches, either way.
        gap: The row's.
        gap_reach: The same of it.
        ratio: Of the two; None where the row's gap is none, or the baseline's.
        low: Lower end of the interval of 95 % for the ratio; None where the baseline's gap may be none, and no
            ratio is known, or the row's surely is, and none would be too large.
        high: Upper end; None where there is none: the row's gap may be none.
    """

    section: str
    row: str
    baseline: str
    network: str
    baseline_gap: float
    baseline_reach: float
    gap: float
    gap_reach: float
    ratio: float | None
    low: float | None
    high: float | None

    @property
    def has_baseline_gap(self) -> bool:
        """Whether there is surely a gap that could be narrowed."""
        return self.baseline_gap >= NO_GAP and self.baseline_gap > self.baseline_reach


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


def gap_estimate(there: Entry, clean: Entry) -> Estimate | None:
    """Return the gap of means over training seeds; None as of ``gap``.

    The error is of first order (delta method), of pairs: each training seed has its score in both.
    """
    found = gap(there.mean, clean.mean)
    if found is None:
        return None
    kept = there.mean / clean.mean
    if len(there.seeds) > 1 and len(there.seeds) == len(clean.seeds):
        pairs = zip(there.seeds, clean.seeds, strict=True)
        error = standard_error([one.mean - kept * other.mean for one, other in pairs]) or 0.0
    else:
        error = math.hypot(there.standard_error, kept * clean.standard_error)
    return Estimate(found, error / clean.mean, min(there.freedom, clean.freedom))


def gap_ratio(baseline_gap: float, own_gap: float) -> float | None:
    """Return how many times narrower a gap is than the baseline's; None where one of them is none."""
    return baseline_gap / own_gap if own_gap >= NO_GAP and baseline_gap >= NO_GAP else None


def paper_gap_ratio(task: str) -> float:
    """Return the ratio that follows from the paper's own figures of a task, on Wi-Fi-Degraded."""
    baseline, aware = (PAPER[task][name] for name in ("baseline", "network-aware"))
    return _paper_gap(baseline) / _paper_gap(aware)


def _paper_gap(figures: Mapping[str, float]) -> float:
    found = gap(figures["wifi-degraded"], figures[CLEAN])
    assert found is not None  # it reports no score that is not above 0
    return found


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
                low, high = ratio_ends(theirs, own) if theirs.value > reach(theirs) else (math.inf, math.inf)
                found.append(
                    GapRatio(
                        section=section.name,
                        row=row.name,
                        baseline=baseline.name,
                        network=network,
                        baseline_gap=theirs.value,
                        baseline_reach=reach(theirs),
                        gap=own.value,
                        gap_reach=reach(own),
                        ratio=gap_ratio(theirs.value, own.value),
                        low=None if math.isinf(low) else low,
                        high=None if math.isinf(high) else high,
                    )
                )
    return found


def _row_gap(
    section: Section, row: Row, network: str, entries: Mapping[tuple[str, str, str], Entry]
) -> Estimate | None:
    there, clean = (entries.get((section.name, row.name, name)) for name in (network, CLEAN))
    return None if there is None or clean is None else gap_estimate(there, clean)
