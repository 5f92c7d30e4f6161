"""Profiles as TOML: what is written reads back to the bit, what is wrong is named with file, key and value."""

from __future__ import annotations

import hashlib
import json
import random
import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from link_strategies import pairs, profiles, refused

from netlab.errors import ProfileError
from netlab.traces import toml_profile
from netlab.traces.key import LINK_KEYS, read_link, write_link
from netlab.traces.loss import FourState, GilbertElliott
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step
from netlab.traces.seed import link_seed
from netlab.traces.slot import Slot
from netlab.traces.toml_profile import format_profile, parse_profile, read_profile, write_profile

GOLDEN = Path(__file__).parents[1] / "golden" / "profiles"


def states(pair: ProfilePair) -> dict[str, object]:
    """Return what a pair compiles to, tables as their length and hash."""
    shown: dict[str, object] = {}
    for direction in ("forward", "back"):
        asked = getattr(pair, direction)

        def seed(step: int, direction: str = direction) -> int:
            return link_seed(1, "golden", direction, step)

        compiled = asked.to_qdisc_states(seed) if isinstance(asked, Schedule) else (asked.to_qdisc_state(seed(0)),)
        shown[direction] = [_shown(state) for state in compiled]
    return shown


def _shown(state: object) -> dict[str, object]:
    fields = msgspec.to_builtins(state)
    for name in ("delay_table", "slot_table"):
        table = fields[name]
        if table is not None:
            raw = b"".join(entry.to_bytes(2, "little", signed=True) for entry in table)
            fields[name] = {"entries": len(table), "sha256": hashlib.sha256(raw).hexdigest()}
    return fields


def test_every_key_compiles_to_the_recorded_states():
    pair = read_profile(GOLDEN / "every_key.toml")
    assert states(pair) == json.loads((GOLDEN / "every_key.json").read_text())


def test_the_golden_file_has_every_key():
    document = tomllib.loads((GOLDEN / "every_key.toml").read_text())
    used = set(document["forward"]) | {key for step in document["back"]["step"] for key in step}
    assert used == {*LINK_KEYS, "at"}


def test_the_golden_file_says_what_it_seems_to():
    pair = read_profile(GOLDEN / "every_key.toml")
    assert (pair.name, pair.description, pair.reading) == ("every key", "a file for the tests", "rtt")
    assert pair.forward == LinkProfile(
        delay_s=0.02,
        jitter_s=0.005,
        law="uniform",
        loss=0.02,
        duplicate_ratio=0.005,
        corrupt_ratio=0.001,
        reorder_ratio=0.25,
        reorder_gap=5,
        rate_bps=1e7,
        overhead_bytes=-4,
        cell_bytes=48,
        cell_overhead_bytes=5,
        limit_packets=2000,
        slot=Slot(delay_s=0.01, jitter_s=0.002, law="uniform", max_packets=3, max_bytes=4000),
        ecn=True,
    )
    first, second, third = (step.profile for step in pair.back.steps)
    assert [step.start_s for step in pair.back.steps] == [0.0, 20.0, 40.0]
    assert (pair.back.duration_s, pair.back.loop, pair.back.packet_rate_hz) == (60.0, True, 50.0)
    assert first.delay_table_s == (0.01, 0.012, 0.0195, 0.04)
    assert first.loss == GilbertElliott(p=0.01, r=0.2, loss_in_bad=0.9, loss_in_good=0.001)
    assert second.loss == GilbertElliott.from_mean(0.1, 4.0)
    assert third.loss == FourState(p13=0.02, p31=0.25, p32=0.1, p14=0.005, p23=0.5)


@settings(deadline=None)
@given(profiles())
def test_a_profile_reads_back(profile):
    text = "\n".join(write_link(profile))
    assert read_link(tomllib.loads(text)) == profile


@settings(deadline=None)
@given(pairs())
def test_a_pair_reads_back(pair):
    assert parse_profile(format_profile(pair)) == pair


