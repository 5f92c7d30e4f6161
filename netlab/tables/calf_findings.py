"""Findings: what the paper says, held against the figures: sentences that are computed, never written beforehand.

A difference counts where its interval of 95 % (Student's, over training seeds) leaves 0 out, and a ratio where its
interval lies on one side of the paper's. What is less was not seen, or is undecided. Pure.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

from msgspec import Struct

from netlab.tables.calf_rows import ABLATION, CLEAN, DEGRADED, PAPER_GAP_RATIO, Group, Section
from netlab.tables.calf_table import CalfTable, Entry, GapRatio, paper_gap_ratio
from netlab.tables.intervals import LEVEL, reach

__all__ = ["Finding", "Verdict", "by_chance", "compare", "findings", "ratio_words"]


class Verdict(enum.StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    NOT_SEEN = "not reproduced: no difference seen"
    UNDECIDED = "undecided: the paper's ratio is within the interval"


class Finding(Struct, frozen=True, kw_only=True):
    """A claim and what the figures say of it.

    Attributes:
        claim: The paper's, in our words.
        where: Table and network.
        verdict: What became of it.
        figures: The numbers it rests on, in words.
    """

    claim: str
    where: str
    verdict: Verdict
    figures: str


def findings(table: CalfTable) -> list[Finding]:
    """Return each claim that the figures say something of."""
    found = []
    for section in table.sections:
        if section.name == ABLATION.name:
            found += _of_ablation(table, section)
        else:
            found += _of_training(table, section)
    return found


def by_chance(found: Sequence[Finding]) -> float:
    """Return about how many claims, at most, would be found reproduced if nothing differed: half of LEVEL each.

    It is at most so many where scores cannot vary, at the most that a task allows.
    """
    return len(found) * LEVEL / 2


def compare(higher: Entry, lower: Entry) -> Verdict:
    """Say whether one mean is above another by more than chance allows: Welch's test, two-sided, at LEVEL."""
    difference = higher.mean - lower.mean
    if abs(difference) <= reach(higher.estimate, lower.estimate):
        return Verdict.NOT_SEEN
    return Verdict.REPRODUCED if difference > 0.0 else Verdict.NOT_REPRODUCED


def _of_training(table: CalfTable, section: Section) -> list[Finding]:
    """Judge network-aware training against training without a network, under the paper's protocol."""
    aware = next(row for row in section.rows if row.group in (Group.METHOD, Group.MORE_INPUTS))
    found = []
    for baseline in (row for row in section.rows if row.group is Group.BASELINE):
        for network in DEGRADED:
            where = f"{section.title}, {network}"
            better = _finding(
                table, section, where, network, aware.name, baseline.name,
                "trained on networks, a policy does better on Wi-Fi-Degraded than one trained without",
            )  # fmt: skip
            found += better + _of_ratio(table, section, where, network, aware.name, baseline.name)
    baseline_name = next(row.name for row in section.rows if row.group is Group.BASELINE)
    where = f"{section.title}, without a network"
    claim = "training on networks costs some of the score without one"
    return found + _finding(table, section, where, CLEAN, baseline_name, aware.name, claim)


def _of_ratio(
    table: CalfTable, section: Section, where: str, network: str, aware: str, baseline: str
) -> list[Finding]:
    """Judge how many times narrower the gap is: by both ends of its interval."""
    for ratio in table.ratios:
        if (ratio.section, ratio.row, ratio.baseline, ratio.network) != (section.name, aware, baseline, network):
            continue
        stated, computed = PAPER_GAP_RATIO[section.task], paper_gap_ratio(section.task)
        least = min(stated, computed)
        words = (
            f"gap {ratio.gap:.1%} ± {ratio.gap_reach:.1%} against {ratio.baseline_gap:.1%} ± "
            f"{ratio.baseline_reach:.1%} of {baseline!r}: {ratio_words(ratio)}"
        )
        if not ratio.has_baseline_gap:
            verdict = Verdict.NOT_SEEN
        elif ratio.low is None or ratio.low >= least:
            verdict = Verdict.REPRODUCED
        elif ratio.high is not None and ratio.high < least:
            verdict = Verdict.NOT_REPRODUCED
        else:
            verdict = Verdict.UNDECIDED
        claim = f"the gap on Wi-Fi-Degraded is {stated} times narrower than without (its figures: {computed:.2f})"
        return [Finding(claim=claim, where=where, verdict=verdict, figures=words)]
    return []


def _of_ablation(table: CalfTable, section: Section) -> list[Finding]:
    """Judge which component of a random network it is that helps."""
    found = []
    for network in DEGRADED:
        where = f"{section.title}, {network}"
        for part in ("jitter", "loss"):
            claim = f"{part} matters more than delay: trained on it alone a policy does better on Wi-Fi-Degraded"
            found += _finding(table, section, where, network, part, "delay", claim)
        for part in ("delay", "jitter", "loss"):
            claim = f"all three together do better than {part} alone"
            found += _finding(table, section, where, network, "full", part, claim)
    return found


def _finding(
    table: CalfTable, section: Section, where: str, network: str, higher: str, lower: str, claim: str
) -> list[Finding]:
    """Return the verdict on one row's being above another; nothing where one was not played."""
    one, other = (table.entry(section.name, row, network) for row in (higher, lower))
    if one is None or other is None:
        return []
    figures = f"{higher!r} {_text(one)} against {lower!r} {_text(other)}"
    return [Finding(claim=claim, where=where, verdict=compare(one, other), figures=figures)]


def _text(entry: Entry) -> str:
    return f"{entry.mean:.1f} ± {entry.standard_error:.1f}"


def ratio_words(ratio: GapRatio) -> str:
    """Return a ratio of gaps and its interval for a person, or why there is none."""
    if not ratio.has_baseline_gap:
        return "the baseline has no gap that is told from none"
    if ratio.low is None:
        return "no gap left"
    ends = f"{ratio.low:.2f} or more" if ratio.high is None else f"{ratio.low:.2f} .. {ratio.high:.2f}"
    return f"no gap left ({ends})" if ratio.ratio is None else f"{ratio.ratio:.2f} times ({ends})"
