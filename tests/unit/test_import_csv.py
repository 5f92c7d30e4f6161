"""A CSV with named columns as traces."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import TraceError
from netlab.traces import number_columns
from netlab.traces.importers.catalogue import import_trace
from netlab.traces.importers.csv_column_names import meaning
from netlab.traces.importers.importer import ImportOptions
from netlab.traces.trace import UNKNOWN, ClockVerdict, Trace, TracedPath

SAMPLE = Path(__file__).parents[1] / "samples" / "columns.csv"


def read_all(tmp_path, text: str, **options) -> list[Trace]:
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    return import_trace(path, "csv", ImportOptions(**options))


def read(tmp_path, text: str, **options) -> Trace:
    (trace,) = read_all(tmp_path, text, **options)
    return trace


def test_the_sample_is_recognised_and_read():
    (trace,) = import_trace(SAMPLE)
    assert trace.t_s.tolist() == pytest.approx([0.0, 0.1, 0.2], abs=1e-6)
    assert trace.delay_s[[0, 2]].tolist() == [0.0215, 0.00293] and math.isnan(trace.delay_s[1])
    assert trace.lost.tolist() == [0, 1, 0] and trace.copies.tolist() == [UNKNOWN] * 3
    assert (trace.path, trace.clocks) == (TracedPath.ROUND_TRIP, ClockVerdict.ONE_CLOCK)


@pytest.mark.parametrize(
    ("name", "quantity", "path", "scale"),
    [
        ("t_s", "t", None, 1.0),
        ("time_ms", "t", None, 1e-3),
        ("Timestamp (ns)", "t", None, 1e-9),
        ("delay_s", "delay", None, 1.0),
        ("RTT [ms]", "delay", None, 1e-3),
        ("rtt_us", "delay", None, 1e-6),
        ("latency ms", "delay", None, 1e-3),
        ("lost", "lost", None, 1.0),
        ("copies", "copies", None, 1.0),
        ("rate_bps", "rate", None, 1.0),
        ("throughput_kbps", "rate", None, 1e3),
        ("Rate (Mbit/s)", "rate", None, 1e6),
        ("download_mbps", "rate", TracedPath.BACK, 1e6),
        ("upload_gbps", "rate", TracedPath.FORWARD, 1e9),
        ("forward_delay_us", "delay", TracedPath.FORWARD, 1e-6),
        ("back_lost", "lost", TracedPath.BACK, 1.0),
        ("back_rate_mbps", "rate", TracedPath.BACK, 1e6),
    ],
)
def test_names_that_are_known(name, quantity, path, scale):
    column = meaning(name)
    assert column is not None
    assert (column.quantity, column.path, column.scale) == (quantity, path, scale)


@pytest.mark.parametrize(
    "name", ["", "host", "rtt", "rtt_", "rtt_mbps", "rate_ms", "lost_ms", "forward_t_s", "x" * 99]
)
def test_names_that_are_not(name):
    assert meaning(name) is None


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters(tmp_path, delimiter):
    text = "t_s,rtt_ms\n0,1.5\n1,2.5\n".replace(",", delimiter)
    assert read(tmp_path, text).delay_s.tolist() == [0.0015, 0.0025]


def test_decimal_commas_quotes_and_spaces(tmp_path):
    assert read(tmp_path, '"t_s";"rtt_ms"\n0;"1,5"\n1;2,5\n').delay_s.tolist() == [0.0015, 0.0025]
    assert read(tmp_path, "t_s, rtt_ms\n0, 1.5\n1, 2.5\n").delay_s.tolist() == [0.0015, 0.0025]
    assert read(tmp_path, "\ufefft_s,rtt_ms\r\n0,1.5\r\n1,2.5").delay_s.tolist() == [0.0015, 0.0025]


@pytest.mark.parametrize("word", ["", "nan", "NaN", "NA", "null", "None", "-"])
def test_words_for_the_unknown(tmp_path, word):
    assert math.isnan(read(tmp_path, f"t_s,rtt_ms\n0,{word}\n1,2\n").delay_s[0])


def test_comments_before_the_names(tmp_path):
    assert read(tmp_path, "# by hand\nt_s,rtt_ms\n0,1\n").n == 1


def test_times_count_from_the_first_row(tmp_path):
    trace = read(tmp_path, "time_ns,rtt_ms\n1700000000000000000,1\n1700000000500000000,1\n")
    assert trace.t_s.tolist() == pytest.approx([0.0, 0.5], abs=1e-6)


def test_without_times_rows_are_evenly_spread(tmp_path):
    assert read(tmp_path, "rtt_ms\n1\n2\n").t_s.tolist() == [0.0, 1.0]
    assert read(tmp_path, "t_s,rtt_ms\n0,1\n9,2\n", interval_s=0.5).t_s.tolist() == [0.0, 0.5]


def test_a_time_without_a_unit_is_what_one_says(tmp_path):
    text = "time,rtt_ms\n100,1\n250,2\n"
    assert read(tmp_path, text, columns={"time": "t_ms"}).t_s.tolist() == [0.0, 0.15]
    assert read(tmp_path, text, interval_s=0.5).t_s.tolist() == [0.0, 0.5]
    assert read(tmp_path, "date," + text.replace("time", "t_s").replace("\n", "\n1,")[:-2]).n == 2
    with pytest.raises(TraceError) as caught:
        read(tmp_path, text)
    assert "--column time=t_s" in caught.value.hint and "--interval" in caught.value.hint


@pytest.mark.parametrize("zone", ["", "Z", "+00:00"])
@pytest.mark.parametrize("between", ["T", " "])
def test_stamps_need_no_unit(tmp_path, zone, between):
    stamps = [f"2024-02-28{between}23:59:59.5{zone}", f"2024-02-29{between}00:00:00{zone}"]
    text = "rtt_ms,timestamp,lost\n" + "".join(f"5,{stamp},0\n" for stamp in [stamps[0], *stamps])
    assert read(tmp_path, text).t_s.tolist() == [0.0, 0.0, 0.5]


def test_a_stamp_that_goes_back_is_refused_with_its_line(tmp_path):
    with pytest.raises(TraceError, match="must not be before the row above") as caught:
        read(tmp_path, "time,rtt_ms\n2024-01-31 12:00:00,1\n2024-01-31 11:00:00,1\n")
    assert caught.value.line == 3


def test_stamps_of_many_blocks_count_from_the_first(tmp_path, monkeypatch):
    monkeypatch.setattr(number_columns, "BLOCK_BYTES", 100)
    rows = [f"2024-01-01T00:{i // 60:02d}:{i % 60:02d},{i + 1}\n" for i in range(600)]
    assert read(tmp_path, "time,rtt_ms\n" + "".join(rows)).t_s.tolist() == list(range(600))


def test_a_rate_alone_is_of_one_direction(tmp_path):
    trace = read(tmp_path, "t_s,rate_mbps\n0,1.5\n1,2\n")
    assert trace.rate_bps.tolist() == [1.5e6, 2e6] and trace.path is TracedPath.FORWARD


def test_directions_come_out_apart(tmp_path):
    text = "t_s,rtt_ms,forward_delay_ms,back_delay_ms,download_mbps\n0,3,1,2,9\n1,5,2,3,8\n"
    both, forward, back = read_all(tmp_path, text)
    assert [trace.path for trace in (both, forward, back)] == list(TracedPath)
    assert both.delay_s.tolist() == [0.003, 0.005]
    assert forward.delay_s.tolist() == [0.001, 0.002] and forward.clocks is ClockVerdict.UNKNOWN
    assert back.delay_s.tolist() == [0.002, 0.003] and back.rate_bps.tolist() == [9e6, 8e6]


def both_ways(forward_ms, back_ms) -> str:
    rows = (
        f"{row / 10},{there},{back}\n" for row, (there, back) in enumerate(zip(forward_ms, back_ms, strict=True))
    )
    return "t_s,forward_delay_ms,back_delay_ms\n" + "".join(rows)


def test_delays_of_both_directions_by_clocks_out_of_step_are_set(tmp_path):
    generator = np.random.default_rng(7)
    waits_ms = generator.exponential(2.0, (2, 300))
    forward, back = read_all(tmp_path, both_ways(10_488.0 + waits_ms[0], -10_472.0 + waits_ms[1]))
    # Shortest ways of 8 ms each, clocks 10.48 s apart; of 300 waits the shortest is 2 / 300 ms on average.
    assert (forward.path, back.path) == (TracedPath.FORWARD, TracedPath.BACK)
    assert forward.clocks is back.clocks is ClockVerdict.CORRECTED
    assert forward.delay_s == pytest.approx(0.008 + waits_ms[0] / 1e3, abs=5e-5)
    assert back.delay_s == pytest.approx(0.008 + waits_ms[1] / 1e3, abs=5e-5)
    assert "offset of 10480 ms" in forward.source and forward.source == back.source


def test_few_delays_by_clocks_out_of_step_keep_their_variation(tmp_path):
    forward, back = read_all(tmp_path, both_ways([500, 503, 501], [-480, -479, -482]))
    assert forward.clocks is back.clocks is ClockVerdict.VARIATION_ONLY
    assert forward.delay_s == pytest.approx([0.0, 0.003, 0.001]) and back.delay_s == pytest.approx(
        [0.002, 0.003, 0]
    )


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ("t_s,back_delay_ms\n0,5\n1,-10471\n", "a one-way delay below 0", "the clocks of the two hosts differ"),
        ("t_s,forward_delay_ms,rtt_ms\n0,5,9\n1,-1,9\n", "a one-way delay below 0", "variation-only"),
        (both_ways([5, -1], [6, -1]), "the delays of both directions are below 0", "leave the field"),
    ],
)
def test_a_negative_delay_that_no_clocks_explain_is_refused(tmp_path, text, words, hint):
    with pytest.raises(TraceError, match=words) as caught:
        read_all(tmp_path, text)
    assert caught.value.line == 3 and hint in caught.value.hint


def test_times_that_go_back_are_refused_whatever_the_clocks(tmp_path):
    with pytest.raises(TraceError, match="must not be before the row above") as caught:
        read_all(tmp_path, "t_s,forward_delay_ms,back_delay_ms\n5,500,-400\n9,500,-400\n7,500,-400\n")
    assert caught.value.line == 4


def test_columns_are_what_one_says(tmp_path):
    trace = read(tmp_path, "when,answer\n5,7\n6,8\n", columns={"when": "t_s", "answer": "delay_ms"})
    assert trace.t_s.tolist() == [0.0, 1.0] and trace.delay_s.tolist() == [0.007, 0.008]


def test_what_one_says_goes_before_what_a_name_says(tmp_path):
    text = "t_s,rtt_ms,rtt_of_app\n0,1,2\n"
    assert read(tmp_path, text, columns={"rtt_of_app": "rtt_ms"}).delay_s.tolist() == [0.002]


@pytest.mark.parametrize(
    ("text", "columns", "line", "words"),
    [
        ("", {}, 1, "has no line of column names"),
        ("t_s,rtt_ms", {}, 1, "has no line of column names"),
        ("t_s,rtt_ms\n", {}, 1, "has no row below"),
        ("a,b\n1,2\n", {}, 1, "none of the columns (a, b) is a delay, a loss or a rate"),
        ("t_s,rtt\n1,2\n", {}, 1, "none of the columns"),
        ("rtt_ms,delay_s\n1,2\n", {}, 1, "'rtt_ms' and 'delay_s' are both the delay"),
        ("t_s,rtt_ms\n1,2\n", {"ttt": "t_s"}, 1, "has no column 'ttt'"),
        ("t_s,rtt\n1,2\n", {"rtt": "delay"}, 1, "'delay' is no column of a trace with its unit"),
        ("a,b\n1,2\n", {"a": "rtt_ms", "b": "delay_s"}, 1, "'a' and 'b' are both the delay"),
        ("t_s,rtt_ms\n0,1\n1\n", {}, 3, "1 fields where there must be 2"),
        ("t_s,rtt_ms\n0,1\n1,2,3\n", {}, 3, "3 fields where there must be 2"),
        ("t_s,rtt_ms\n0,1\n\n2,2\n", {}, 3, "1 fields where there must be 2"),
        ("t_s,rtt_ms\n0,1\n1,x\n", {}, 3, "field 2 is 'x'"),
        ("t_s,rtt_ms\n0,1\n1,inf\n", {}, 3, "field 2 is 'inf'"),
        ("t_s,rtt_ms\n0,1\n,2\n", {}, 3, "no time"),
        ("# c\nt_s,rtt_ms\n5,1\n4,2\n", {}, 4, "t_s = 4: must not be before the row above, 5"),
        ("ts_ms,x\n1700000000001,1\n1700000000000,2\n", {"ts_ms": "t_ms", "x": "rtt_ms"}, 3, "ts_ms = 17"),
        ("time,rtt_ms\n0.0,1\n0.1,2\n", {}, 1, "'time' is a time without a unit"),
        ("timestamp,rtt_ms,lost\n1700000000123,1,0\n", {}, 1, "'timestamp' is a time without a unit"),
        ("Date,rtt_ms\n2024-01-31,1\n", {}, 1, "'Date' is a time without a unit"),
        ("time,rtt_ms\n2024-01-31 12:00:00,1\n2024-02-30 12:00:00,1\n", {}, 3, "must be a date and a time"),
        ("time,rtt_ms\n2024-01-31 12:00:00,1\n7,1\n", {}, 3, "'7': must be a date and a time"),
        ("time,ts,rtt_ms\n2024-01-31 12:00:00,2024-01-31 12:00:00,1\n", {}, 1, "two columns are stamps"),
        ("t_s,rtt_ms\n0,1\n2,1\n1,2\n", {}, 4, "must not be before the row above"),
        ("t_s,rtt_ms\n0,1\n2,-1\n", {}, 3, "delay_s = -0.001: must not be negative"),
        ("t_s,rtt_ms\n0,1\n2,1e300\n", {}, 3, "must be at most 1e+10 s"),
        ("t_s,rtt_ms,lost\n0,1,0\n1,,2\n", {}, 3, "lost = 2"),
        ("t_s,rtt_ms,lost\n0,1,0\n1,5,1\n", {}, 3, "must not be 1 for a packet that arrived"),
        ("t_s,rate_mbps\n0,1\n1,-1\n", {}, 3, "rate_bps = -1000000.0"),
        ('t_s,note,rtt_ms\n0,"a,b",1\n', {}, 2, "4 fields where there must be 3"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(tmp_path, text, columns, line, words):
    with pytest.raises(TraceError) as caught:
        read(tmp_path, text, columns=columns)
    assert words in str(caught.value)
    assert caught.value.line == line and caught.value.hint


def test_too_many_columns_are_refused(tmp_path):
    with pytest.raises(TraceError, match="has 2000 columns"):
        read(tmp_path, ",".join(["a"] * 2000) + "\n1\n")


@given(rows=st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6) | st.none()), min_size=1, max_size=20))
def test_seconds_come_out_as_they_are_written(tmp_path_factory, rows):
    times = sorted(time for time, _ in rows)
    lines = [
        f"{time!r},{'' if delay is None else repr(delay)}" for time, (_, delay) in zip(times, rows, strict=True)
    ]
    trace = read(tmp_path_factory.mktemp("csv"), "\n".join(["t_s,delay_s", *lines]))
    assert trace.t_s.tolist() == [time - times[0] for time in times]
    assert [None if math.isnan(value) else value for value in trace.delay_s] == [delay for _, delay in rows]


ODD = st.sampled_from(["", "0", "-1", "5", "1e300", "-1e300", "1e12", "1e-300", "1e400", "-1e400", "7.5"])


@given(rows=st.lists(st.tuples(ODD, ODD, ODD), min_size=1, max_size=30))
def test_whatever_two_clocks_say_gives_traces_or_a_trace_error(tmp_path_factory, rows):
    text = "t_s,forward_delay_s,back_delay_s\n" + "".join(",".join(row) + "\n" for row in rows)
    try:
        traces = read_all(tmp_path_factory.mktemp("clocks"), text)
    except TraceError as error:
        assert error.line or "row" in error.message
        return
    assert [trace.n for trace in traces] == [len(rows)] * 2
