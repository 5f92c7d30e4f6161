"""Runs of losses: counted in one place, and not at all where nobody saw which packets were lost."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.traces.fit.loss_runs import fit_loss
from netlab.traces.fit.outages import find_outages
from netlab.traces.fit.sources import LossSource
from netlab.traces.loss import GilbertElliott
from netlab.traces.loss_run import loss_runs, runs_of
from netlab.traces.trace import UNKNOWN, ClockVerdict, LossTimes, Trace, TracedPath
from netlab.traces.trace_figures import trace_figures
from netlab.traces.trace_series import outages, run_bins, runs_by_length


def lossy(lost: list[int], losses: LossTimes = LossTimes.COUNTED) -> Trace:
    return Trace.of(
        np.arange(len(lost), dtype=np.float64),
        path=TracedPath.FORWARD,
        clocks=ClockVerdict.ONE_CLOCK,
        lost=np.array(lost, dtype=np.int8),
        losses=losses,
    )


@given(st.lists(st.sampled_from([0, 1, UNKNOWN]), max_size=60))
def test_runs_are_those_of_a_plain_loop(lost: list[int]) -> None:
    by_hand = [len(list(run)) for kind, run in groupby(lost) if kind == 1]
    trace = lossy(lost)
    assert loss_runs(trace).tolist() == by_hand
    if trace.has_losses:
        runs = trace_figures(trace).loss.runs
        assert sum(length * times for length, times in runs.items()) == sum(by_hand)
        assert max(runs, default=0) == max(by_hand, default=0)


@given(st.lists(st.booleans(), max_size=60))
def test_runs_of_flags_cover_them_and_nothing_else(flags: list[bool]) -> None:
    begins, ends = runs_of(np.array(flags, dtype=np.bool_))
    covered = np.zeros(len(flags), dtype=np.bool_)
    for begin, end in zip(begins, ends, strict=True):
        assert begin < end and not covered[begin:end].any()
        covered[begin:end] = True
    assert covered.tolist() == flags
    assert (begins[1:] > ends[:-1]).all()


def test_where_nobody_saw_which_were_lost_there_are_no_runs() -> None:
    lost = [0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0] * 20
    counted, spread = lossy(lost), lossy(lost, LossTimes.SPREAD)
    assert loss_runs(counted).size == 40 and outages(counted, 0.0) and find_outages(counted).packets.size == 40
    assert loss_runs(spread).size == 0 and outages(spread, 0.0) == [] and find_outages(spread).packets.size == 0
    assert not runs_by_length(spread, run_bins(4)).any()
    seen, unseen = fit_loss(LossSource(counted)), fit_loss(LossSource(spread))
    assert seen.outage_s is not None and seen.runs == 40
    assert (unseen.outage_s, unseen.runs, unseen.is_unlike) == (None, None, False)
    assert unseen.at_rate(50.0) == pytest.approx(140 / 240, abs=1e-4)
    assert isinstance(seen.at_rate(50.0), GilbertElliott)
