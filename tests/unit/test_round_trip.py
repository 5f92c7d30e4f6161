"""Round trips of pairs: what was asked for and what the link delivers of it."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from link_strategies import refused

from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step
from netlab.traces.series import PingSeries, series_schedule

RATE_HZ = 50.0
# 20,000 packets are simulated: an sd is known to 0.5 % (one sigma), a mean to sd / 141. Allowed: four sigmas.
SD_TOLERANCE = 0.02
MEAN_TOLERANCE_OF_SD = 4 / math.sqrt(20_000)


def both(profile: LinkProfile | Schedule) -> ProfilePair:
    return ProfilePair("both", profile, profile)


# The paper's figures: a plain name has them for the round trip, @oneway in each direction.
@pytest.mark.parametrize(
    ("name", "mean_ms", "sd_ms"),
    [
        ("ethernet-clean", 2.0, 0.0),
        ("wifi-normal", 30.0, 10.0),
        ("wifi-degraded", 80.0, 40.0),
        ("ethernet-clean@oneway", 4.0, 0.0),
        ("wifi-normal@oneway", 60.0, 10.0 * math.sqrt(2)),
        ("wifi-degraded@oneway", 160.0, 40.0 * math.sqrt(2)),
    ],
)
def test_the_presets_ask_for_the_papers_figures(name: str, mean_ms: float, sd_ms: float) -> None:
    asked = parse_preset(name).asked_round_trip
    assert asked.mean_s * 1e3 == pytest.approx(mean_ms)
    assert asked.sd_s * 1e3 == pytest.approx(sd_ms)


# Unordered: what is delivered is the law clipped at zero (docs/profiles.md has these figures).
@pytest.mark.parametrize(
    ("name", "mean_ms", "sd_ms"),
    [
        ("ethernet-clean", 2.0, 0.0),
        ("wifi-normal", 30.1, 9.8),
        ("wifi-degraded", 82.0, 37.3),
        ("wifi-degraded@oneway", 160.7, 55.4),
    ],
)
def test_the_presets_deliver_their_clipped_laws(name: str, mean_ms: float, sd_ms: float) -> None:
    delivered = parse_preset(name).delivered_round_trip(RATE_HZ)
    # Beside the simulation's own: each direction has half the variance, and both have one seed.
    within = 0.05 + 2 * MEAN_TOLERANCE_OF_SD * sd_ms
    assert delivered.mean_s * 1e3 == pytest.approx(mean_ms, abs=within)
    assert delivered.sd_s * 1e3 == pytest.approx(sd_ms, abs=0.05 + SD_TOLERANCE * sd_ms)


@pytest.mark.parametrize("name", ["wifi-degraded@oneway", "delay=40ms,jitter=28.3ms", "rate=10mbit"])
def test_the_quantile_is_of_what_is_delivered(name: str) -> None:
    pair = parse_preset(name)
    mean_s, sd_s = pair.delivered_round_trip(RATE_HZ)
    # These round trips are near normal, whose 99 % lie below 2.33 deviations; skewed ones' within half a deviation
    # of that.
    expected_s = mean_s + 2.33 * sd_s
    assert pair.delivered_flow(RATE_HZ).quantile_s(0.99) == pytest.approx(expected_s, abs=0.5 * sd_s + 1e-6)
    assert pair.delivered_flow(RATE_HZ).quantile_s(0.5) == pytest.approx(mean_s, abs=0.5 * sd_s + 1e-6)


def test_the_quantile_of_a_schedule_takes_its_steps_together() -> None:
    pair = parse_preset("measured")
    assert pair.delivered_flow(RATE_HZ).quantile_s(0.98) == pytest.approx(
        pair.round_trip_quantile_s(0.98), abs=0.0005
    )


def test_an_ordered_link_delivers_more_delay_and_less_jitter() -> None:
    """40 +- 28 ms a direction, in order at 50 packets a second, is 50.0 +- 22.4 ms (docs/profiles.md)."""
    profile = LinkProfile(delay_s=0.040, jitter_s=0.0283)
    pair = both(profile)
    assert pair.asked_round_trip.mean_s == pytest.approx(0.080)
    assert pair.asked_round_trip.sd_s == pytest.approx(0.040, rel=1e-3)
    delivered = pair.delivered_round_trip(RATE_HZ)
    assert delivered.mean_s == pytest.approx(2 * 0.0500, abs=0.001)
    assert delivered.sd_s == pytest.approx(0.0224 * math.sqrt(2), rel=SD_TOLERANCE)
    # Packets that are far apart do not wait for one another: the clipped law is left.
    sparse = pair.delivered_round_trip(1.0)
    assert sparse.mean_s == pytest.approx(pair.round_trip_mean_s, abs=0.001)
    assert sparse.sd_s == pytest.approx(pair.round_trip_sd_s, rel=SD_TOLERANCE)


def test_the_measured_series() -> None:
    pair = parse_preset("measured")
    asked, delivered = pair.asked_round_trip, pair.delivered_round_trip(RATE_HZ)
    assert asked == (pair.round_trip_mean_s, pair.round_trip_sd_s)
    # 91.24 ms asked, 91.26 delivered, each way: the slopes after a fall.
    assert asked.mean_s * 1e3 == pytest.approx(2 * 91.24, abs=0.02)
    assert delivered.mean_s * 1e3 == pytest.approx(2 * 91.26, abs=0.05)
    # The slopes add 2 % to the deviation.
    assert delivered.sd_s == pytest.approx(asked.sd_s, rel=0.03)


def test_the_figures_in_the_documentation() -> None:
    text = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text(encoding="utf-8")
    section = text.partition("### Asked and delivered")[2].partition("###")[0]
    rows = re.findall(r"^\| `(.+?)` \| ([\d.]+) \+- ([\d.]+) ms \| ([\d.]+) \+- ([\d.]+) ms \|$", section, re.M)
    assert len(rows) == 5
    for link, *figures in rows:
        pair = parse_preset(link)
        computed = (*pair.asked_round_trip, *pair.delivered_round_trip(RATE_HZ))
        assert [float(figure) for figure in figures] == [round(1e3 * value, 1) for value in computed]


def test_halves_of_one_sample_belong_together() -> None:
    rtt_s = (0.100, 0.300)
    pair = ProfilePair("s", *series_schedule(PingSeries(rtt_s=rtt_s)))
    # Independent halves would deviate by 0.071 s.
    assert pair.delivered_round_trip(10.0).sd_s == pytest.approx(0.100, rel=0.05)


@pytest.mark.parametrize("loss", [0.0, 0.3])
def test_steps_belong_together_and_the_draws_within_them_do_not(loss: float) -> None:
    def step(start_s: float, delay_s: float) -> Step:
        return Step(start_s, LinkProfile(delay_s=delay_s, jitter_s=0.01, loss=loss, ordered=False))

    steps = (step(0.0, 0.1), step(0.1, 0.2))
    forward = Schedule(steps, 0.2, loop=True)
    back = Schedule(tuple(Step(one.start_s, one.profile.replace(loss=0.1)) for one in steps), 0.2, loop=True)
    delivered = ProfilePair("s", forward, back).delivered_round_trip(100.0)
    # Steps: 0.2 or 0.4 s. Draws: 0.01 s in each direction, independent of one another.
    assert delivered.mean_s == pytest.approx(0.3, rel=0.01)
    assert delivered.sd_s == pytest.approx(math.hypot(0.1, 0.01, 0.01), rel=SD_TOLERANCE)
    same_step = Schedule((step(0.0, 0.1), step(0.1, 0.1)), 0.2, loop=True)
    assert both(same_step).delivered_round_trip(100.0).sd_s == pytest.approx(0.01414, rel=SD_TOLERANCE)


def test_other_laws_are_asked_for_as_their_quantiles_are() -> None:
    uniform = both(LinkProfile(delay_s=0.05, jitter_s=0.01, law="uniform", ordered=False))
    assert uniform.asked_round_trip.sd_s == pytest.approx(0.01 / math.sqrt(3) * math.sqrt(2), rel=1e-3)
    table = both(LinkProfile(law="table", delay_table_s=(0.01, 0.03), ordered=False))
    assert table.asked_round_trip == pytest.approx((0.04, 0.01 * math.sqrt(2)), rel=1e-6)


def test_a_link_that_loses_all_has_no_round_trip() -> None:
    dead, alive = LinkProfile(loss=1.0), LinkProfile()
    for forward, back in ((dead, alive), (alive, dead), (dead, dead)):
        pair = ProfilePair("gone", forward, back)
        assert pair.asked_round_trip == (0.0, 0.0)
        assert "gone: the link delivers nothing" in str(refused(pair.delivered_round_trip, RATE_HZ))
    # Each direction delivers, but never while the other does.
    on_off = (Step(0.0, alive), Step(1.0, dead))
    off_on = (Step(0.0, dead), Step(1.0, alive))
    pair = ProfilePair("turns", Schedule(on_off, 2.0, loop=True), Schedule(off_on, 2.0, loop=True))
    assert "turns: the link delivers nothing" in str(refused(pair.delivered_round_trip, RATE_HZ))


def test_the_packet_rate_is_checked() -> None:
    assert "packet_rate_hz = 0.0" in str(refused(both(LinkProfile()).delivered_round_trip, 0.0))