def test_a_file_reads_back(tmp_path):
    pair = ProfilePair("ü name", LinkProfile(delay_s=0.0295), LinkProfile(loss=0.01))
    path = tmp_path / "x.toml"
    write_profile(pair, path)
    assert read_profile(path) == pair
    write_profile(ProfilePair("other", LinkProfile(), LinkProfile()), path)
    assert read_profile(path).name == "other"
    assert [file.name for file in tmp_path.iterdir()] == ["x.toml"]


def test_a_long_schedule_is_written_without_asking_for_the_fields_of_each_step(monkeypatch):
    """That question resolves every annotation: of 36,000 steps it took six of seven seconds."""
    asked = []
    fields = msgspec.structs.fields
    monkeypatch.setattr(msgspec.structs, "fields", lambda kind: asked.append(kind) or fields(kind))
    steps = tuple(Step(index / 10.0, LinkProfile(delay_s=0.01 + index * 1e-6)) for index in range(500))
    schedule = Schedule(steps, 50.0)
    pair = ProfilePair("long", schedule, schedule)
    assert parse_profile(format_profile(pair)) == pair
    assert len(asked) <= 1


def test_a_file_is_written_as_people_would():
    profile = LinkProfile(delay_s=0.03, jitter_s=0.01, loss=0.02, rate_bps=1e7)
    assert format_profile(ProfilePair("lte", profile, profile)) == (
        'name = "lte"\nreading = "oneway"\n\n'
        '[link]\ndelay = "30ms"\njitter = "10ms"\nlaw = "normal"\nloss = "2%"\nrate = "10mbit"\n'
    )


@pytest.mark.parametrize("reading", ["rtt", "oneway"])
def test_a_kept_preset_says_how_it_was_read(reading):
    assert f'reading = "{reading}"\n' in format_profile(parse_preset(f"wifi-degraded@{reading}"))


def test_a_lab_file_is_told_from_a_profile():
    lab = Path(__file__).parents[2] / "examples" / "two_hosts.toml"
    error = refused(read_profile, lab)
    assert str(error).startswith(f"{lab}: this is a lab file, not a profile")
    assert "run_lab_file.py" in error.hint


def test_a_pair_without_a_name_takes_the_files(tmp_path):
    (tmp_path / "lte.toml").write_text("[link]\n")
    assert read_profile(tmp_path / "lte.toml").name == "lte"
    assert parse_profile("[link]\n").name == "unnamed"


def test_link_is_both_directions():
    pair = parse_profile('[link]\ndelay = "3ms"\n')
    assert pair.forward == pair.back == LinkProfile(delay_s=0.003)


