"""Findings: what the paper says, held against the figures: sentences that are computed, never written beforehand.

A difference counts where it is more than two standard errors of the two means, over training seeds; what is less
is no difference that was seen. Pure.
"""

from __future__ import annotations

import enum
import math

from msgspec import Struct

from netlab.tables.calf_rows import ABLATION, CLEAN, DEGRADED, PAPER_GAP_RATIO, Group, Section
from netlab.tables.calf_table import NO_GAP, CalfTable, Entry, GapRatio, paper_gap_ratio

__all__ = ["Finding", "Verdict", "compare", "findings", "ratio_words"]

_SIGMAS = 2.0


class Verdict(enum.StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    NOT_SEEN = "not reproduced: no difference seen"


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


def compare(higher: Entry, lower: Entry) -> Verdict:
    """Say whether one mean is above another by more than their standard errors allow for chance."""
    difference = higher.mean - lower.mean
    if abs(difference) <= _SIGMAS * math.hypot(higher.standard_error, lower.standard_error):
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
    """Judge how many times narrower the gap is."""
    for ratio in table.ratios:
        if (ratio.section, ratio.row, ratio.baseline, ratio.network) != (section.name, aware, baseline, network):
            continue
        stated, computed = PAPER_GAP_RATIO[section.task], paper_gap_ratio(section.task)
        least = min(stated, computed)
        words = f"gap {ratio.gap:.1%} against {ratio.baseline_gap:.1%} of {baseline!r}: {ratio_words(ratio)}"
        if ratio.baseline_gap < NO_GAP:
            verdict = Verdict.NOT_SEEN
        elif ratio.ratio is None or ratio.ratio >= least:
            verdict = Verdict.REPRODUCED
        else:
            verdict = Verdict.NOT_REPRODUCED
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
    """Return a ratio of gaps for a person, or why there is none."""
    if ratio.ratio is not None:
        return f"{ratio.ratio:.2f} times"
    return "the baseline has no gap" if ratio.baseline_gap < NO_GAP else "no gap left"
