"""iperf3's JSON: rates of both directions, by the receiver where the file has its view, and losses of UDP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netlab.errors import TraceError
from netlab.traces.fit.pair_fit import fit_pair
from netlab.traces.fit.schedule_fit import fit_schedule
from netlab.traces.importers.catalogue import import_trace
from netlab.traces.importers.iperf3_text import received_intervals
from netlab.traces.importers.rate_interval import RateInterval, interval_trace
from netlab.traces.loss_run import loss_runs
from netlab.traces.trace import UNKNOWN, LossTimes, Trace, TracedPath
from netlab.traces.trace_figures import trace_figures
from netlab.traces.trace_file import read_trace, write_trace
from netlab.traces.trace_source import TraceSource

SAMPLES = Path(__file__).parent.parent / "samples"


def total(
    second: int, mbps: float, *, sender: bool | None = True, length: float = 1.0, **more: Any
) -> dict[str, Any]:
    said = {} if sender is None else {"sender": sender}
    return {"start": second, "end": second + length, "bits_per_second": mbps * 1e6, **said, **more}


def run(sums: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    start = {"version": "iperf 3.12", "test_start": {"protocol": "TCP", "reverse": 0}} | more.pop("start", {})
    intervals = [{"streams": [], "sum": one} for one in sums]
    return {"start": start, "intervals": intervals, "end": {}, **more}


def load(folder: Path, document: dict[str, Any]) -> dict[TracedPath, Trace]:
    path = folder / "iperf3.json"
    path.write_text(json.dumps(document))
    return {trace.path: trace for trace in import_trace(path)}


def test_a_real_tcp_run_of_two_streams_gives_their_sum_without_what_was_omitted() -> None:
    (trace,) = import_trace(SAMPLES / "iperf3-tcp.json")
    document = json.loads((SAMPLES / "iperf3-tcp.json").read_text())
    kept = [one["sum"] for one in document["intervals"] if not one["sum"]["omitted"]]
    assert len(kept) < len(document["intervals"])
    assert trace.path is TracedPath.FORWARD
    assert trace.rate_bps == pytest.approx([one["bits_per_second"] for one in kept])
    assert trace.rate_bps.mean() == pytest.approx(10e6, rel=0.06)  # two streams asked for 5 Mbit/s each
    assert trace.t_s[0] == 0.0
    assert trace.duration_s == pytest.approx(2.0, abs=0.01)
    assert "as sent" in trace.source


def test_a_real_udp_run_both_ways_takes_each_direction_from_its_receiver() -> None:
    forward, back = import_trace(SAMPLES / "iperf3-udp-both-ways.json")
    assert (forward.path, back.path) == (TracedPath.FORWARD, TracedPath.BACK)
    for trace in (forward, back):
        assert "as received" in trace.source
        assert trace.n == 39
        assert trace.loss_ratio == 0.0
        assert trace.rate_bps.mean() == pytest.approx(5e6, rel=0.06)
    assert forward.duration_s == pytest.approx(2.0, abs=0.06)


def test_reverse_is_back(tmp_path: Path) -> None:
    start = {"test_start": {"protocol": "TCP", "reverse": 1}}
    assert list(load(tmp_path, run([total(0, 8.0, sender=False)], start=start))) == [TracedPath.BACK]


def test_before_sums_said_who_sends_the_test_itself_does(tmp_path: Path) -> None:
    assert list(load(tmp_path, run([total(0, 8.0, sender=None)]))) == [TracedPath.FORWARD]
    start = {"test_start": {"protocol": "TCP", "reverse": 1}}
    assert list(load(tmp_path, run([total(0, 8.0, sender=None)], start=start))) == [TracedPath.BACK]


def test_a_servers_own_file_has_the_directions_of_its_client(tmp_path: Path) -> None:
    document = run([total(0, 8.0, sender=False)], start={"accepted_connection": {"host": "10.0.0.1", "port": 1}})
    document["intervals"][0]["sum_bidir_reverse"] = total(0, 3.0, sender=True)
    traces = load(tmp_path, document)
    assert traces[TracedPath.FORWARD].rate_bps.tolist() == [8e6]
    assert "as received" in traces[TracedPath.FORWARD].source
    assert traces[TracedPath.BACK].rate_bps.tolist() == [3e6]
    assert "as sent" in traces[TracedPath.BACK].source


def test_streams_are_added_up_where_there_is_no_sum(tmp_path: Path) -> None:
    document = run([])
    document["intervals"] = [{"streams": [total(0, 2.0), total(0, 3.0), total(0, 7.0, sender=False)]}]
    traces = load(tmp_path, document)
    assert traces[TracedPath.FORWARD].rate_bps.tolist() == [5e6]
    assert traces[TracedPath.BACK].rate_bps.tolist() == [7e6]


def test_udp_losses_are_counted_an_interval_and_spread_over_it(tmp_path: Path) -> None:
    sums = [
        total(0, 4.0, sender=False, packets=10, lost_packets=2),
        total(1, 0.0, sender=False, packets=0, lost_packets=0),
        total(2, 2.0, sender=False, packets=4, lost_packets=4),
    ]
    trace = load(tmp_path, run(sums))[TracedPath.BACK]
    assert trace.lost.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 1, UNKNOWN, 1, 1, 1, 1]
    assert trace.loss_ratio == pytest.approx(6 / 14)
    assert trace.t_s[:3] == pytest.approx([0.0, 0.1, 0.2])
    assert trace.t_s[11:] == pytest.approx([2.0, 2.25, 2.5, 2.75])
    assert trace.rate_bps[[0, 10, 14]].tolist() == [4e6, 0.0, 2e6]
    # How many is known, not which: so there are no runs, and nothing that a fit could take for bursts.
    assert trace.losses is LossTimes.SPREAD
    assert trace_figures(trace).loss.runs is None and loss_runs(trace).size == 0


def test_where_nothing_was_lost_nothing_is_spread(tmp_path: Path) -> None:
    trace = load(tmp_path, run([total(0, 4.0, sender=False, packets=9, lost_packets=0)]))[TracedPath.BACK]
    assert trace.losses is LossTimes.COUNTED and trace.loss_ratio == 0.0


@pytest.mark.parametrize("lost_packets", [(30, 0, 0, 0, 0), (6, 6, 6, 6, 6)])
def test_a_fit_takes_losses_that_nobody_saw_as_independent_and_says_so(
    tmp_path: Path, lost_packets: tuple[int, ...]
) -> None:
    sums = [total(i, 4.0, sender=False, packets=100, lost_packets=n) for i, n in enumerate(lost_packets)]
    trace = load(tmp_path, run(sums))[TracedPath.BACK]
    write_trace(trace, tmp_path / "trace.csv")
    fit = fit_pair([read_trace(tmp_path / "trace.csv")])
    assert fit.pair.back.loss == pytest.approx(30 / 500)  # a ratio, and no chain
    assert fit.losses[1] is not None and fit.losses[1].runs is None
    assert any("not which" in text for text in fit.pair.provenance.assumptions)
    assert not any("as chance has them" in text for text in fit.pair.provenance.assumptions)
    schedule = fit_schedule([trace], step_s=1.0)
    assert any("outages cannot be seen" in text for text in schedule.pair.provenance.assumptions)


def test_a_sender_takes_its_losses_from_what_the_other_side_said_at_the_end(tmp_path: Path) -> None:
    document = run([total(0, 4.0, packets=50), total(1, 4.0, packets=50)])
    document["end"] = {"sum_received": {"packets": 100, "lost_packets": 10}}
    trace = load(tmp_path, document)[TracedPath.FORWARD]
    assert trace.n == 100
    assert trace.loss_ratio == pytest.approx(0.1)
    assert trace.lost[:50].sum() == 5
    del document["end"]["sum_received"]
    assert load(tmp_path, document)[TracedPath.FORWARD].loss_ratio is None


def test_negative_counts_of_packets_that_came_late_are_no_losses(tmp_path: Path) -> None:
    trace = load(tmp_path, run([total(0, 4.0, sender=False, packets=5, lost_packets=-1)]))[TracedPath.BACK]
    assert trace.loss_ratio == 0.0


@pytest.mark.parametrize(
    ("lost", "kept"),
    [((5, -5), (0, 0)), ((5, 0, -3), (2, 0, 0)), ((2, 3, -4), (1, 0, 0)), ((-1, 4), (0, 4)), ((1, 2), (1, 2))],
)
def test_packets_that_come_late_over_an_edge_take_their_losses_back(tmp_path: Path, lost, kept) -> None:
    sums = [total(i, 4.0, sender=False, packets=10, lost_packets=n) for i, n in enumerate(lost)]
    trace = load(tmp_path, run(sums))[TracedPath.BACK]
    assert trace.lost.reshape(-1, 10).sum(axis=1).tolist() == list(kept)
    line = "[  5]   {0}.00-{1}.00   sec   640 KBytes  5.24 Mbits/sec  0.005 ms  {2}/10 (1%)  \n"
    text = "".join(line.format(i, i + 1, n) for i, n in enumerate(lost))
    assert [one.lost for one in received_intervals(text)] == list(kept)


def test_the_servers_text_brings_what_it_received(tmp_path: Path) -> None:
    text = (
        "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n"
        "[  5]   0.00-1.00   sec   640 KBytes  5.24 Mbits/sec  0.005 ms  2/20 (10%)  \n"
        "[  5]   1.00-2.00   sec   608 KBytes  498 Kbits/sec  0.008 ms  0/19 (0%)  \n"
        "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
        "[  5]   0.00-2.00   sec  1.22 MBytes  5.11 Mbits/sec  0.008 ms  2/39 (5.1%)  receiver\n"
    )
    document = run([total(0, 6.0, packets=20), total(1, 6.0, packets=19)], server_output_text=text)
    trace = load(tmp_path, document)[TracedPath.FORWARD]
    assert trace.n == 39
    assert int(trace.lost.sum()) == 2
    assert trace.rate_bps[[0, 38]].tolist() == [5.24e6, 498e3]


def test_of_several_streams_the_servers_sum_is_taken() -> None:
    line = "[{0}]   0.00-1.00   sec   640 KBytes  {1} Mbits/sec  0.005 ms  0/20 (0%)  \n"
    text = line.format("  5", "1.00") + line.format("  7", "2.00") + line.format("SUM", "3.00")
    assert [one.rate_bps for one in received_intervals(text)] == [3e6]


def test_json_stream_is_read_as_the_document_it_makes(tmp_path: Path) -> None:
    path = tmp_path / "stream.json"
    events = [
        {"event": "start", "data": {"version": "iperf 3.17", "test_start": {"protocol": "TCP", "reverse": 1}}},
        {"event": "interval", "data": {"streams": [], "sum": total(0, 4.0, sender=False)}},
        {"event": "interval", "data": {"streams": [], "sum": total(1, 5.0, sender=False)}},
        {"event": "end", "data": {}},
    ]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    (trace,) = import_trace(path)
    assert trace.path is TracedPath.BACK
    assert trace.rate_bps.tolist() == [4e6, 5e6]
    whole = path.read_text()
    path.write_text(whole + '{"event": "interval", "data": {"streams"')  # cut short: it ends there
    assert import_trace(path)[0].rate_bps.tolist() == [4e6, 5e6]
    path.write_text(whole + '{"event": "interval", "data": {"streams"\n')
    with pytest.raises(TraceError, match="no event of iperf3") as refused:
        import_trace(path)
    assert refused.value.line == 5


def test_a_json_stream_says_at_its_end_what_was_lost(tmp_path: Path) -> None:
    path = tmp_path / "stream.json"
    start = {"version": "iperf 3.17", "test_start": {"protocol": "UDP", "reverse": 0}}
    events = [
        {"event": "start", "data": start},
        {"event": "interval", "data": {"streams": [], "sum": total(0, 4.0, packets=10)}},
        {"event": "end", "data": {"sum_received": {"packets": 10, "lost_packets": 2}}},
    ]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    assert import_trace(path)[0].loss_ratio == pytest.approx(0.2)


def test_a_run_that_failed_says_what_iperf3_said(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="iperf3 failed: unable to connect") as refused:
        load(tmp_path, run([], error="unable to connect to server: Connection refused"))
    assert refused.value.hint


def test_a_run_that_was_broken_off_keeps_what_it_measured(tmp_path: Path) -> None:
    document = run([total(0, 4.0)], error="interrupt - the client has terminated\n\x1b[0m")
    trace = load(tmp_path, document)[TracedPath.FORWARD]
    assert trace.n == 1
    assert "ended with: interrupt" in trace.source
    assert trace.source.isprintable()


def test_a_last_interval_that_is_a_remnant_belongs_to_the_one_before(tmp_path: Path) -> None:
    sums = [
        total(0, 4.0, sender=False, packets=20, lost_packets=1),
        total(1, 4.0, sender=False, packets=20, lost_packets=0),
        total(2, 100.0, sender=False, packets=5, lost_packets=2, length=0.04),
    ]
    trace = load(tmp_path, run(sums))[TracedPath.BACK]
    assert trace.n == 45
    assert int(trace.lost.sum()) == 3
    assert trace.rate_bps[[0, 20, 44]] == pytest.approx([4e6, 8e6 / 1.04, 8e6 / 1.04])
    assert trace.duration_s == pytest.approx(2.04, abs=0.06)


def test_more_packets_than_rows_can_hold_leave_losses_out(tmp_path: Path) -> None:
    path = tmp_path / "any"
    path.write_text("x")
    intervals = [RateInterval(0.0, 1.0, 1e9, 6_000_000, 3)]
    trace = interval_trace(TraceSource(path), intervals, TracedPath.BACK, "fast")
    assert trace.n == 1
    assert trace.loss_ratio is None
    assert "losses left out" in trace.source


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda document: document["intervals"].clear(), "holds no interval"),
        (lambda document: document["intervals"].reverse(), "begins before the one before"),
        (lambda document: document.pop("start"), "missing required field `start`"),
        (lambda document: document["intervals"][0]["sum"].update(bits_per_second=-1), "bits_per_second"),
        (lambda document: document["intervals"][0]["sum"].update(start="now"), "start"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, change: Any, rule: str) -> None:
    document = run([total(second, 4.0) for second in range(3)])
    change(document)
    with pytest.raises(TraceError, match=rule) as refused:
        path = tmp_path / "iperf3.json"
        path.write_text(json.dumps(document))
        import_trace(path, "iperf3")
    assert refused.value.hint


def test_losses_are_spread_as_evenly_as_whole_packets_can_be(tmp_path: Path) -> None:
    path = tmp_path / "any"
    path.write_text("x")
    trace = interval_trace(TraceSource(path), [RateInterval(0.0, 1.0, 1e6, 1000, 37)], TracedPath.BACK, "")
    gaps = np.diff(np.flatnonzero(trace.lost))
    assert int(trace.lost.sum()) == 37
    assert gaps.max() - gaps.min() <= 1
