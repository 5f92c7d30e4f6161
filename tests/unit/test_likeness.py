"""Likeness: what a link delivers beside data of the network; n and bounds as stated."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from netlab.traces.conformance.allowance import EXACT, Allowance, default_allowance
from netlab.traces.conformance.asked import Asked
from netlab.traces.conformance.flow import Flow
from netlab.traces.conformance.likeness import AskedFlow, Likeness, compare_with_data
from netlab.traces.conformance.simulation import simulate
from netlab.traces.fit.pair_fit import fit_pair
from netlab.traces.fit.schedule_fit import fit_schedule
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.seed import DIRECTIONS, Direction, link_seed
from netlab.traces.trace import ClockVerdict, Trace, TracedPath

RATE_HZ = 50.0
FRAME_BYTES = 242


def measured(path: TracedPath, n: int = 3000, memory: float = 0.0, clocks: ClockVerdict | None = None) -> Trace:
    """Return a skewed trace, independent or with a memory of so much; 2 % lost."""
    rng = np.random.default_rng(8)
    noise = rng.normal(size=n)
    for row in range(1, n):
        noise[row] = memory * noise[row - 1] + np.sqrt(1.0 - memory**2) * noise[row]
    delay_s = 0.02 + 0.004 * np.exp(0.6 * noise)
    lost = rng.random(n) < 0.02
    return Trace.of(
        np.arange(n) / RATE_HZ,
        path=path,
        clocks=clocks or ClockVerdict.ONE_CLOCK,
        delay_s=np.where(lost, np.nan, delay_s),
        lost=lost.astype(np.int8),
        source="field",
    )


def delivered_by(pair: ProfilePair, n: int, seed: int = 1, rate_hz: float = RATE_HZ) -> dict[Direction, AskedFlow]:
    sent_s = np.arange(n) / rate_hz + 0.004
    flows: dict[Direction, AskedFlow] = {}
    for direction, asked in zip(DIRECTIONS, (pair.forward, pair.back), strict=True):
        one = Asked.of(asked)
        flow = next(simulate(one, sent_s, FRAME_BYTES, [link_seed(seed, "likeness", direction, 0)]))
        flows[direction] = AskedFlow(one, flow)
    return flows


def test_a_fitted_profile_is_as_like_its_round_trips_as_was_predicted() -> None:
    """n = 2,000; KS of 2,000 independent values lies below 1.63 / sqrt(2000) = 0.036 but once in 100."""
    trace = measured(TracedPath.ROUND_TRIP)
    pair = fit_pair([trace], packet_rate_hz=RATE_HZ).pair
    (found,) = compare_with_data([trace], delivered_by(pair, 2000), EXACT, provenance=pair.provenance)
    assert found.holds
    assert (found.path, found.source, found.measured) == ("round-trip", "field", trace.delays_s.size)
    assert pair.provenance is not None and found.predicted_ks == pair.provenance.origins[0].predicted_ks
    assert found.predicted_ks is not None and found.predicted_w1_s is not None
    assert abs(found.ks - found.predicted_ks) < 0.036 and abs(found.w1_s - found.predicted_w1_s) < 0.3e-3
    assert found.expected_ks <= found.most_ks
    assert msgspec.json.decode(msgspec.json.encode(found), type=Likeness) == found


def test_a_fitted_schedule_is_as_like_its_data_where_its_memory_is() -> None:
    """A whole pass of 60 s, n = 3,000, memory 0.95: the bound follows from the schedule, not from n alone."""
    trace = measured(TracedPath.FORWARD, memory=0.95)
    pair = fit_schedule([trace], step_s=0.1).pair
    flows = delivered_by(pair, 3000)
    (found,) = compare_with_data([trace], flows, default_allowance(virtual=True))
    assert found.holds and found.predicted_ks is None and found.path == "forward"


def test_a_link_further_from_the_data_than_asked_is_told() -> None:
    """2 ms more than asked on the way back, of data with an sd of 3 ms; and 2 ms allowed for."""
    trace = measured(TracedPath.ROUND_TRIP)
    pair = fit_pair([trace], packet_rate_hz=RATE_HZ).pair
    flows = delivered_by(pair, 2000)
    asked, late = flows["back"]
    late.delay_s += 0.002
    flows["back"] = AskedFlow(asked, late)
    (found,) = compare_with_data([trace], flows, EXACT)
    assert not found.holds and found.w1_s > found.most_w1_s and found.ks_beyond > found.most_ks
    (found,) = compare_with_data([trace], flows, Allowance(later_s=0.001))
    assert found.holds, "1 ms each way is 2 ms of a round trip"
    late.delay_s[::70] += 0.5
    (found,) = compare_with_data([trace], flows, Allowance(later_s=0.001, stragglers=0.02))
    assert found.holds, "stragglers"


def test_a_poor_picture_is_far_and_as_far_as_expected() -> None:
    trace = measured(TracedPath.FORWARD)
    poor = ProfilePair("poor", LinkProfile(delay_s=0.06, jitter_s=0.002), LinkProfile())
    (found,) = compare_with_data([trace], delivered_by(poor, 1000), EXACT)
    assert found.holds and found.ks > 0.9 and found.expected_ks > 0.9 and found.expected_w1_s > 0.015


@pytest.mark.parametrize("clocks", [ClockVerdict.VARIATION_ONLY, ClockVerdict.UNKNOWN])
def test_data_without_absolute_delays_says_nothing(clocks: ClockVerdict) -> None:
    trace = measured(TracedPath.FORWARD)
    pair = fit_pair([trace]).pair
    flows = delivered_by(pair, 200)
    assert compare_with_data([measured(TracedPath.FORWARD, clocks=clocks)], flows, EXACT) == []
    assert compare_with_data([measured(TracedPath.BACK)], {"forward": flows["forward"]}, EXACT) == []
    flows["forward"].flow.delay_s[:] = np.nan
    assert compare_with_data([trace], flows, EXACT) == [], "nothing arrived"


def test_what_is_allowed_for_lateness_is_told_apart_from_the_distance() -> None:
    """Every packet 2 ms late, where 1 ms a way is allowed and the middle half of the delays spans 4 ms."""
    trace = measured(TracedPath.ROUND_TRIP)
    pair = fit_pair([trace], packet_rate_hz=RATE_HZ).pair
    late = {
        way: AskedFlow(one.asked, Flow(one.flow.sent_s, one.flow.delay_s + 1e-3, one.flow.copies, FRAME_BYTES))
        for way, one in delivered_by(pair, 2000).items()
    }
    (found,) = compare_with_data([trace], late, Allowance(later_s=1e-3, stragglers=0.0))
    assert found.holds
    assert found.ks_beyond < 0.05
    assert found.ks > 0.1
    (found,) = compare_with_data([trace], late, EXACT)
    assert not found.holds and found.ks == found.ks_beyond
