"""A pair fitted to traces: what is predicted of it is what the kernel's own algorithm delivers."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from netlab.errors import ProfileError, TraceError
from netlab.traces.delivery import delivered_delays_s, delivered_moments
from netlab.traces.distance import ks_distance, wasserstein_1
from netlab.traces.fit.pair_fit import fit_pair
from netlab.traces.fit.sources import find_sources
from netlab.traces.fit.split import SYMMETRIC, Split
from netlab.traces.loss import GilbertElliott
from netlab.traces.model.link_model import LinkModel
from netlab.traces.profile import LinkProfile
from netlab.traces.provenance import Provenance
from netlab.traces.seed import link_seed
from netlab.traces.toml_profile import format_profile, parse_profile
from netlab.traces.trace import ClockVerdict, Trace, TracedPath

RATE_HZ = 50.0


def trace(
    delay_s=None, path=TracedPath.ROUND_TRIP, interval_s=1.0, clocks=ClockVerdict.ONE_CLOCK, **columns
) -> Trace:
    n = len(next(column for column in (delay_s, *columns.values()) if column is not None))
    return Trace.of(
        np.arange(n) * interval_s, path=path, clocks=clocks, delay_s=delay_s, source="wifi.csv, csv", **columns
    )


def delays(n=5000, seed=1, sigma=0.4) -> np.ndarray:
    return 0.02 + np.random.default_rng(seed).lognormal(-4.0, sigma, n)


def by_the_kernels_algorithm(profile: LinkProfile, packets: int, direction: str) -> np.ndarray:
    """Return the delay of each packet of an even flow; NaN for one that is lost."""
    model = LinkModel(profile.to_qdisc_state(link_seed(1, "link0", direction, 0)))
    delays_s = np.full(packets, np.nan)
    for packet in range(packets):
        sent_ns = round(packet * 1e9 / RATE_HZ)
        copies = model.enqueue(sent_ns, 200).copies
        if copies:
            delays_s[packet] = (copies[0].leave_ns - sent_ns) / 1e9
    return delays_s


def test_each_directions_delays_are_delivered_as_predicted():
    there, back = trace(delays(), TracedPath.FORWARD), trace(delays(seed=2, sigma=0.8), TracedPath.BACK)
    pair = fit_pair([there, back], packet_rate_hz=RATE_HZ).pair
    for profile, measured, origin in zip(
        (pair.forward, pair.back), (there, back), pair.provenance.origins, strict=True
    ):
        got_s = by_the_kernels_algorithm(profile, 20_000, origin.path)
        # n = 20,000, neighbours waiting for one another a little: KS of two such samples of one law passes
        # 1.63 sqrt(2 / n) = 0.016 in 1 of 100; W1 is of the order sd / sqrt n = 0.1 ms.
        assert ks_distance(got_s, measured.delay_s) == pytest.approx(origin.predicted_ks, abs=0.02)
        assert wasserstein_1(got_s, measured.delay_s) == pytest.approx(origin.predicted_w1_s, abs=0.4e-3)
        assert got_s.mean() == pytest.approx(measured.delay_s.mean(), rel=0.02)
    assert pair.reading == "oneway" and pair.name == "wifi"


def test_a_round_trip_comes_back_as_it_was():
    measured = trace(2 * delays())
    found = fit_pair([measured], packet_rate_hz=RATE_HZ)
    assert found.pair.forward == found.pair.back and found.pair.reading == "rtt"
    there, back = (by_the_kernels_algorithm(found.pair.forward, 20_000, way) for way in ("forward", "back"))
    origin = found.pair.provenance.origins[0]
    assert ks_distance(there + back, measured.delay_s) == pytest.approx(origin.predicted_ks, abs=0.02)
    assert wasserstein_1(there + back, measured.delay_s) == pytest.approx(origin.predicted_w1_s, abs=0.5e-3)
    # A tenth of the deviation at most, though two directions are drawn and packets keep their order.
    assert origin.predicted_w1_s < 0.1 * measured.delay_s.std()
    assert not found.agreements[0].is_far
    assert parse_profile(format_profile(found.pair)) == found.pair


def test_order_costs_nothing_that_is_not_taken_off():
    measured = trace(delays(sigma=0.8), TracedPath.FORWARD)
    pair = fit_pair([measured], packet_rate_hz=RATE_HZ).pair
    plain = LinkProfile(law="table", delay_table_s=tuple(np.sort(measured.delay_s).tolist()))
    far = [
        wasserstein_1(delivered_delays_s(one, RATE_HZ, n=100_000), measured.delay_s)
        for one in (pair.forward, plain)
    ]
    assert far[0] < 0.5 * far[1]
    assert "what keeping the order adds is taken off, for 50 packets/s" in pair.provenance.assumptions


def test_packets_that_overtook_may_overtake():
    measured = trace(delays(), TracedPath.FORWARD, interval_s=0.005)
    pair = fit_pair([measured]).pair
    assert not pair.forward.ordered and pair.back == LinkProfile()
    assert pair.provenance.predicted_w1_s < 0.2e-3
    assert any("keeps no order" in text for text in pair.provenance.assumptions)
    rates = trace(path=TracedPath.FORWARD, rate_bps=np.full(5000, 1e7), delay_s=delays(), interval_s=0.005)
    assert fit_pair([rates]).pair.forward.ordered  # through a rate packets never overtake


def test_losses_in_bursts_become_a_chain_for_the_flow():
    rng = np.random.default_rng(3)
    turns = np.cumsum(np.column_stack([rng.exponential(2.0, 2000), rng.exponential(0.1, 2000)]).ravel())
    lost = (np.searchsorted(turns, np.arange(100_000) * 0.01) % 2).astype(np.int8)
    measured = trace(path=TracedPath.FORWARD, interval_s=0.01, lost=lost)
    found = fit_pair([measured], packet_rate_hz=RATE_HZ)
    chain = found.pair.forward.loss
    assert isinstance(chain, GilbertElliott) and found.losses[1] is None
    assert chain.loss_ratio_mean == pytest.approx(lost.mean(), rel=1e-3)
    got = np.isnan(by_the_kernels_algorithm(found.pair.forward, 100_000, "forward"))
    # n = 100,000 packets, about 950 bursts: 2,000 s of exponential times, 4 % standard error, 4 of them.
    assert got.mean() == pytest.approx(lost.mean(), rel=0.16)
    runs = np.diff(np.flatnonzero(np.diff(got.astype(int), prepend=0)))[::2]
    assert runs.mean() == pytest.approx(chain.burst_packets, rel=0.16)
    assert any("the chain is for 50 packets/s" in text for text in found.pair.provenance.assumptions)


def test_independent_losses_of_a_round_trip_are_split():
    lost = (np.random.default_rng(4).random(5000) < 0.1).astype(np.int8)
    pair = fit_pair([trace(lost=lost)], packet_rate_hz=RATE_HZ).pair
    assert (1.0 - pair.forward.loss) * (1.0 - pair.back.loss) == pytest.approx(1.0 - lost.mean(), abs=1e-4)
    whole = fit_pair([trace(lost=lost)], split=Split(1.0)).pair
    assert (whole.forward.loss, whole.back.loss) == (pytest.approx(lost.mean(), abs=1e-4), 0.0)


def test_what_a_slow_trace_cannot_tell_a_fast_flow_is_said():
    """Outages of 0.2 s, asked once a second, are lone losses; that they last cannot be seen."""
    rng = np.random.default_rng(8)
    turns = np.cumsum(np.column_stack([rng.exponential(4.0, 2000), np.full(2000, 0.2)]).ravel())
    lost = (np.searchsorted(turns, np.arange(3000.0)) % 2).astype(np.int8)
    delay_s = np.where(lost == 1, np.nan, delays(3000))
    found = fit_pair([trace(delay_s, lost=lost)], packet_rate_hz=RATE_HZ)
    words = found.pair.provenance.assumptions
    assert any("independent at the trace's interval of 1s" in text for text in words)
    assert any("shorter bursts cannot be seen" in text for text in words)
    assert any("in the trace neighbours, 1s apart, are correlated by" in text for text in words)
    assert found.is_coarse and found.interval_s == pytest.approx(1.0)
    assert not fit_pair([trace(delay_s, lost=lost)], packet_rate_hz=2.0).is_coarse
    assert not fit_pair([trace(delay_s, lost=lost, interval_s=0.02)], packet_rate_hz=RATE_HZ).is_coarse


def test_the_flow_it_is_for_is_kept_and_what_another_one_gets_is_a_caution():
    measured = trace(delays(sigma=0.8), TracedPath.FORWARD)
    pair = fit_pair([measured], packet_rate_hz=RATE_HZ).pair
    assert pair.provenance.packet_rate_hz == RATE_HZ
    assert parse_profile(format_profile(pair)).provenance.packet_rate_hz == RATE_HZ
    (text,) = [text for text in pair.warnings() if text.startswith("fitted for a flow of 50 packets/s")]
    at_half, at_rate, at_twice = (
        1e3 * delivered_moments(pair.forward, rate_hz).mean_s for rate_hz in (25.0, 50.0, 100.0)
    )
    assert at_half < 0.98 * at_rate < at_twice
    assert f"it has {at_rate:.4g} ms there and back, one of 25 has {at_half:.4g} ms, one of 100 has" in text
    # What waits for nobody is the same to every flow, and a generator's provenance names none.
    assert not any("fitted for" in text for text in fit_pair([trace(np.full(9, 0.08))]).pair.warnings())
    nobodys = msgspec.structs.replace(pair, provenance=Provenance(method="by hand"))
    assert not any("fitted for" in text for text in nobodys.warnings())


def test_memory_is_told_beside_distances_that_are_blind_to_it():
    rng = np.random.default_rng(9)
    slow_s = 0.05 + np.convolve(rng.exponential(0.002, 5004), np.ones(5), "valid")
    (one,) = fit_pair([trace(slow_s, TracedPath.FORWARD)], packet_rate_hz=5.0).agreements
    assert one.ks < 0.05 and one.measured_lag_1 == pytest.approx(0.8, abs=0.05)
    # n = 100,000 packets, each drawn on its own and 200 ms apart: standard error 0.003, bounded at 5 of them.
    assert abs(one.predicted_lag_1) < 0.016


def test_a_declared_split_is_kept_and_named():
    measured = trace(0.1 + 0.1 * delays())
    pair = fit_pair([measured], split=Split.parse("70:30"), packet_rate_hz=RATE_HZ).pair
    assert pair.forward.delay_mean_s == pytest.approx(0.7 * measured.delay_s.mean(), rel=0.01)
    assert pair.back.delay_mean_s == pytest.approx(0.3 * measured.delay_s.mean(), rel=0.01)
    assert any("70:30 (forward:back), as declared" in text for text in pair.provenance.assumptions)
    ahead = fit_pair([measured], split=Split(1.0)).pair
    assert ahead.back == LinkProfile()
    assert ahead.provenance.predicted_w1_s < 1e-5


def test_rates_are_means_by_the_time_they_hold():
    there = trace(path=TracedPath.FORWARD, rate_bps=np.array([1e6, 3e6, 5e6]), bin_s=1.0)
    back = Trace.of(
        np.array([0.0, 9.0, 10.0]), path=TracedPath.BACK, clocks=ClockVerdict.UNKNOWN,
        rate_bps=np.array([1e6, 11e6, np.nan]),
    )  # fmt: skip
    found = fit_pair([there, back])
    assert (found.pair.forward.rate_bps, found.pair.back.rate_bps) == (3e6, 2e6)
    assert (found.rates[1].low_bps, found.rates[1].high_bps, found.rates[1].known_s) == (1e6, 11e6, 10.0)
    assert found.pair.forward.delay_s == 0.0 and found.agreements == []
    with pytest.raises(TraceError, match="carried 0 bits"):
        fit_pair([trace(path=TracedPath.BACK, rate_bps=np.zeros(3))])


def test_clocks_out_of_step_need_a_base():
    variation = trace(delays() - 0.02, TracedPath.FORWARD, clocks=ClockVerdict.VARIATION_ONLY)
    with pytest.raises(TraceError, match="clocks are out of step") as caught:
        fit_pair([variation])
    assert "--base-delay" in caught.value.hint
    pair = fit_pair([variation], base_delay_s=0.05).pair
    assert pair.forward.delay_mean_s == pytest.approx(variation.delay_s.mean() + 0.05, rel=0.01)
    assert any("is declared, 50 ms" in text for text in pair.provenance.assumptions)


def test_unknown_clocks_give_way_to_a_round_trip():
    there, back = (
        trace(delays(), path, clocks=ClockVerdict.UNKNOWN) for path in (TracedPath.FORWARD, TracedPath.BACK)
    )
    assert not find_sources([there, back], SYMMETRIC).are_split
    assert find_sources([there, back, trace(delays())], SYMMETRIC).are_split
    words = fit_pair([there, back]).pair.provenance.assumptions
    assert any("nothing is known of the clocks" in text for text in words)


def test_what_cannot_be_delivered_is_said_to_be_far():
    heavy = np.random.default_rng(5).pareto(1.2, 5000) * 0.005 + 0.02
    found = fit_pair([trace(np.append(heavy, 30.0))], packet_rate_hz=RATE_HZ)
    assert found.agreements[0].is_far
    assert any("as far as netem's tables reach" in text for text in found.pair.provenance.assumptions)


def test_the_same_trace_gives_the_same_pair():
    measured = trace(delays(), lost=np.zeros(5000, dtype=np.int8))
    assert fit_pair([measured]).pair == fit_pair([measured]).pair


def test_one_sample_is_a_constant_delay_and_names_are_one_line():
    pair = fit_pair([trace(np.array([0.08]))], name="kitchen").pair
    assert (pair.name, pair.forward.delay_s, pair.forward.law) == ("kitchen", 0.04, "normal")
    odd = Trace.of(
        np.zeros(1),
        path=TracedPath.ROUND_TRIP,
        clocks=ClockVerdict.ONE_CLOCK,
        delay_s=np.array([0.1]),
        source="a\nb.csv",
    )
    assert fit_pair([odd]).pair.name == "a?b"


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), 1e9])
def test_packet_rates_are_bounded(rate):
    with pytest.raises(ProfileError, match="packet_rate_hz"):
        fit_pair([trace(delays())], packet_rate_hz=rate)
