"""Measured series: strict reading with file and line, and replay as a schedule."""

from __future__ import annotations

import importlib.resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from link_strategies import refused

from netlab.errors import TraceError
from netlab.traces import series as series_module
from netlab.traces.series import PingSeries, read_series, series_schedule


def written(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "pings.dat"
    path.write_bytes(data)
    return path


def wrong(tmp_path: Path, data: bytes) -> TraceError:
    with pytest.raises(TraceError) as caught:
        read_series(written(tmp_path, data))
    return caught.value


def kept() -> PingSeries:
    with importlib.resources.as_file(
        importlib.resources.files("netlab.traces") / "data" / "ping_series.dat"
    ) as path:
        return read_series(path)


def test_the_kept_series_says_where_it_comes_from():
    series = kept()
    text = " ".join(series.comments)
    for words in ("milliseconds", "iproute2", "NIST", "public domain", "12601 .. 13200", "unchanged"):
        assert words in text


def test_the_kept_series_is_what_its_header_says():
    rtt_ms = np.array(kept().rtt_s) * 1e3
    assert rtt_ms.size == 600
    assert rtt_ms.std() == pytest.approx(12.4, abs=0.05)
    assert np.quantile(rtt_ms, 0.99) == pytest.approx(222.6, abs=0.05)
    centred = rtt_ms - rtt_ms.mean()
    assert (centred[1:] * centred[:-1]).mean() / rtt_ms.var() == pytest.approx(0.50, abs=0.005)
    assert list(rtt_ms[:3].round(6)) == [186.3, 222.5, 185.7]


def test_samples_are_read_exactly(tmp_path):
    series = read_series(written(tmp_path, b"# a\n#b \n211.6\n57\n0.059\n"))
    assert series == PingSeries(rtt_s=(0.2116, 0.057, 0.000059), comments=("a", "b"))


def test_last_newline_and_carriage_returns_do_not_matter(tmp_path):
    assert read_series(written(tmp_path, b"1.5\r\n2.5")).rtt_s == (0.0015, 0.0025)


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"", 0, "holds no sample"),
        (b"# only\n", 0, "holds no sample"),
        (b"1.5\nabc\n", 2, "'abc' is not a round trip"),
        (b"1.5\n\n2.5\n", 2, "'' is not a round trip"),
        (b"1.5\n2.5\n\n", 3, "'' is not a round trip"),
        (b"1.5\n# late\n", 2, "a comment after the first sample"),
        (b"1.5\n-2\n", 2, "'-2' is not a round trip"),
        (b"nan\n", 1, "'nan'"),
        (b"inf\n", 1, "'inf'"),
        (b"1e3\n", 1, "'1e3'"),
        (b"1.5ms\n", 1, "'1.5ms'"),
        (b" 1.5\n", 1, "' 1.5'"),
        (b"1,5\n", 1, "'1,5'"),
        (b"0\n", 1, "must be above 0"),
        (b"0.000\n", 1, "must be above 0"),
        (b"60001\n", 1, "at most 60000 ms"),
        (b"\xff\n", 1, "is not ASCII"),
        (b"1" * 2000 + b"\n", 1, "a line of 2000 bytes"),
        (b"1.5\n1\x002\n", 2, "is not a round trip"),
    ],
)
def test_what_is_no_series_is_refused_with_its_line(tmp_path, data, line, words):
    error = wrong(tmp_path, data)
    assert words in str(error)
    assert error.line == line
    assert error.path.endswith("pings.dat")
    assert f"pings.dat:{line}:" in str(error) if line else "pings.dat: " in str(error)
    assert error.exit_code == 2


def test_files_that_cannot_be_read_are_named(tmp_path):
    for path, words in ((tmp_path / "none.dat", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(TraceError, match=words):
            read_series(path)


def test_size_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(series_module, "MAX_SAMPLES", 3)
    assert "more than 3 samples" in str(wrong(tmp_path, b"1\n" * 4))
    monkeypatch.setattr(series_module, "MAX_FILE_BYTES", 7)
    assert "is larger than" in str(wrong(tmp_path, b"1\n" * 4))


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any.dat"
    path.write_bytes(data)
    try:
        series = read_series(path)
    except TraceError:
        return
    assert all(0.0 < rtt_s <= 60.0 for rtt_s in series.rtt_s)


def test_half_of_each_sample_goes_each_way_for_a_step():
    forward, back = series_schedule(PingSeries(rtt_s=(0.2, 0.3, 0.25)), step_s=0.1)
    assert forward == back
    assert [step.start_s for step in forward.steps] == [0.0, 0.1, 0.2]
    assert [step.profile.delay_s for step in forward.steps] == [0.1, 0.15, 0.125]
    assert forward.duration_s == 0.3 and forward.loop
    assert all(step.profile.ordered and step.profile.jitter_s == 0.0 for step in forward.steps)


def test_starts_are_multiples_in_decimal():
    forward, _ = series_schedule(PingSeries(rtt_s=(0.1,) * 1000), step_s=0.1)
    assert all(step.start_s == round(index / 10, 1) for index, step in enumerate(forward.steps))


def test_order_and_loop_can_be_chosen():
    forward, _ = series_schedule(PingSeries(rtt_s=(0.1,)), loop=False, ordered=False)
    assert not forward.loop and not forward.steps[0].profile.ordered


def test_impossible_replays_are_refused():
    assert "step_s = 0.0" in str(refused(series_schedule, PingSeries(rtt_s=(0.1,)), 0.0))
    assert "empty" in str(refused(series_schedule, PingSeries(rtt_s=())))