WRONG = [
    ("x = ", "f.toml: is not TOML: Invalid value (at end of document)"),
    (
        "[link]\ndelay = 3ms\n",
        "f.toml: is not TOML: Expected newline or end of document after a statement (at line 2",
    ),
    ("[link]\nlimit = " + "9" * 5000, "f.toml: is not TOML"),
    ("a = " + "[" * 50_000, "f.toml: is"),
    ("", "f.toml: has no direction"),
    ("[link]\nlimit = 0x" + "f" * 5000, "f.toml: link.limit: a huge number is more than 64 bits hold"),
    ("[link]\nlimit = 1" + "0" * 400, "f.toml: link.limit: 1000"),
    ("[link]\ndelay = 0x" + "f" * 5000, "f.toml: link.delay: a huge number has no unit"),
    ("[link]\nloss = 0x" + "f" * 5000, "f.toml: link.loss: "),
    (
        "[link]\nloss = { mean = 0.1, burst = 0x" + "f" * 5000 + "}",
        "link.loss.burst: a huge number is not a number",
    ),
    ("link = 0x" + "f" * 5000, "f.toml: link: a huge number is not a table"),
    ("name = 0x" + "f" * 5000 + "\n[link]", "f.toml: name: a huge number is not text"),
    ("[forward]\n", "f.toml: has [forward]: a link needs [link], or both"),
    ("[link]\n[back]\n", "f.toml: has [link] and [back]"),
    ('[links]\ndelay="3ms"\n', "f.toml: links: unknown key; did you mean 'link'?"),
    ('delay = "3ms"\n', "f.toml: delay: stands outside of a direction"),
    ("link = 3\n", "f.toml: link: 3 is not a table"),
    ("name = 3\n[link]\n", "f.toml: name: 3 is not text"),
    ('name = ""\n[link]\n', "f.toml: name is empty"),
    ('name = "a\\nb"\n[link]\n', "must be one line"),
    ('reading = "both"\n[link]\n', "f.toml: reading = 'both': must be one of rtt, oneway"),
    ("[link]\ndelay = 30\n", "f.toml: link.delay: 30 has no unit"),
    ('[link]\ndelay = "30"\n', "f.toml: link.delay: '30' has no unit"),
    ('[link]\ndelay = "-1ms"\n', "f.toml: link.delay: '-1ms' is negative"),
    ('[link]\ndelay = "30ms 10ms"\n', "f.toml: link.delay: '30ms 10ms' are several values"),
    ("[link]\ndelay = true\n", "f.toml: link.delay: True is not"),
    ('[link]\njitter = "3ms"\n', "f.toml: link.jitter: '3ms' without a delay"),
    ('[link]\ndealy = "3ms"\n', "f.toml: link.dealy: unknown key; did you mean 'delay'?"),
    ('[link]\nlatency = "3ms"\n', "f.toml: link.latency: unknown key; did you mean 'delay'?"),
    ('[link]\nlaw = "gauss"\n', "f.toml: link.law: 'gauss': must be one of"),
    ("[link]\nlaw = 3\n", "f.toml: link.law: 3 is not text"),
    ("[link]\nloss = 1\n", "f.toml: link.loss: 1 could mean percent or a ratio; write 1%"),
    ("[link]\nloss = 2.5\n", "f.toml: link.loss: 2.5 could mean percent"),
    ('[link]\nloss = "120%"\n', "f.toml: link.loss: '120%' is outside"),
    ("[link]\nloss = { p = 0.1 }\n", "f.toml: link.loss.r: is missing beside p"),
    ("[link]\nloss = { }\n", "f.toml: link.loss.p: is missing"),
    ("[link]\nloss = { mean = 0.1 }\n", "f.toml: link.loss.burst: is missing"),
    ("[link]\nloss = { mean = 0.1, burst = 'x' }\n", "f.toml: link.loss.burst: 'x' is not a number"),
    ("[link]\nloss = { mean = 0.1, burst = 0.5 }\n", "f.toml: link.loss.burst = 0.5"),
    ("[link]\nloss = { p = 0.1, r = 'x' }\n", "f.toml: link.loss.r: 'x' is not a ratio"),
    ("[link]\nloss = { p = 0.1, q = 0.2 }\n", "f.toml: link.loss.q: unknown key"),
    ("[link]\nlimit = 1.5\n", "f.toml: link.limit: 1.5 is not a whole number"),
    ("[link]\nlimit = 0\n", "f.toml: link.limit: 0: must be within"),
    ("[link]\necn = 1\n", "f.toml: link.ecn: 1 is neither true nor false"),
    ("[link]\nslot = 1\n", "f.toml: link.slot: 1 is not a table of slot keys"),
    ("[link]\nslot = { delay = '1' }\n", "f.toml: link.slot.delay: '1' has no unit"),
    ("[link]\nslot = { every = '1ms' }\n", "f.toml: link.slot.every: unknown key"),
    ("[link]\ndelay_table = '1ms'\n", "f.toml: link.delay_table: '1ms' is not a list"),
    ("[link]\nduration = '1s'\n", "f.toml: link.duration: is given without steps"),
    ("[link]\nstep = 3\n", "f.toml: link.step: is not a list"),
    ("[link]\nstep = [3]\nduration='1s'\n", "f.toml: link.step[1]: 3 is not a table"),
    ("[[link.step]]\nat = '0s'\n", "f.toml: link.duration: is missing"),
    ("[link]\nduration='1s'\n[[link.step]]\ndelay = '1ms'\n", "f.toml: link.step[1].at: is missing"),
    ("[link]\nduration='1s'\n[[link.step]]\nat = '1'\n", "f.toml: link.step[1].at: '1' has no unit"),
    ("[link]\nduration='1s'\n[[link.step]]\nat = '0s'\ndelay='x'\n", "f.toml: link.step[1].delay: 'x'"),
    ("[link]\nduration='1s'\n[[link.step]]\nat = '0s'\nfoo='x'\n", "f.toml: link.step[1].foo: unknown key"),
    ("[link]\nduration='1s'\n[[link.step]]\nat = '1ms'\n", "f.toml: link: step 1: starts at 0.001 s"),
    ("[link]\nduration='1s'\ndelay='1s'\n[[link.step]]\nat = '0s'\n", "f.toml: link.delay: stands beside steps"),
    ("[link]\nduration='1s'\nspeed=3\n[[link.step]]\nat = '0s'\n", "f.toml: link.speed: unknown key"),
    ("[link]\nduration='1s'\npacket_rate_hz='x'\n[[link.step]]\nat = '0s'\n", "link.packet_rate_hz: 'x' is not a"),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_what_is_wrong_is_named_with_file_key_and_value(text, words):
    error = refused(parse_profile, text, path="f.toml")
    assert words in str(error)
    assert len(str(error)) < 500


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("loss_correlation", "10 % at 25 % correlation lost 1.2 .. 1.7 %"),
        ("delay_correlation", "netem's delay correlation does nothing"),
        ("correlation", "a profile has none"),
        ("reorder_correlation", "a profile has none"),
        ("corr", "a profile has none"),
    ],
)
def test_correlations_are_refused_with_the_reason_and_a_way_out(key, words):
    error = refused(parse_profile, f'[link]\n{key} = "25%"\n')
    assert key in str(error) and words in str(error)
    assert "loss = {" in error.hint or "schedule" in error.hint


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    assert "No such file" in str(refused(read_profile, tmp_path / "none.toml"))
    assert "not a plain file" in str(refused(read_profile, tmp_path))
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe4"\n')
    assert "is not UTF-8 text (byte 8)" in str(refused(read_profile, tmp_path / "latin.toml"))


