"""The LENS dataset's CSV, made of irtt and of ping."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netlab.errors import TraceError
from netlab.traces.importers.catalogue import import_trace
from netlab.traces.trace import UNKNOWN, ClockVerdict, TracedPath

SAMPLE = Path(__file__).parent.parent / "samples" / "lens.csv"
HEADER = "timestamp,rtt,uplink,downlink\n"
ROW = "1700000000000000000,61.25,33.5,27.75\n"


def test_the_sample_gives_three_traces_with_their_losses() -> None:
    round_trip, forward, back = import_trace(SAMPLE)
    assert [trace.path for trace in (round_trip, forward, back)] == list(TracedPath)
    assert round_trip.n == 9
    assert round_trip.t_s == pytest.approx(np.arange(9) * 0.01, abs=1e-5)
    assert round_trip.lost.tolist() == [0, 1, 0, 1, 0, 1, 0, 0, 0]
    assert round_trip.delays_s == pytest.approx([0.06125, 0.058125, 0.06475, 0.0595, 0.07125, 0.057875])
    # One loss of three is of unknown direction: too many to claim anything of the directions.
    assert set(forward.lost.tolist()) == {UNKNOWN}
    assert forward.clocks is ClockVerdict.IN_STEP
    assert forward.delays_s == pytest.approx([0.0335, 0.0305, 0.036875, 0.03175, 0.0435, 0.03025])
    assert back.n == 8


def test_losses_of_known_direction_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "lens.csv"
    rows = [f"17000000000{i}0000000,{row}\n" for i, row in enumerate(("60,30,30", "0,-1,0", "0,0,-1", "61,31,30"))]
    path.write_text(HEADER + "".join(rows))
    _, forward, back = import_trace(path)
    assert forward.lost.tolist() == [0, 1, 0, 0]
    assert back.lost.tolist() == [0, 1, 0]


def test_a_delay_of_minus_one_between_clocks_out_of_step_is_no_loss(tmp_path: Path) -> None:
    path = tmp_path / "lens.csv"
    path.write_text(HEADER + "".join(f"170000000{i}000000000,60,-1,61\n" for i in range(10)))
    round_trip, forward, _ = import_trace(path)
    assert round_trip.loss_ratio == 0.0
    assert forward.clocks is ClockVerdict.CORRECTED
    assert forward.delay_s == pytest.approx([0.030] * 10)


def test_the_one_of_ping_gives_a_round_trip_by_the_time_of_sending(tmp_path: Path) -> None:
    path = tmp_path / "ping.csv"
    path.write_text("timestamp,rtt\n1705744800.100,91.0\n1705744800.121,100.0\n1705744800.160,20.0\n")
    (trace,) = import_trace(path)
    assert trace.path is TracedPath.ROUND_TRIP
    assert trace.t_s == pytest.approx([0.0, 0.012, 0.131], abs=1e-6)
    assert trace.loss_ratio is None


@pytest.mark.parametrize(
    ("text", "line", "rule"),
    [
        (HEADER, 0, "no row"),
        (HEADER + ROW + "1700000000000000001,1,2\n", 3, "3 fields where there must be 4"),
        (HEADER + ROW + "1700000000000000001,x,1,1\n", 3, "must be a decimal number"),
        (HEADER + ROW + "1699999999000000000,2,1,1\n", 3, "must not be before"),
        (HEADER + ROW + "1700000000000000001,0,0,0\n", 3, "neither a round trip nor"),
        (HEADER + ROW + "1700000000000000001,-2,1,1\n", 3, "neither a round trip nor"),
        (HEADER + ROW + "1700000000000000001,,1,1\n", 3, "empty or beyond"),
        (HEADER + ROW + "1700000000000000001,1e300,1,1\n", 3, "empty or beyond"),
        ("timestamp,rtt\n1700000000.5,0\n", 2, "above 0"),
        ("timestamp,rtt\n1.5,9\n", 2, "1.5: the timestamp must be within"),
        ("timestamp,rtt\n1700000000.5,9\n1700000000500,9\n", 3, "the timestamp must be within"),
        (HEADER + "1700000000,61,33,27\n", 2, "the timestamp must be within"),
    ],
)
def test_a_broken_row_is_refused_with_its_line(tmp_path: Path, text: str, line: int, rule: str) -> None:
    path = tmp_path / "lens.csv"
    path.write_text(text)
    with pytest.raises(TraceError, match=rule) as refused:
        import_trace(path, "lens")
    assert refused.value.line == line
    assert refused.value.hint


@pytest.mark.parametrize("stamp", ["0", "0.01", "1705744800626", "x", ""])
def test_a_table_of_other_units_is_not_taken_for_the_one_of_ping(tmp_path: Path, stamp: str) -> None:
    path = tmp_path / "any.csv"
    path.write_text(f"timestamp,rtt\n{stamp},91.8\n")
    with pytest.raises(TraceError, match="in none of the formats"):
        import_trace(path)
