"""Presets and the one parser of what a person may write for a link."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from link_strategies import refused

import netlab.traces
from netlab.errors import ProfileError
from netlab.traces.loss import GilbertElliott
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import PRESETS, parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule
from netlab.traces.slot import Slot
from netlab.traces.toml_profile import format_profile, parse_profile, write_profile

ROOT_2 = math.sqrt(2.0)


def test_the_names():
    modelled = ["cellular-lte", "satellite-leo", "wifi-home", "wifi-jammed"]
    assert list(PRESETS) == ["ethernet-clean", "wifi-normal", "wifi-degraded", "measured", *modelled]
    assert len(PRESETS) == 8
    assert "wifi" not in PRESETS
    for name, pair in PRESETS.items():
        assert pair.name == name and pair.reading == "rtt" and pair.description


# Name, mean, deviation, loss as the paper gives them.
PAPER = [
    ("ethernet-clean", 0.002, 0.0, 0.0),
    ("wifi-normal", 0.03, 0.01, 0.02),
    ("wifi-degraded", 0.08, 0.04, 0.1),
]


@pytest.mark.parametrize(("name", "mean_s", "sd_s", "loss"), PAPER)
def test_oneway_gives_each_direction_the_whole(name, mean_s, sd_s, loss):
    pair = parse_preset(f"{name}@oneway")
    direction = LinkProfile(delay_s=mean_s, jitter_s=sd_s, law="normal", loss=loss, ordered=False)
    assert (pair.name, pair.reading) == (name, "oneway")
    assert pair.forward == pair.back == direction


@pytest.mark.parametrize(("name", "mean_s", "sd_s", "loss"), PAPER)
def test_rtt_halves_the_mean_and_divides_the_deviation_by_root_two(name, mean_s, sd_s, loss):
    pair = parse_preset(f"{name}@rtt")
    direction = LinkProfile(delay_s=mean_s / 2, jitter_s=sd_s / ROOT_2, law="normal", loss=loss, ordered=False)
    assert pair.forward == pair.back == direction
    assert pair.reading == "rtt"


@pytest.mark.parametrize("name", list(PRESETS))
def test_the_plain_name_is_rtt(name):
    assert parse_preset(name) == parse_preset(f"{name}@rtt") == parse_preset(f" {name} ") == PRESETS[name]


def test_the_round_trip_of_rtt_is_what_the_paper_says():
    # 30 +- 10 ms; 1.7 % of each direction is clipped at zero, which adds 0.04 ms.
    pair = parse_preset("wifi-normal")
    assert pair.round_trip_mean_s == pytest.approx(0.030, abs=0.0001)
    assert pair.round_trip_sd_s == pytest.approx(0.010, abs=0.0002)


def test_measured_is_half_the_series_each_way():
    pair = parse_preset("measured")
    assert isinstance(pair.forward, Schedule) and pair.forward == pair.back
    assert len(pair.forward.steps) == 600
    assert pair.forward.duration_s == 60.0 and pair.forward.loop
    assert pair.forward.steps[1].start_s == 0.1
    assert pair.forward.steps[0].profile == LinkProfile(delay_s=0.1863 / 2)
    assert pair.round_trip_mean_s == pytest.approx(0.182485, abs=1e-6)
    assert pair.round_trip_sd_s == pytest.approx(0.012358, abs=1e-6)


@pytest.mark.parametrize("text", [f"{name}@{way}" for name, *_ in PAPER for way in ("rtt", "oneway")])
def test_the_papers_networks_say_where_they_are_from_and_how_they_were_read(text):
    pair = parse_preset(text)
    assert "arXiv 2603.12543" in pair.provenance.method and pair.provenance.origins == ()
    assert ("round trip's" if text.endswith("@rtt") else "each direction's") in pair.provenance.assumptions[0]
    assert parse_profile(format_profile(pair)) == pair


def test_measured_names_its_file():
    pair = parse_preset("measured")
    (origin,) = pair.provenance.origins
    data = (Path(netlab.traces.__file__).parent / "data" / "ping_series.dat").read_bytes()
    assert origin.sha256 == hashlib.sha256(data).hexdigest() and "ping_series.dat" in origin.source
    assert (origin.path, origin.clocks, origin.n) == ("round-trip", "one-clock", 600)
    assert any("100 ms apart" in text for text in pair.provenance.assumptions)
    assert parse_profile(format_profile(pair)) == pair


def test_inline_options_are_each_directions():
    pair = parse_preset("delay=30ms,jitter=10ms,loss=2%")
    assert pair.forward == pair.back == LinkProfile(delay_s=0.03, jitter_s=0.01, loss=0.02)
    assert (pair.name, pair.reading) == ("delay=30ms,jitter=10ms,loss=2%", "oneway")


def test_inline_options_reach_every_key():
    text = (
        "delay=20ms, jitter=5ms, law=uniform, loss.mean=10%, loss.burst=4, duplicate=1%, corrupt=0.1%, "
        "reorder=25%, reorder_gap=5, rate=10mbit, overhead=-4B, cell=48B, cell_overhead=5B, limit=2000, "
        "slot.delay=10ms, slot.max_packets=3, ecn=true, ordered=true"
    )
    assert parse_preset(text).forward == LinkProfile(
        delay_s=0.02,
        jitter_s=0.005,
        law="uniform",
        loss=GilbertElliott.from_mean(0.1, 4.0),
        duplicate_ratio=0.01,
        corrupt_ratio=0.001,
        reorder_ratio=0.25,
        reorder_gap=5,
        rate_bps=1e7,
        overhead_bytes=-4,
        cell_bytes=48,
        cell_overhead_bytes=5,
        limit_packets=2000,
        slot=Slot(delay_s=0.01, max_packets=3),
        ecn=True,
    )


def test_a_long_inline_profile_has_a_short_name():
    text = "delay=30ms," + " " * 300 + "loss=2%"
    assert parse_preset(text).name == "inline"


def test_a_file_is_found_by_its_suffix(tmp_path):
    path = tmp_path / "x=1.toml"
    pair = ProfilePair("mine", LinkProfile(delay_s=0.01), LinkProfile())
    write_profile(pair, path)
    assert parse_preset(str(path)) == pair


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("wifi-degrade", "'wifi-degrade': unknown preset; did you mean 'wifi-degraded'?"),
        ("WiFi-Normal", "did you mean 'wifi-normal'?"),
        ("starlink", "'starlink': unknown preset"),
        ("", "'': unknown preset"),
        ("wifi-normal@both", "unknown reading 'both'"),
        ("wifi-normal@", "unknown reading ''"),
        ("measured@oneway", "halved over the directions"),
        ("satellite-leo@oneway", "halved over the directions"),
        ("delay=3ms@rtt", "a reading belongs to a preset"),
        ("x.toml@rtt", "a reading belongs to a preset"),
        ("none.toml", "none.toml: cannot be read: No such file"),
        ("runs/lte", "'runs/lte' looks like a file: a profile file's name ends in .toml"),
        ("lte.tml", "'lte.tml' looks like a file: a profile file's name ends in .toml"),
        ("wifi-degraded,loss=5%", "'wifi-degraded,loss=5%': a preset takes no options"),
        ("loss=5%, wifi-degraded@oneway", "a preset takes no options"),
        ("delay=30", "inline profile: delay: '30' has no unit; write a duration"),
        ("delay=30ms,loss", "inline profile: 'loss' is not KEY=VALUE"),
        ("delay=30ms,,loss=1%", "inline profile: '' is not KEY=VALUE"),
        ("delay=", "is not KEY=VALUE"),
        ("=3", "is not KEY=VALUE"),
        ("delay=1ms,delay=2ms", "inline profile: delay: is given twice"),
        ("loss=1%,loss.mean=2%", "inline profile: loss.mean: loss has a value already"),
        ("loss.mean=2%,loss=1%", "inline profile: loss: is given twice"),
        ("loss=1", "inline profile: loss: 1 could mean percent or a ratio; write 1%"),
        ("loss_correlation=1%", "there is no such key"),
        ("delay=-3ms", "inline profile: delay: '-3ms' is negative"),
        ("jitter=3ms", "inline profile: jitter: '3ms' without a delay"),
        ("reorder=3%", "inline profile: reorder: '3%' without a delay"),
        ("x" * 4000, "unknown preset"),
        ("x" * 3000 + ".tml", "looks like a file"),
        ("x" * 5000, "a profile of 5000 characters: at most 4096"),
    ],
)
def test_what_is_no_link_is_refused(text, words):
    error = refused(parse_preset, text)
    assert words in str(error)
    assert len(str(error)) < 400


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("loss=2%,loss.burst=3", "write loss.mean=2%,loss.burst=3"),
        ("loss=2%,loss.mean=3%", "leave loss=2% out, or loss.mean"),
        ("delay=2h", "at most 1h"),
        (
            "wifi-degraded@oneway,loss=5%",
            "netlab profile show wifi-degraded@oneway > mine.toml, change mine.toml and give it instead",
        ),
    ],
)
def test_a_refusal_says_what_to_write(text, hint):
    assert refused(parse_preset, text).hint == hint
    if text == "loss=2%,loss.burst=3":
        assert parse_preset(hint.removeprefix("write ")).forward.loss == GilbertElliott.from_mean(0.02, 3.0)


def test_a_file_without_the_suffix_is_told_of_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lte").write_text("[link]\n")
    assert "a profile file's name ends in .toml" in str(refused(parse_preset, "lte"))


def test_an_unknown_name_lists_what_may_be_written():
    hint = refused(parse_preset, "starlink").hint
    for words in ("wifi-degraded", "@oneway", ".toml", "delay=30ms"):
        assert words in hint


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_link_or_refused(text):
    try:
        pair = parse_preset(text)
    except ProfileError:
        return
    assert isinstance(pair, ProfilePair)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["delay", "loss", "loss.p", "slot.delay", "rate", "x"]), st.text(max_size=6))
    )
)
def test_any_options_are_a_link_or_refused(options):
    try:
        parse_preset(",".join(f"{name}={value}" for name, value in options))
    except ProfileError as error:
        assert len(str(error)) < 400


def test_pairs_are_checked():
    clean = LinkProfile()
    assert "name is empty" in str(refused(ProfilePair, "", clean, clean))
    assert "one line" in str(refused(ProfilePair, "a\nb", clean, clean))
    assert "one line" in str(refused(ProfilePair, "a", clean, clean, "rtt", "x" * 2000))
    assert "reading = 'up'" in str(refused(ProfilePair, "a", clean, clean, "up"))
    assert "back = 'wifi'" in str(refused(ProfilePair, "a", clean, "wifi"))


def test_a_pairs_warnings_name_the_direction_that_differs():
    clipped, clean = LinkProfile(delay_s=0.01, jitter_s=0.01, ordered=False), LinkProfile()
    assert ProfilePair("a", clipped, clean).warnings() == [f"forward: {clipped.warnings()[0]}"]
    assert ProfilePair("a", clipped, clipped).warnings() == clipped.warnings()
    assert ProfilePair("a", clean, clean).warnings() == []
