"""Where a profile comes from: kept in its file to the bit, strict in what it takes, without effect on a link."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from link_strategies import pairs, refused

import netlab
from netlab.cli.profile import profile
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.provenance import MAX_ASSUMPTIONS, Origin, Provenance
from netlab.traces.seed import link_seed
from netlab.traces.toml_profile import format_profile, parse_profile
from netlab.traces.trace import ClockVerdict, Trace, TracedPath

lines = st.text(min_size=1, max_size=300).filter(str.isprintable)
maybe = st.one_of(st.none(), st.floats(0.0, 1.0))
origins = st.builds(
    Origin,
    source=lines,
    sha256=st.one_of(st.just(""), st.binary(min_size=32, max_size=32).map(bytes.hex)),
    path=st.sampled_from([path.value for path in TracedPath]),
    clocks=st.sampled_from([clocks.value for clocks in ClockVerdict]),
    n=st.integers(0, 2**53),
    predicted_ks=maybe,
    predicted_w1_s=maybe,
)
provenances = st.builds(
    Provenance,
    method=lines,
    origins=st.lists(origins, max_size=3).map(tuple),
    assumptions=st.lists(lines, max_size=3).map(tuple),
    seed=st.one_of(st.none(), st.integers(0, 2**64 - 1)),
    packet_rate_hz=st.one_of(st.none(), st.floats(1e-3, 1e6)),
    netlab=lines,
)

ORIGIN = Origin(source="ping.txt", sha256="0f" * 32, n=13_448, predicted_ks=0.01, predicted_w1_s=12e-6)
PAIR = ProfilePair(
    "wifi",
    LinkProfile(delay_s=0.03),
    LinkProfile(delay_s=0.03),
    provenance=Provenance(method="quantiles", origins=(ORIGIN,), assumptions=("half each way",), seed=7),
)


@given(pairs(), provenances)
def test_a_file_keeps_it_to_the_bit(pair, provenance):
    kept = msgspec.structs.replace(pair, provenance=provenance)
    assert parse_profile(format_profile(kept)) == kept


def test_two_pairs_of_different_provenance_are_not_equal_and_do_the_same():
    other = msgspec.structs.replace(PAIR, provenance=None)
    assert other != PAIR
    seed = link_seed(1, "link0", "forward", 0)
    assert other.forward.to_qdisc_state(seed) == PAIR.forward.to_qdisc_state(seed)


def test_it_says_which_netlab_made_it_and_sums_its_origins_up():
    far = msgspec.structs.replace(ORIGIN, n=2, predicted_ks=0.5, predicted_w1_s=None)
    provenance = Provenance(method="m", origins=(ORIGIN, far, Origin(source="no delays")))
    assert provenance.netlab == netlab.__version__
    assert (provenance.n, provenance.predicted_ks, provenance.predicted_w1_s) == (13_450, 0.5, 12e-6)
    assert Provenance(method="m").predicted_ks is None


def test_an_origin_is_what_its_trace_says():
    trace = Trace.of(
        np.arange(3.0), path=TracedPath.BACK, clocks=ClockVerdict.IN_STEP, source="a\tb", source_sha256="ab" * 32
    )
    assert Origin.of(trace) == Origin(source="a?b", sha256="ab" * 32, path="back", clocks="in-step", n=3)


def test_profile_show_prints_it_as_it_stands_in_a_file(tmp_path):
    path = tmp_path / "wifi.toml"
    path.write_text(format_profile(PAIR))
    shown = CliRunner().invoke(profile, ["show", str(path)]).stdout
    for text in (
        "[provenance]",
        'method = "quantiles"',
        "[[provenance.origin]]",
        'predicted_w1 = "12us"',
        "seed = 7",
    ):
        assert text in shown
    assert parse_profile(shown) == PAIR


def wrong(table: str) -> str:
    return str(refused(parse_profile, f"{table}\n[link]\ndelay = '1ms'\n", "wifi.toml"))


HEAD = "[provenance]\nmethod = 'm'\nnetlab = '1'\n"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("provenance = 3", "wifi.toml: provenance: 3 is not a table"),
        ("[provenance]\nnetlab = '1'", "provenance.method: is missing"),
        ("[provenance]\nmethod = 'm'", "provenance.netlab: is missing"),
        (HEAD + "methods = 'm'", "provenance.methods: unknown key; did you mean 'method'?"),
        (HEAD + "seed = -1", "provenance.seed = -1"),
        (HEAD + "seed = 1.5", "provenance.seed: 1.5 is not a whole number"),
        (HEAD + "packet_rate_hz = 0", "provenance.packet_rate_hz = 0.0: must be within 0.001 .. 1e+06"),
        (HEAD + "packet_rate_hz = '50 Hz'", "provenance.packet_rate_hz: '50 Hz' is not a number"),
        (HEAD + "packet_rate_hz = true", "provenance.packet_rate_hz: True is not a number"),
        (HEAD + "packet_rate_hz = inf", "provenance.packet_rate_hz: inf is not a number"),
        (HEAD + "packet_rate = 50", "provenance.packet_rate: unknown key; did you mean 'packet_rate_hz'?"),
        (HEAD + "assumptions = 'none'", "provenance.assumptions: 'none' is not a list of text"),
        (HEAD + 'assumptions = ["a\\nb"]', "provenance.assumptions[1] = 'a\\nb': must be one line"),
        (HEAD + "origin = 'ping.txt'", "provenance.origin: is not a list"),
        (HEAD + "origin = [3]", "provenance.origin[1]: 3 is not a table"),
        (HEAD + "[[provenance.origin]]\npath = 'back'", "origin[1].source: is missing"),
        (
            HEAD + "[[provenance.origin]]\nsource = 'a'\npath = 'there'\nclocks = 'unknown'",
            "origin[1].path = 'there': must be one of round-trip, forward, back",
        ),
        (
            HEAD + "[[provenance.origin]]\nsource = 'a'\npath = 'back'\nclocks = 'unknown'\nsha256 = 'F'",
            "origin[1].sha256 = 'F': must be 64 digits of hex",
        ),
        (
            HEAD + "[[provenance.origin]]\nsource = 'a'\npath = 'back'\nclocks = 'unknown'\npredicted_ks = 2",
            "origin[1].predicted_ks = 2.0: must be within 0 .. 1",
        ),
    ],
)
def test_what_is_wrong_is_named(table, words):
    assert words in wrong(table)


def test_words_and_lists_are_bounded():
    assert "method = ''" in str(refused(Provenance, method=""))
    many = ("a",) * (MAX_ASSUMPTIONS + 1)
    assert "assumptions: has 33 entries" in str(refused(Provenance, method="m", assumptions=many))
    assert "must be an Origin" in str(refused(Provenance, method="m", origins=("ping.txt",)))
    assert "must be a Provenance" in str(refused(ProfilePair, "a", LinkProfile(), LinkProfile(), provenance="x"))
