"""The measures of a flow, each against a flow of a few packets that can be counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netlab.traces.conformance import measures
from netlab.traces.conformance.flow import Flow

NAN = math.nan


def flow(arrival_s: list[float], copies: list[int] | None = None) -> Flow:
    """Return packets of 125 bytes sent a tenth of a second apart; NaN for one that is lost."""
    arrival = np.array(arrival_s)
    sent_s = 0.1 * np.arange(arrival.size)
    counted = (~np.isnan(arrival)).astype(int) if copies is None else np.array(copies)
    return Flow(sent_s, arrival - sent_s, counted, 125)


LOSSY = flow([0.2, NAN, NAN, 0.5, NAN, 1.2], [1, 0, 0, 2, 0, 3])
"""Lost as .xx.x., and of two that arrive more than one copy."""


@pytest.mark.parametrize(
    ("arrival_s", "late"),
    [
        ([5.0, 6.0, 7.0, 1.0], 3),  # the last one overtakes all others, not only the one before it
        ([5.0, 6.0, 7.0, 8.0], 0),
        ([5.0, 7.0, 6.0, 8.0], 1),
        ([5.0, NAN, 7.0, NAN, 1.0], 2),  # what is lost overtakes nobody, and nobody overtakes it
        ([5.0, 5.0], 0),
    ],
)
def test_reordered_are_those_that_any_later_one_overtook(arrival_s: list[float], late: int) -> None:
    assert measures.reordered(flow(arrival_s)) == late


def test_lost_packets_and_the_mean_of_their_runs() -> None:
    assert measures.lost(LOSSY) == 3
    assert measures.loss_burst(LOSSY) == 1.5
    whole = flow([1.0, 1.1])
    assert measures.lost(whole) == 0 and math.isnan(measures.loss_burst(whole))


def test_duplicated_are_packets_not_copies() -> None:
    assert measures.duplicated(LOSSY) == 2
    assert measures.duplicated(flow([1.0, 1.1])) == 0


def test_throughput_is_of_first_copies_from_the_first_sent_to_the_last_arrived() -> None:
    assert measures.throughput_bps(LOSSY, 0.0) == pytest.approx(3 * 1000 / 1.2)
    # Without the one that came last of three: two until 0.5 s.
    assert measures.throughput_bps(LOSSY, 0.34) == pytest.approx(2 * 1000 / 0.5)
    assert math.isnan(measures.throughput_bps(flow([NAN, NAN]), 0.0))


def test_delays_are_of_those_that_arrive() -> None:
    # Delays of 0.2, 0.2 and 0.7 s.
    assert measures.delay_mean_s(LOSSY) == pytest.approx(1.1 / 3)
    assert measures.delay_sd_s(LOSSY) == pytest.approx((2.0**0.5) / 3 * 0.5)