def test_a_large_file_is_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(toml_profile, "MAX_FILE_BYTES", 100)
    (tmp_path / "large.toml").write_text("#" * 101)
    assert "is larger than" in str(refused(read_profile, tmp_path / "large.toml"))
    table = tuple(0.01 + i * 1e-5 for i in range(50))
    profile = LinkProfile(law="table", delay_table_s=table)
    assert "would be larger" in str(
        refused(write_profile, ProfilePair("x", profile, profile), tmp_path / "y.toml")
    )
    assert not (tmp_path / "y.toml").exists()


def test_an_unwritable_folder_is_named_and_nothing_is_left(tmp_path):
    pair = ProfilePair("x", LinkProfile(), LinkProfile())
    assert "cannot be written" in str(refused(write_profile, pair, tmp_path / "none" / "x.toml"))
    (tmp_path / "folder.toml").mkdir()
    assert "cannot be written" in str(refused(write_profile, pair, tmp_path / "folder.toml"))
    assert [file.name for file in tmp_path.iterdir()] == ["folder.toml"]


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    try:
        parse_profile(text)
    except ProfileError as error:
        assert len(str(error)) < 1000


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 8))
def test_mutations_of_a_good_file_are_read_or_refused(seed, changes):
    rng = random.Random(seed)
    text = list((GOLDEN / "every_key.toml").read_text())
    for _ in range(changes):
        at = rng.randrange(len(text))
        text[at] = rng.choice(["", '"', "=", "9", "-", "[", "]", "\n", "%", "{", "s", "0", text[at] * 2])
    try:
        pair = parse_profile("".join(text))
    except ProfileError:
        return
    assert isinstance(pair, ProfilePair)


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10), st.just("10ms")),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)


@settings(deadline=None)
@given(st.dictionaries(st.one_of(st.sampled_from([*LINK_KEYS]), st.text(max_size=8)), values, max_size=4))
def test_any_values_are_read_or_refused(mapping):
    try:
        read_link(mapping, "somewhere: ")
    except ProfileError as error:
        assert str(error).startswith("somewhere: ")
