"""Presets that models make: near the published figures they stand for, quick, and as the page says."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import msgspec
import pytest

from netlab.errors import ProfileError
from netlab.traces.preset_models import PRESET_MODELS
from netlab.traces.presets import PRESETS, parse_preset
from netlab.traces.schedule import Schedule
from netlab.traces.toml_profile import format_profile, parse_profile

PAGE = (Path(__file__).parents[2] / "docs" / "presets.md").read_text()


DIGESTS = {
    "ethernet-clean": "d9b4877567dc020ce2621e5a12f9ebfb6e3101cd0974e148c4efd085066072bd",
    "wifi-normal": "2feb9d722797e7cbd83085b3f686dbed6a7b4b05be33f2a01daf17dc47bd1998",
    "wifi-degraded": "76409d91fa559d235662727e8eadafa84187fb863e7e17d70f0f61a69b6fb65f",
    "measured": "0a9f48122c3fc2b98ec09d1e622d660765480a97960e8583ded1e61c2eb50614",
    "cellular-lte": "5b626507ce9312e959beccf41aba9cb25627ac04562ff8b0a22297f37affbc8c",
    "satellite-leo": "f4fc17d5c3f8cb6ec7e868d221fbb4d243f05f413d660ea57eafa4b1de7c7228",
    "wifi-home": "0008273163584e1801084f79e9e8ed25365e0d7c73e39bea019e593262121d89",
    "wifi-jammed": "710f76458291a6c2578a8ffc04018ded8a0095ca3cfde7ef6c3867b1e282b618",
}
"""Of each preset as a file, without its provenance: whoever changes one has changed what a name means."""


@pytest.mark.parametrize("name", list(PRESETS))
def test_a_presets_name_means_the_same_network_for_ever(name: str) -> None:
    text = format_profile(msgspec.structs.replace(PRESETS[name], provenance=None))
    assert hashlib.sha256(text.encode()).hexdigest() == DIGESTS[name]
    if name in ("cellular-lte", "satellite-leo"):
        assert "rate = " in text


@pytest.mark.parametrize("name", list(PRESET_MODELS))
def test_a_modelled_preset_is_a_looping_pair_with_its_sources(name: str) -> None:
    pair = PRESETS[name]
    for way in (pair.forward, pair.back):
        assert isinstance(way, Schedule) and way.loop
        assert len(way.steps) <= 200, "quick to make and to read"
    assert pair.provenance is not None
    assert pair.provenance.seed == PRESET_MODELS[name].timing.seed
    assert "published figures" in pair.provenance.method and pair.provenance.assumptions
    assert parse_profile(format_profile(pair)) == pair
    with pytest.raises(ProfileError, match="halved over the directions"):
        parse_preset(f"{name}@oneway")


def test_every_model_has_its_name_among_the_presets() -> None:
    assert [name for name in PRESETS if name in PRESET_MODELS] == list(PRESET_MODELS)


# Published: median, 90 % and 99 % of the round trips in ms, and how near the pass has to come.
QUANTILES = [
    ("cellular-lte", 0.5, 83.0, 0.10),  # the lognormal with ERRANT's 4G mean and deviation, 93 +- 45 ms
    ("cellular-lte", 0.9, 158.0, 0.10),
    ("satellite-leo", 0.5, 37.0, 0.15),  # between Starlink's 33 and 48.5 ms
    ("wifi-home", 0.5, 3.0, 0.15),  # WiFiSeer: 3, 20 and 250 ms
    ("wifi-home", 0.9, 20.0, 0.20),
    ("wifi-home", 0.99, 250.0, 0.20),
]


@pytest.mark.parametrize(("name", "q", "published_ms", "within"), QUANTILES)
def test_a_pass_comes_near_to_the_published_quantiles(
    name: str, q: float, published_ms: float, within: float
) -> None:
    assert 1e3 * PRESETS[name].round_trip_quantile_s(q) == pytest.approx(published_ms, rel=within)


def test_the_satellite_changes_every_15_s() -> None:
    way = PRESETS["satellite-leo"].forward
    assert isinstance(way, Schedule)
    handovers_s = [step.start_s for step in way.steps if step.profile.loss == 1.0]
    assert handovers_s == [15.0 * slot for slot in range(20)]


def test_the_jammer_lies_over_the_home() -> None:
    jammed, home = PRESETS["wifi-jammed"].forward, PRESETS["wifi-home"].forward
    assert isinstance(jammed, Schedule) and isinstance(home, Schedule)
    assert {step.start_s for step in home.steps} - {step.start_s for step in jammed.steps} == set()
    dead_s = sum(segment.length_s for segment in jammed.segments() if segment.profile.loss == 1.0)
    # Windows of 1 s and pauses of 4 s: a fifth, and as many windows as turns of 5 s.
    assert dead_s / jammed.duration_s == pytest.approx(1 / 5, abs=0.005)
    back = PRESETS["wifi-jammed"].back
    assert isinstance(back, Schedule)
    assert [step.start_s for step in back.steps if step.profile.loss == 1.0] == [
        step.start_s for step in jammed.steps if step.profile.loss == 1.0
    ]


def test_the_page_has_what_is_computed() -> None:
    rows = {
        cells[0].strip("` "): cells[1:]
        for line in PAGE.splitlines()
        if line.startswith("| `") and len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 6
    }
    assert set(rows) == set(PRESET_MODELS)
    for name, (seed, median, p90, p99, loss) in rows.items():
        pair = PRESETS[name]
        assert int(seed) == PRESET_MODELS[name].timing.seed
        for text, q in ((median, 0.5), (p90, 0.9), (p99, 0.99)):
            assert float(text.removesuffix(" ms")) == pytest.approx(1e3 * pair.round_trip_quantile_s(q), abs=0.051)
        assert float(loss.removesuffix(" %")) == pytest.approx(100 * pair.loss_ratio_mean, abs=0.0051)


def test_the_page_speaks_of_every_preset() -> None:
    assert set(re.findall(r"^## `([a-z-]+)`", PAGE, re.MULTILINE)) == set(PRESETS)
