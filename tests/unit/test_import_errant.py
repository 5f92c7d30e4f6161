"""ERRANT's speed tests: three distributions, and no time series; its scenarios hold no sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netlab.errors import TraceError
from netlab.traces.importers.catalogue import import_trace
from netlab.traces.importers.importer import ImportOptions
from netlab.traces.trace import TracedPath

SAMPLES = Path(__file__).parent.parent / "samples"
HEADER = "operator,country,access_technology,rssi,download_mbps,upload_mbps,rtt_ms\n"


def test_a_test_gives_a_round_trip_and_a_rate_each_way() -> None:
    round_trip, forward, back = import_trace(SAMPLES / "errant.csv")
    assert round_trip.path is TracedPath.ROUND_TRIP
    assert round_trip.delay_s == pytest.approx([0.04875, 0.1215, 0.06325])
    assert forward.path is TracedPath.FORWARD
    assert forward.rate_bps == pytest.approx([21.5e6, 0.875e6, 12.25e6])
    assert back.path is TracedPath.BACK
    assert back.rate_bps[:2] == pytest.approx([38.25e6, 3.125e6])
    assert np.isnan(back.rate_bps[2])
    assert round_trip.loss_ratio is None


def test_it_says_that_its_times_are_row_numbers() -> None:
    for trace in import_trace(SAMPLES / "errant.csv"):
        assert "no time series" in trace.source
        assert trace.t_s.tolist() == [0.0, 1.0, 2.0]
    assert import_trace(SAMPLES / "errant.csv", "", ImportOptions(interval_s=0.5))[0].t_s.tolist() == [
        0.0,
        0.5,
        1.0,
    ]


def test_columns_are_found_by_name_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "tests.csv"
    path.write_text("rtt_ms,operator,upload_mbps,download_mbps\r\n50,north,1,2\r\n")
    round_trip, forward, back = import_trace(path)
    assert (round_trip.delay_s[0], forward.rate_bps[0], back.rate_bps[0]) == (0.05, 1e6, 2e6)


def test_a_scenario_is_recognised_and_refused_with_what_to_give_instead() -> None:
    with pytest.raises(TraceError, match="no sample in it") as refused:
        import_trace(SAMPLES / "errant-scenario.csv")
    assert "rtt_ms" in refused.value.hint


@pytest.mark.parametrize(
    ("text", "line", "rule"),
    [
        (HEADER, 0, "no test"),
        (HEADER + "n,a,4G,-60,1,2\n", 2, "6 fields where there must be 7"),
        (HEADER + "n,a,4G,-60,1,2,3\nn,a,4G,-60,1,2,-3\n", 3, "rtt_ms must be above 0"),
        (HEADER + "n,a,4G,-60,1,2,0\n", 2, "rtt_ms must be above 0"),
        (HEADER + "n,a,4G,-60,-1,2,3\n", 2, "download_mbps must be"),
        (HEADER + "n,a,4G,-60,1,1e99,3\n", 2, "upload_mbps must be"),
        (HEADER + "n,a,4G,-60,1,2,nan\n", 2, "decimal number"),
        ("operator,rtt_ms\nn,3\n", 1, "needs one column download_mbps"),
    ],
)
def test_a_broken_row_is_refused_with_its_line(tmp_path: Path, text: str, line: int, rule: str) -> None:
    path = tmp_path / "tests.csv"
    path.write_text(text)
    with pytest.raises(TraceError, match=rule) as refused:
        import_trace(path, "errant")
    assert refused.value.line == line
    assert refused.value.hint
