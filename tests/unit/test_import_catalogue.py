"""The catalogue: every format is recognised by content, and nothing but traces or a TraceError ever comes out."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netlab.errors import TraceError
from netlab.traces.importers.catalogue import IMPORTERS, import_trace, recognise
from netlab.traces.importers.importer import Importer, ImportOptions
from netlab.traces.trace import Trace, TracedPath
from netlab.traces.trace_file import format_trace, read_trace, write_trace
from netlab.traces.trace_source import TraceSource

SAMPLES = Path(__file__).parents[1] / "samples"
OURS = {
    "netlab-trace.csv": ("netlab", 1),
    "irtt.json": ("irtt", 3),
    "iperf3-tcp.json": ("iperf3", 1),
    "iperf3-udp-both-ways.json": ("iperf3", 2),
    "ping-iputils.txt": ("ping", 1),
    "ping-iputils-stamped.txt": ("ping", 1),
    "ping-busybox.txt": ("ping", 1),
    "ping-macos.txt": ("ping", 1),
    "lens.csv": ("lens", 3),
    "errant.csv": ("errant", 3),
    "columns.csv": ("csv", 1),
    "mahimahi.up": ("mahimahi", 1),
    "cooked.txt": ("cooked", 1),
    "oboe.txt": ("oboe", 1),
    "rtt-list.dat": ("rtt-list", 1),
}
"""Samples by their format and how many traces are in them."""
NO_SAMPLE = {"errant-scenario.csv"}
"""Is recognised, and refused."""
ALL = sorted(path for path in SAMPLES.iterdir() if path.is_file() and path.stat().st_size < 200_000)


def put(folder: Path, content: bytes | str) -> Path:
    path = folder / "file"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def check(path: Path, name: str, options: ImportOptions | None = None) -> list[Trace]:
    """Import a file; whatever comes out is whole, and says what is wrong in one line."""
    try:
        traces = import_trace(path, name, options)
    except TraceError as error:
        assert error.path and error.message and "\n" not in str(error), error
        assert len(str(error)) < 1000
        return []
    assert 1 <= len(traces) <= 3
    paths = [trace.path for trace in traces]
    assert len(set(paths)) == len(paths)
    return traces


@pytest.mark.parametrize("name", IMPORTERS)
def test_each_format_says_what_it_is(name):
    importer = IMPORTERS[name]
    assert isinstance(importer, Importer)
    assert importer.name == name and importer.about and len(importer.about) < 80


def test_no_format_is_imported_before_it_is_asked_for():
    code = (
        "import sys, netlab.traces.importers.catalogue as c; list(c.IMPORTERS); "
        "print([m for m in sys.modules if m.startswith('netlab.traces.importers.')])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "ping" not in printed and "scapy" not in printed


def test_every_sample_is_in_the_list():
    assert {path.name for path in ALL} - NO_SAMPLE == set(OURS)
    assert {name for name, _ in OURS.values()} == set(IMPORTERS) - {"pcap"}  # whose test makes its own


@pytest.mark.parametrize(("sample", "name", "paths"), [(sample, *told) for sample, told in OURS.items()])
@pytest.mark.parametrize("packed", [False, True])
def test_samples_are_recognised_by_content(tmp_path, sample, name, paths, packed):
    content = (SAMPLES / sample).read_bytes()
    path = put(tmp_path, gzip.compress(content) if packed else content)
    assert recognise(TraceSource(path)).name == name
    traces = import_trace(path)
    assert len(traces) == paths
    assert [trace.n for trace in traces] == [trace.n for trace in import_trace(SAMPLES / sample)]


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_no_sample_is_claimed_by_two_formats(path):
    try:
        import_trace(path)
    except TraceError as error:
        assert "claim it equally" not in str(error) and "none of the formats" not in str(error)


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("20\n20\n21\n", "mahimahi and rtt-list"),  # three packets within 21 ms, or three round trips?
        ("5\n6\n", "mahimahi and rtt-list"),
    ],
)
def test_what_two_formats_claim_equally_is_refused(tmp_path, content, names):
    with pytest.raises(TraceError, match=f"{names} claim it equally") as caught:
        import_trace(put(tmp_path, content))
    for name in names.split(" and "):
        assert f"--format {name}" in caught.value.hint
        assert check(tmp_path / "file", name)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("20\n20\n20\n", "rtt-list"),  # a clock that stands still is none
        ("21\n20\n22\n", "rtt-list"),
        ("20.5\n20.5\n21.0\n", "rtt-list"),
        ("".join(f"{number}\n" for number in range(0, 1000, 7)), "mahimahi"),
        ("0\n48\n57\n57\n", "mahimahi"),  # a round trip takes longer than nothing
        ("t_s,rtt_ms\n0,1\n", "csv"),
        ("rtt_ms\n1\n", "csv"),
    ],
)
def test_what_looks_alike_is_told_apart(tmp_path, content, name):
    assert recognise(TraceSource(put(tmp_path, content))).name == name


@pytest.mark.parametrize(
    ("content", "words", "hint"),
    [
        (b"", "is empty", "measure again"),
        (gzip.compress(b"", mtime=0), "is empty", "measure again"),
        (b"hello, world\n", "is in none of the formats known by content (tried netlab, ", "--format"),
        (b"\x7fELF" + bytes(range(256)) * 10, "is in none of the formats", "--format"),
        (b"\0" * 70_000, "is in none of the formats", "--format"),
        (b"PK\x03\x04 and so on", "is packed by zip", "unpack it"),
        (b"BZh91AY&SY and so on", "is packed by bzip2", "unpack it"),
        (b"\xfd7zXZ\x00 and so on", "is packed by xz", "unpack it"),
        (gzip.compress(b"1\n2\n" * 500, mtime=0)[:-9], "is not whole as gzip", "again"),
        (b"\x1f\x8b\x08", "is not whole as gzip", "again"),
        (b"[1, 2, 3]", "is in none of the formats", "--format"),
        (b"-5\n-6\n", "is in none of the formats", "--format"),
        (b"nan\nnan\n", "is in none of the formats", "--format"),
    ],
)
def test_what_is_no_measurement_is_refused(tmp_path, content, words, hint):
    path = put(tmp_path, content)
    with pytest.raises(TraceError) as caught:
        import_trace(path)
    assert str(caught.value).startswith(f"{path}") and words in str(caught.value)
    assert hint in caught.value.hint


def test_a_format_that_is_not_known_is_refused_with_what_was_meant(tmp_path):
    with pytest.raises(TraceError, match="the format 'pingg' is not known") as caught:
        import_trace(put(tmp_path, "1\n"), "pingg")
    assert caught.value.hint == "did you mean 'ping'?"
    with pytest.raises(TraceError) as caught:
        import_trace(put(tmp_path, "1\n"), "qqqq")
    assert "rtt-list" in caught.value.hint


GIVEN = {"interval_s": 1.0, "bin_s": 1.0, "columns": {"a": "t_s"}, "kind": "tcp"}
WORDS = {"interval_s": "--interval", "bin_s": "--bin", "columns": "--column", "kind": "--kind"}


@pytest.mark.parametrize("name", IMPORTERS)
@pytest.mark.parametrize("option", GIVEN)
def test_an_option_that_a_format_does_not_use_is_refused(tmp_path, name, option):
    path = put(tmp_path, "1\n2\n")
    options = ImportOptions(**{option: GIVEN[option]})
    with pytest.raises(TraceError) as caught:
        import_trace(path, name, options)
        raise TraceError("it was read", path)
    refused = f"the format {name} does not use {WORDS[option]}" in str(caught.value)
    assert refused == (option not in IMPORTERS[name].options)
    if refused:
        users = caught.value.hint.partition("it is for ")[2].split(", ")
        assert users == [other for other in IMPORTERS if option in IMPORTERS[other].options] != []


@pytest.mark.parametrize("interval_s", [0.0, -1.0, float("nan"), float("inf")])
def test_options_out_of_range_are_refused(interval_s):
    with pytest.raises(TraceError, match="interval_s"):
        ImportOptions(interval_s=interval_s)


@pytest.mark.parametrize("name", IMPORTERS)
@pytest.mark.parametrize(
    "content", [b"", b"\0", b"\n" * 1000, b"{", b"[]", b"{}", b"1" * 5000, b"\xff\xfe1\0", b","]
)
def test_a_format_that_is_forced_upon_other_bytes_refuses_them(tmp_path, name, content):
    check(put(tmp_path, content), name)


OPTIONS = st.builds(
    ImportOptions,
    interval_s=st.none() | st.floats(1e-6, 86_400.0),
    bin_s=st.none() | st.floats(1e-6, 86_400.0),
    columns=st.dictionaries(st.sampled_from(["t_s", "rtt_ms", "x"]), st.sampled_from(["delay_ms", "t_s", "y"])),
)


@st.composite
def damaged(draw) -> bytes:
    """Draw a sample with bits flipped, bytes put in or taken out, parts repeated, its end cut off."""
    content = bytearray(draw(st.sampled_from(ALL)).read_bytes())
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, max(len(content) - 1, 0)))
        kind = draw(st.sampled_from(["flip", "cut", "take out", "put in", "repeat", "digits"]))
        if kind == "flip" and content:
            content[place] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            del content[place:]
        elif kind == "take out":
            del content[place : place + draw(st.integers(1, 20))]
        elif kind == "put in":
            content[place:place] = draw(st.binary(max_size=12))
        elif kind == "repeat":
            content[place:place] = content[place : place + draw(st.integers(1, 200))]
        else:
            content[place:place] = draw(
                st.sampled_from([b"9" * 9, b"-", b"nan", b"1e999", b"\r\n", b",", b"0", b"."])
            )
    return bytes(content)


FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("name", ["", *IMPORTERS])
@FUZZ
@given(content=st.binary(max_size=600) | damaged(), options=OPTIONS)
def test_fuzzed_bytes_give_traces_or_a_trace_error(tmp_path_factory, name, content, options):
    folder = tmp_path_factory.mktemp("fuzz")
    given = {used: getattr(options, used) for used in (IMPORTERS[name].options if name else ())}
    for trace in check(put(folder, content), name, ImportOptions(**given)):
        assert trace.path in TracedPath
        if trace.n < 10_000:
            write_trace(trace, folder / "trace.csv")
            assert format_trace(read_trace(folder / "trace.csv")) == format_trace(trace)
