"""A list of round trips as a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlab.errors import TraceError
from netlab.traces.importers.catalogue import import_trace
from netlab.traces.importers.importer import ImportOptions
from netlab.traces.trace import ClockVerdict, TracedPath

SAMPLE = Path(__file__).parents[1] / "samples" / "rtt-list.dat"


def read(tmp_path, text: str, **options):
    path = tmp_path / "list.dat"
    path.write_bytes(text.encode())
    (trace,) = import_trace(path, "rtt-list", ImportOptions(**options))
    return trace


def test_the_sample_is_recognised_and_read():
    (trace,) = import_trace(SAMPLE)
    assert trace.delay_s.tolist() == [0.2116, 0.2056, 0.203, 0.218]
    assert trace.t_s.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert (trace.path, trace.clocks) == (TracedPath.ROUND_TRIP, ClockVerdict.ONE_CLOCK)
    assert not trace.has_losses and not trace.has_rates
    assert trace.source == "rtt-list.dat, rtt-list" and len(trace.source_sha256) == 64


def test_the_interval_is_what_one_says(tmp_path):
    assert read(tmp_path, "1\n2\n3\n", interval_s=0.1).t_s.tolist() == pytest.approx([0.0, 0.1, 0.2])


def test_the_last_line_needs_no_end_and_lines_may_end_as_windows_has_them(tmp_path):
    assert read(tmp_path, "1.5\r\n2.5").delay_s.tolist() == [0.0015, 0.0025]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 0, "holds no sample"),
        ("# only\n", 0, "holds no sample"),
        ("1\n\n2\n", 2, "an empty line"),
        ("1\nx\n", 2, "field 1 is 'x'"),
        ("# c\n1\n1 2\n", 3, "field 1 is '1 2'"),
        ("1\nnan\n", 2, "must be a decimal number"),
        ("1\n-2\n", 2, "must be above 0"),
        ("1\n0\n", 2, "must be above 0"),
        ("1\n1e99\n", 2, "at most 3600000 ms"),
        ("1\n1e999\n", 2, "at most 3600000 ms"),
        ("1\n# late\n", 2, "field 1 is '# late'"),
        ("1\n\x00\n", 2, "must be a decimal number"),
    ],
)
def test_what_is_no_round_trip_is_refused_with_its_line(tmp_path, text, line, words):
    with pytest.raises(TraceError) as caught:
        read(tmp_path, text)
    assert words in str(caught.value)
    assert caught.value.line == line and caught.value.hint
