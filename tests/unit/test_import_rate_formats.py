"""Formats of bare numbers that say how fast: mahimahi, cooked, Oboe; and which of them a file is in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import TraceError
from netlab.traces.importers.catalogue import import_trace, recognise
from netlab.traces.importers.importer import ImportOptions
from netlab.traces.trace import TracedPath
from netlab.traces.trace_source import TraceSource

SAMPLES = Path(__file__).parent.parent / "samples"


def write(folder: Path, text: str, name: str = "trace.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_mahimahi_counts_packets_in_bins_that_fill_the_period(tmp_path: Path) -> None:
    text = "0\n3\n3\n40\n99\n100\n150\n250\n250\n250\n"
    (trace,) = import_trace(write(tmp_path, text, "drive.up"), "mahimahi", ImportOptions(bin_s=0.1))
    # 250 ms at 0.1 s: two bins of 125 ms; 6 packets of 12,000 bits, then 4.
    assert trace.bin_s == pytest.approx(0.125)
    assert trace.path is TracedPath.FORWARD
    assert trace.rate_bps == pytest.approx([6 * 12_000 / 0.125, 4 * 12_000 / 0.125])
    assert trace.duration_s == pytest.approx(0.25)


def test_the_mahimahi_sample_is_recognised_and_has_its_outage() -> None:
    (trace,) = import_trace(SAMPLES / "mahimahi.up")
    times = np.loadtxt(SAMPLES / "mahimahi.up")
    assert trace.duration_s == pytest.approx(0.5)
    assert trace.rate_bps[2:4].tolist() == [0.0, 0.0]
    assert trace.rate_bps.mean() == pytest.approx(times.size * 12_000 / 0.5)


def test_mahimahi_without_a_direction_in_its_name_is_the_downlink(tmp_path: Path) -> None:
    (trace,) = import_trace(write(tmp_path, "0\n10\n"), "mahimahi")
    assert trace.path is TracedPath.BACK


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=300), st.sampled_from([0.001, 0.02, 0.1, 1.0, 10.0]))
def test_mahimahi_bins_hold_every_packet_once(times: list[int], bin_s: float) -> None:
    import tempfile

    times = sorted([*times, 3001])
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), "\n".join(map(str, times)))
        (trace,) = import_trace(path, "mahimahi", ImportOptions(bin_s=bin_s))
    assert trace.bin_s is not None
    bits = trace.rate_bps * trace.bin_s
    assert bits.sum() == pytest.approx(len(times) * 12_000)
    assert trace.duration_s == pytest.approx(3.001)
    first = int(np.count_nonzero(np.array(times) / 1e3 < trace.bin_s * (1 - 1e-9))) if trace.n > 1 else len(times)
    assert bits[0] == pytest.approx(first * 12_000, abs=12_001)


@pytest.mark.parametrize(
    ("text", "line", "rule"),
    [
        ("", 0, "no line"),
        ("0\n0\n", 2, "period of 0"),
        ("5\n4\n", 2, "before the line above"),
        ("5\n\n6\n", 2, "empty line"),
        ("5\n6.5\n", 2, "whole milliseconds"),
        ("5\nsix\n", 2, "decimal number"),
        ("-5\n6\n", 1, "within 0"),
        ("5\nnan\n", 2, "decimal number"),
        ("5\n9999999999999\n", 2, "within 0"),
        ("5\n999999999999\n", 0, "more than 5000000 bins"),
        ("1 2\n", 1, "decimal number"),
    ],
)
def test_a_broken_mahimahi_line_is_refused(tmp_path: Path, text: str, line: int, rule: str) -> None:
    with pytest.raises(TraceError, match=rule) as refused:
        import_trace(write(tmp_path, text), "mahimahi")
    assert refused.value.line == line
    assert refused.value.hint


def test_cooked_rates_hold_until_the_next_line() -> None:
    (trace,) = import_trace(SAMPLES / "cooked.txt")
    assert trace.path is TracedPath.BACK
    assert trace.t_s == pytest.approx([0.0, 0.62, 1.1, 2.35])
    assert trace.rate_bps == pytest.approx([4.5e6, 3.25e6, 0.0, 5.125e6])
    assert trace.bin_s is None
    assert trace.source == "cooked.txt, cooked"


def test_cooked_may_begin_late_and_be_written_with_any_space(tmp_path: Path) -> None:
    (trace,) = import_trace(write(tmp_path, "5.5 \t 1\r\n 6 , 2 \r\n7.5\t3\r\n\r\n"), "cooked")
    assert trace.t_s == pytest.approx([0.0, 0.5, 2.0])
    assert trace.rate_bps == pytest.approx([1e6, 2e6, 3e6])


def test_oboe_chunks_have_the_mean_of_both_between_them() -> None:
    (trace,) = import_trace(SAMPLES / "oboe.txt")
    assert trace.t_s == pytest.approx([0.0, 0.4, 0.49, 1.24, 1.29, 2.09])
    between = (3200.5 + 2900.25) / 2, (2900.25 + 3100.0) / 2
    assert trace.rate_bps / 1e3 == pytest.approx([3200.5, between[0], 2900.25, between[1], 3100.0, 3100.0])


def test_oboe_without_chunks_holds_its_rates(tmp_path: Path) -> None:
    (trace,) = import_trace(write(tmp_path, "0 2743\n1000 3025\n2000 1000\n"))
    assert trace.source.endswith(", oboe")
    assert trace.t_s == pytest.approx([0.0, 1.0, 2.0])
    assert trace.rate_bps == pytest.approx([2.743e6, 3.025e6, 1e6])


@pytest.mark.parametrize("name", ["cooked", "oboe"])
@pytest.mark.parametrize(
    ("text", "line", "rule"),
    [
        ("", 0, "no pair"),
        ("0 1\n1\n", 2, "1 fields where there must be 2"),
        ("0 1\n1 2 3\n", 2, "3 fields where there must be 2"),
        ("1 1\n0 1\n", 2, "before the line above"),
        ("0 1\n1 -1\n", 2, "value must be within 0"),
        ("-1 1\n1 1\n", 1, "time must be within 0"),
        ("0 1\n1 inf\n", 2, "decimal number"),
        ("0 1\n1e300 1\n", 2, "time must be within 0"),
        ("0 1\n\n2 1\n", 0, ""),
        ("0 1\n, 1\n", 2, "needs a time and a value"),
    ],
)
def test_a_broken_pair_is_refused(tmp_path: Path, name: str, text: str, line: int, rule: str) -> None:
    path = write(tmp_path, text)
    if not rule:
        with pytest.raises(TraceError):
            import_trace(path, name)
        return
    with pytest.raises(TraceError, match=rule) as refused:
        import_trace(path, name)
    assert refused.value.line == line
    assert refused.value.hint


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0.0 4.5\n0.6 3.2\n", "cooked"),
        ("0 5\n1 6\n2 4\n", "cooked"),
        ("0 5.5\n60 0.2\n120 0.9\n", None),  # minutes and Mbit/s, or milliseconds and very little
        ("0 3200\n400 3200\n500 2900\n900 2900\n", "oboe"),
        ("0 2743\n1000 3025\n", "oboe"),
        ("0.0 1.0\n0.5 1.0\n1.0 2.0\n1.5 2.0\n", "cooked"),  # its rates come in pairs by chance
        ("0 250\n1 250\n2 300\n3 300\n", None),  # seconds and a fast link, or milliseconds
        ("100 3\n400 3\n500 4\n900 4\n", None),  # slow chunks, or a rate every few minutes
        ("\n".join(map(str, range(0, 600, 7))), "mahimahi"),
        ("20\n21\n25\n", None),  # round trips that happen to rise, or packets
        ("21\n20\n25\n", "rtt-list"),
        ("".join(f"{20 + i // 10}\n" for i in range(60)), None),  # sorted round trips: a period of 25 ms
        ("".join(f"{180 + 5 * i}\n" for i in range(60)), None),  # it begins far from 0
        ("".join(f"{i}\n" for i in range(1, 1001)), "mahimahi"),
        ("".join(f"{12 * i}\n" for i in range(1, 60)), "mahimahi"),
        ("20\n" * 60, "rtt-list"),
        ("20.5\n21.5\n", "rtt-list"),
    ],
)
def test_bare_numbers_are_told_apart_or_refused(tmp_path: Path, text: str, name: str | None) -> None:
    source = TraceSource(write(tmp_path, text))
    if name is not None:
        assert recognise(source).name == name
        return
    with pytest.raises(TraceError) as refused:
        recognise(source)
    assert "--format" in refused.value.hint
