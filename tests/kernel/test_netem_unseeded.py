"""Netem without a seed, on any kernel: one more run of LinkModel, as far as counting can tell.

The model is run often enough, each time from another seed and over the clock read at each packet, to know how far
its own counts spread. A count may be 6 of their standard deviations off, and two packets: by chance fewer than one
run of this file in a hundred thousand has one beyond that.
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Sequence

import pytest
from duet_check import pace_s

from netlab.bench.impairment_cases import CASES
from netlab.bench.netem_rig import Arrival, NetemRig
from netlab.traces.model.fate import Fate
from netlab.traces.model.link_model import LinkModel
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import link_seed

PACKETS = 600
RUNS = 40
NAMES = [name for name, case in CASES.items() if case.then is None and not case.needs_clock]


def counts(copies: Sequence[tuple[int, bool, bool]]) -> dict[str, int]:
    """Return what can be counted of copies in the order in which they leave: (number, corrupted, marked)."""
    of_number = Counter(number for number, _, _ in copies)
    there = [of_number[number] > 0 for number in range(PACKETS)]
    latest = itertools.accumulate((number for number, _, _ in copies), max)
    return {
        "lost": there.count(False),
        "runs of lost or not": sum(one != other for one, other in itertools.pairwise(there)),
        "twice": sum(count > 1 for count in of_number.values()),
        "corrupted": sum(corrupted for _, corrupted, _ in copies),
        "marked": sum(marked for _, _, marked in copies),
        "overtaken": sum(number < last for (number, _, _), last in zip(copies, latest, strict=True)),
    }


def counts_of_arrivals(arrivals: list[Arrival]) -> dict[str, int]:
    return counts([(arrival.number, arrival.corrupted, arrival.marked) for arrival in arrivals])


def counts_of_fates(fates: list[Fate]) -> dict[str, int]:
    copies = [(number, copy) for number, fate in enumerate(fates) for copy in fate.copies]
    copies.sort(key=lambda pair: pair[1].leave_ns)
    return counts([(number, copy.corrupted, copy.marked) for number, copy in copies])


def counts_by_model(
    state: QdiscState, run: int, clock_ns: list[int], length_bytes: int, ect: bool
) -> dict[str, int]:
    model = LinkModel(state, unseeded_seed=link_seed(run, "unseeded", "forward", 0))
    return counts_of_fates([model.enqueue(now_ns, length_bytes, ect=ect) for now_ns in clock_ns])


@pytest.mark.parametrize("name", NAMES)
def test_one_more_run_of_the_model(fresh_rig: NetemRig, name: str) -> None:
    """n = 600 packets against 40 runs of the model."""
    case = CASES[name]
    state = case.state.replace(seed=None)
    fresh_rig.begin(state)
    sendings = fresh_rig.send(range(PACKETS), period_s=pace_s(), length_bytes=case.length_bytes, ect=case.ect)
    found = counts_of_arrivals(fresh_rig.receive(1.0))
    clock_ns = [sending.before_ns for sending in sendings]
    runs = [counts_by_model(state, run, clock_ns, case.length_bytes, case.ect) for run in range(RUNS)]
    for what, count in found.items():
        mean, spread = statistics.fmean(run[what] for run in runs), statistics.stdev(run[what] for run in runs)
        print(f"{name}, {what}: {count}, the model {mean:.1f} +- {spread:.1f}, n = {PACKETS}")
        assert abs(count - mean) <= 6 * spread + 2, what


def test_no_two_runs_are_alike(fresh_rig: NetemRig) -> None:
    """n = 600 at 10 %: two streams lose the same packets by chance once in 10^50."""
    state = CASES["loss"].state.replace(seed=None)
    lost = []
    for _ in range(2):
        fresh_rig.begin(state)
        fresh_rig.send(range(PACKETS), period_s=pace_s())
        lost.append(set(range(PACKETS)) - {arrival.number for arrival in fresh_rig.receive(1.0)})
    assert lost[0] != lost[1]
