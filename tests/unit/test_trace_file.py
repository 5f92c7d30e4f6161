"""The trace file: what is written is read back bit for bit, and whatever else is refused with its line."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.errors import TraceError
from netlab.traces import number_columns
from netlab.traces.number_columns import NumberError, read_columns
from netlab.traces.trace import MAX_ROWS, UNKNOWN, ClockVerdict, LossTimes, Trace, TracedPath
from netlab.traces.trace_file import format_trace, read_trace, write_trace, write_traces

SAMPLE = Path(__file__).parents[1] / "samples" / "netlab-trace.csv"
COLUMNS = ("t_s", "delay_s", "lost", "copies", "rate_bps")
GOOD = SAMPLE.read_text()


def read(tmp_path, text: str | bytes) -> Trace:
    path = tmp_path / "trace.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_trace(path)


def assert_same(one: Trace, other: Trace) -> None:
    for name in COLUMNS:
        first, second = getattr(one, name), getattr(other, name)
        assert first.dtype == second.dtype
        assert np.array_equal(first, second, equal_nan=first.dtype == np.float64), name
    assert (one.path, one.clocks, one.bin_s, one.losses) == (other.path, other.clocks, other.bin_s, other.losses)
    assert (one.source, one.source_sha256) == (other.source, other.source_sha256)


def test_the_sample_is_read():
    trace = read_trace(SAMPLE)
    assert trace.t_s.tolist() == [0.0, 1.0, 2.0]
    assert trace.delays_s.tolist() == [0.0213, 0.0198]
    assert trace.lost.tolist() == [0, 1, 0] and trace.copies.tolist() == [1, 0, 2]
    assert not trace.has_rates
    assert (trace.path, trace.clocks) == (TracedPath.ROUND_TRIP, ClockVerdict.ONE_CLOCK)
    assert trace.source == "ping.txt, ping"
    assert format_trace(trace).decode() == GOOD


@st.composite
def traces(draw) -> Trace:
    n = draw(st.integers(0, 30))
    positive = st.floats(0.0, 1e10) | st.just(math.nan)
    lost = np.array(draw(st.lists(st.sampled_from([0, 1, UNKNOWN]), min_size=n, max_size=n)), dtype=np.int8)
    delay_s = np.array(draw(st.lists(positive, min_size=n, max_size=n)), dtype=np.float64)
    copies = np.array(draw(st.lists(st.integers(1, 2**31 - 1), min_size=n, max_size=n)), dtype=np.int32)
    times = draw(st.lists(st.floats(0.0, 1e10), min_size=n, max_size=n))
    rates = st.floats(0.0, allow_infinity=False, allow_nan=False) | st.just(math.nan)
    return Trace.of(
        np.sort(np.array(times, dtype=np.float64)),
        path=draw(st.sampled_from(TracedPath)),
        clocks=draw(st.sampled_from(ClockVerdict)),
        delay_s=np.where(lost == 1, np.nan, delay_s),
        lost=lost,
        copies=np.where(lost == 1, 0, np.where(lost == UNKNOWN, UNKNOWN, copies)).astype(np.int32),
        rate_bps=np.array(draw(st.lists(rates, min_size=n, max_size=n)), dtype=np.float64),
        bin_s=draw(st.none() | st.floats(1e-9, 1e10)),
        losses=draw(st.sampled_from(LossTimes)),
        source=draw(st.text(max_size=60).filter(str.isprintable)),
        source_sha256=draw(st.just("") | st.text("0123456789abcdef", min_size=64, max_size=64)),
    )


@settings(max_examples=200, deadline=None)
@given(trace=traces())
def test_what_is_written_is_read_back(tmp_path_factory, trace):
    path = tmp_path_factory.mktemp("trace") / "trace.csv"
    write_trace(trace, path)
    assert path.read_bytes() == format_trace(trace)
    assert_same(read_trace(path), trace)


def test_many_rows_are_read_back_over_the_edges_of_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(number_columns, "BLOCK_BYTES", 1000)
    generator = np.random.default_rng(3)
    n = 70_000  # more than a block of the writer
    trace = Trace.of(
        np.cumsum(generator.random(n)),
        path=TracedPath.BACK,
        clocks=ClockVerdict.CORRECTED,
        delay_s=np.where(generator.random(n) < 0.1, np.nan, generator.random(n)),
    )
    write_trace(trace, tmp_path / "trace.csv")
    assert_same(read_trace(tmp_path / "trace.csv"), trace)


def test_gzip_is_read(tmp_path):
    assert_same(read(tmp_path, gzip.compress(GOOD.encode())), read_trace(SAMPLE))


BROKEN = [
    # what is replaced, by what, line, words
    ("# netlab-trace: 1\n", "", 1, "the first line is '# netlab-trace: 1'"),
    ("netlab-trace: 1", "netlab-trace: 2", 1, "version '2'"),
    ("netlab-trace: 1", "netlab-trace: 1.0", 1, "version '1.0'"),
    ("# path: round-trip\n", "", 6, "the header says no path"),
    ("# clocks: one-clock\n", "", 6, "the header says no clocks"),
    ("# n: 3\n", "", 6, "the header says no n"),
    ("round-trip", "sideways", 2, "must be one of round-trip, forward, back"),
    ("one-clock", "sundial", 3, "must be one of one-clock"),
    ("# n: 3", "# n: 03", 4, "must be a whole number"),
    ("# n: 3", "# n: -3", 4, "must be a whole number"),
    ("# n: 3", "# n: 3.0", 4, "must be a whole number"),
    ("# n: 3", f"# n: {MAX_ROWS + 1}", 4, "must be a whole number, at most"),
    ("# n: 3", "# n: 4", 0, "has 3 rows where its header says n: 4"),
    ("# n: 3", "# n: 2", 0, "has 3 rows where its header says n: 2"),
    ("# n: 3", "# n: 3\n# n: 3", 5, "'n' is said twice"),
    ("# n: 3", "# n: 3\n# colour: red", 5, "the key 'colour' is not known"),
    ("# n: 3", "#n: 3", 4, "a header line is '# key: value'"),
    ("# n: 3", "# n: 3\n", 5, "the columns are ''"),
    ("# sha256: 9f", "# sha256: 9F", 6, "must be 64 hexadecimal digits"),
    ("# n: 3", "# n: 3\n# bin_s: 0", 5, "must be a number, above 0 and at most 1e+10 s"),
    ("# n: 3", "# n: 3\n# bin_s: nan", 5, "must be a number, above 0"),
    ("# n: 3", "# n: 3\n# bin_s: 1e11", 5, "must be a number, above 0 and at most 1e+10 s"),
    ("# n: 3", "# n: 3\n# losses: guessed", 5, "losses: 'guessed': must be one of counted, spread"),
    ("# n: 3", "# n: 3\r", 4, "lines end in"),
    (",rate_bps\n", "\n", 7, "the columns are 't_s,delay_s,lost,copies'"),
    ("t_s,delay_s", "delay_s,t_s", 7, "the columns are"),
    ("copies,rate_bps", "copies,rate_bps,note", 7, "the columns are"),
    ("1.0,,1,0,", "1.0,,1,0,,", 9, "6 fields where there must be 5"),
    ("1.0,,1,0,", "1.0,,1,0", 9, "4 fields where there must be 5"),
    ("1.0,,1,0,\n", "\n", 9, "1 fields where there must be 5"),
    ("0.0213", "nan", 8, "field 2 is 'nan': must be a decimal number"),
    ("0.0213", "NaN", 8, "must be a decimal number"),
    ("0.0213", "inf", 8, "must be a decimal number"),
    ("0.0213", "0x1p-3", 8, "must be a decimal number"),
    ("0.0213", "0.02.13", 8, "must be a decimal number"),
    ("0.0213", "2e", 8, "must be a decimal number"),
    ("0.0213", " 0.0213", 8, "must be a decimal number"),
    ("0.0213", "0_1", 8, "must be a decimal number"),
    ("0.0198", "-", 10, "must be a decimal number"),
    ("0.0198", "\x00", 10, "must be a decimal number"),
    ("0.0213", "-0.0213", 8, "delay_s = -0.0213: must not be negative"),
    ("0.0213", "1e400", 8, "delay_s = inf"),
    ("1.0,,1,0,", "5.0,,1,0,", 10, "must not be before the row above"),
    ("0.0,0.0213", ",0.0213", 8, "t_s = nan"),
    ("1.0,,1,0,", "1.0,,2,0,", 9, "lost = 2: must be a whole number, 0 .. 1"),
    ("1.0,,1,0,", "1.0,,0.5,0,", 9, "lost = 0.5"),
    ("1.0,,1,0,", "1.0,,-1,0,", 9, "lost = -1"),
    ("1.0,,1,0,", "1.0,,1,3000000000,", 9, "copies = 3e+09"),
    ("1.0,,1,0,", "1.0,0.5,1,0,", 9, "must not be 1 for a packet that arrived"),
    ("0.0198,0,2,\n", "0.0198,0,2,", 10, "the last line has no end"),
    ("1,\n", "1,\r\n", 8, "must be a decimal number"),
]


@pytest.mark.parametrize(("old", "new", "line", "words"), BROKEN, ids=range(len(BROKEN)))
def test_what_is_not_the_format_is_refused_with_its_line(tmp_path, old, new, line, words):
    assert old in GOOD
    with pytest.raises(TraceError) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert words in str(caught.value)
    assert caught.value.line == line
    assert caught.value.path == str(tmp_path / "trace.csv")
    assert caught.value.hint
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", [b"", b"\n", b"\0" * 100_000, b"hello\n", b"\x89PNG\r\n\x1a\n", b"#" * 100_000])
def test_other_files_are_refused(tmp_path, text):
    with pytest.raises(TraceError):
        read(tmp_path, text)


@given(cut=st.integers(0, len(GOOD) - 1))
def test_a_file_cut_short_anywhere_is_refused(tmp_path_factory, cut):
    with pytest.raises(TraceError):
        read(tmp_path_factory.mktemp("cut"), GOOD[:cut])


@given(place=st.integers(0, len(GOOD) - 1), bit=st.integers(0, 7))
def test_a_flipped_bit_gives_a_trace_or_an_error_and_nothing_else(tmp_path_factory, place, bit):
    text = bytearray(GOOD.encode())
    text[place] ^= 1 << bit
    folder = tmp_path_factory.mktemp("flipped")
    try:
        trace = read(folder, bytes(text))
    except TraceError:
        return
    assert trace.n == 3
    write_trace(trace, folder / "again.csv")
    assert_same(read_trace(folder / "again.csv"), trace)


@pytest.mark.parametrize("text", ["+00.0,.5,-0,01,1E3", "0,5e-1,0,1,1000"])
def test_a_number_may_be_spelled_in_any_way_and_is_written_in_one(tmp_path, text):
    rows = f"{text}\n1.0,,1,0,\n2.0,0.0198,0,2,\n"
    trace = read(tmp_path, GOOD[: GOOD.index("0.0,0.0213")] + rows)
    assert format_trace(trace).endswith(b"\n0.0,0.5,0,1,1000.0\n1.0,,1,0,\n2.0,0.0198,0,2,\n")


def test_what_is_not_said_of_losses_is_counted(tmp_path):
    assert read(tmp_path, GOOD).losses is LossTimes.COUNTED
    spread = read(tmp_path, GOOD.replace("# n: 3", "# n: 3\n# losses: spread"))
    assert spread.losses is LossTimes.SPREAD and b"# losses: spread\n" in format_trace(spread)


def test_a_few_bytes_do_not_ask_for_all_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(number_columns, "MAX_ROWS", 1000)

    def no_array(*shape: object) -> None:
        raise AssertionError("an array is made before the rows are counted")

    monkeypatch.setattr(np, "empty", no_array)
    with pytest.raises(NumberError, match="one of 1001 rows: at most 1000 are read") as caught:
        read_columns(b"1\n" * 1001, 1, [0])
    assert caught.value.row == 1000


def test_compressed_files_are_the_same_for_the_same_trace(tmp_path):
    trace = read_trace(SAMPLE)
    write_traces({tmp_path / "one.csv.gz": trace, tmp_path / "other.csv.gz": trace})
    assert (tmp_path / "one.csv.gz").read_bytes() == (tmp_path / "other.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "one.csv.gz").read_bytes()) == format_trace(trace)
    assert_same(read_trace(tmp_path / "one.csv.gz"), trace)


def test_a_hostile_count_costs_nothing(tmp_path):
    with pytest.raises(TraceError, match="has 3 rows"):
        read(tmp_path, GOOD.replace("# n: 3", f"# n: {MAX_ROWS}"))


@pytest.mark.parametrize("source", ["two\nlines", "x" * 1001, "\x1b[2J"])
def test_a_source_that_is_not_a_line_is_not_written(tmp_path, source):
    trace = Trace.of(np.zeros(1), path=TracedPath.BACK, clocks=ClockVerdict.UNKNOWN, source=source)
    with pytest.raises(TraceError, match="must be printable"):
        write_trace(trace, tmp_path / "trace.csv")
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_written_an_error_says_so_and_nothing_is_left(tmp_path):
    with pytest.raises(TraceError, match="cannot be written") as caught:
        write_trace(read_trace(SAMPLE), tmp_path / "none" / "trace.csv")
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_number_columns_take_what_is_wanted_and_pass_over_the_rest():
    columns = read_columns(b"1;x y;2\n3;;NA\n", 3, [2, 0], delimiter=b";", unknown=(b"NA",))
    assert columns[1].tolist() == [1.0, 3.0]
    assert columns[0][0] == 2.0 and math.isnan(columns[0][1])


def test_number_columns_name_the_row():
    with pytest.raises(NumberError, match="field 1 is 'x'") as caught:
        read_columns(b"1\n2\nx\n", 1, [0])
    assert caught.value.row == 2


@given(st.lists(st.text("0123456789+-.eE,\n naN_\x00", max_size=8), max_size=6))
def test_number_columns_take_what_python_takes_for_a_number_and_no_more(texts):
    body = "".join(f"{text},0\n" for text in texts).encode()
    try:
        column, _ = read_columns(body, 2, [0, 1])
    except NumberError:
        return
    assert len(column) == body.count(b"\n")
    for line, value in zip(body.decode().split("\n"), column.tolist(), strict=False):
        field = line.split(",")[0]
        assert math.isnan(value) if not field else float(field) == value
