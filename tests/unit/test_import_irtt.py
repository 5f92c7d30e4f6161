"""irtt's JSON: round trips, one-way delays by two clocks, and losses by direction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netlab.errors import TraceError
from netlab.traces.importers.catalogue import import_trace
from netlab.traces.trace import UNKNOWN, ClockVerdict, Trace, TracedPath

SAMPLE = Path(__file__).parent.parent / "samples" / "irtt.json"

MS = 1_000_000


def trip(
    seqno: int,
    lost: str | bool = "false",
    *,
    forward_ms: float = 20.0,
    back_ms: float = 20.0,
    ahead_ms: float = 0.0,
    took_ms: float = 1.0,
    clock: str = "wall",
) -> dict[str, Any]:
    """Return a round trip as irtt writes it; ``ahead_ms`` is what the server's clock is ahead."""
    sent = 5_000 * MS + seqno * 100 * MS
    client: dict[str, Any] = {"send": {"wall": sent, "monotonic": sent}, "receive": {}}
    server: dict[str, Any] = {"send": {}, "receive": {}}
    delay: dict[str, Any] = {}
    if lost in ("false", False):
        came = sent + round(forward_ms * MS)
        left = came + round(took_ms * MS)
        back = left + round(back_ms * MS)
        client["receive"] = {"wall": back, "monotonic": back}
        ahead = round(ahead_ms * MS)
        server = {"receive": {clock: came + ahead}, "send": {clock: left + ahead}}
        delay = {"rtt": round((forward_ms + back_ms) * MS)}
        if clock == "wall":
            delay |= {"send": came + ahead - sent, "receive": back - left - ahead}
    return {
        "seqno": seqno,
        "lost": lost,
        "timestamps": {"client": client, "server": server},
        "delay": delay,
        "ipdv": {},
    }


def load(folder: Path, trips: list[dict[str, Any]], **stats: int) -> dict[TracedPath, Trace]:
    path = folder / "measured.json"
    path.write_text(json.dumps({"version": {"irtt": "0.9.0"}, "stats": stats, "round_trips": trips}))
    return {trace.path: trace for trace in import_trace(path)}


def test_a_real_run_on_one_host_is_read_and_its_directions_add_up() -> None:
    round_trip, forward, back = import_trace(SAMPLE)
    document = json.loads(SAMPLE.read_text())
    rtt_s = np.array([one["delay"]["rtt"] for one in document["round_trips"]]) / 1e9
    assert round_trip.path is TracedPath.ROUND_TRIP
    assert round_trip.clocks is ClockVerdict.ONE_CLOCK
    assert round_trip.delay_s == pytest.approx(rtt_s)
    assert round_trip.loss_ratio == 0.0
    assert round_trip.copies.tolist() == [1] * 12
    assert round_trip.interval_s == pytest.approx(0.02, abs=0.002)
    assert round_trip.source.startswith("irtt.json, irtt 0.9.0")
    assert len(round_trip.source_sha256) == 64
    # One clock in truth; but replies took 0.05 ms less than requests, and nobody can tell a path from a clock.
    assert forward.clocks is back.clocks is ClockVerdict.CORRECTED
    # One-way delays are by the wall clock, the round trip is by the monotonic one.
    assert forward.delay_s + back.delay_s == pytest.approx(rtt_s, abs=1e-6)


def test_clocks_far_out_of_step_are_corrected_and_said_to_be(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    wait_ms = generator.exponential(2.0, (2, 40))
    trips = [
        trip(i, forward_ms=20 + wait_ms[0, i], back_ms=20 + wait_ms[1, i], ahead_ms=10_480.0) for i in range(40)
    ]
    traces = load(tmp_path, trips)
    forward, back = traces[TracedPath.FORWARD], traces[TracedPath.BACK]
    assert forward.clocks is back.clocks is ClockVerdict.CORRECTED
    # n = 40 exponential waits of 2 ms: the offset's error is about 0.035 ms; bound at ten times that.
    assert forward.delay_s == pytest.approx((20 + wait_ms[0]) / 1e3, abs=0.35e-3)
    assert back.delay_s == pytest.approx((20 + wait_ms[1]) / 1e3, abs=0.35e-3)
    assert "offset of 10479.9 ms" in forward.source
    assert np.diff(forward.delay_s) == pytest.approx(np.diff(wait_ms[0]) / 1e3, abs=1e-9)


def test_few_delays_by_clocks_out_of_step_keep_their_variation_alone(tmp_path: Path) -> None:
    trips = [trip(i, forward_ms=20.0 + i, ahead_ms=-500.0) for i in range(3)]
    traces = load(tmp_path, trips)
    assert traces[TracedPath.FORWARD].clocks is ClockVerdict.VARIATION_ONLY
    assert traces[TracedPath.FORWARD].delay_s == pytest.approx([0.0, 0.001, 0.002])
    assert traces[TracedPath.ROUND_TRIP].delay_s == pytest.approx([0.040, 0.041, 0.042])


def test_a_server_with_a_monotonic_clock_alone_still_gives_directions(tmp_path: Path) -> None:
    traces = load(tmp_path, [trip(i, ahead_ms=8e9, clock="monotonic") for i in range(10)])
    assert traces[TracedPath.FORWARD].clocks is ClockVerdict.CORRECTED
    assert traces[TracedPath.FORWARD].delay_s == pytest.approx([0.020] * 10, abs=1e-6)


def test_without_server_clocks_there_is_a_round_trip_alone(tmp_path: Path) -> None:
    trips = [trip(i, clock="none") for i in range(4)]
    assert list(load(tmp_path, trips)) == [TracedPath.ROUND_TRIP]


def test_losses_go_to_the_direction_they_happened_in(tmp_path: Path) -> None:
    fates = ["false", "true_up", "true_down", "false", "true_up", "false", "false", "false"]
    traces = load(tmp_path, [trip(i, fate) for i, fate in enumerate(fates)])
    assert traces[TracedPath.ROUND_TRIP].lost.tolist() == [0, 1, 1, 0, 1, 0, 0, 0]
    assert traces[TracedPath.FORWARD].lost.tolist() == [0, 1, 0, 0, 1, 0, 0, 0]
    # What never came was never sent back.
    assert traces[TracedPath.BACK].lost.tolist() == [0, 1, 0, 0, 0, 0]
    assert traces[TracedPath.BACK].t_s == pytest.approx([0.020, 0.220, 0.320, 0.520, 0.620, 0.720], abs=2e-3)


def test_losses_of_unknown_direction_leave_both_directions_unknown(tmp_path: Path) -> None:
    traces = load(tmp_path, [trip(i, "true" if i % 4 == 3 else "false") for i in range(40)])
    assert traces[TracedPath.ROUND_TRIP].loss_ratio == pytest.approx(0.25)
    assert traces[TracedPath.FORWARD].loss_ratio is None
    assert traces[TracedPath.BACK].loss_ratio is None


def test_a_single_loss_of_unknown_direction_does_not_hide_the_others(tmp_path: Path) -> None:
    fates = ["true_down"] * 19 + ["true"] + ["false"] * 30
    traces = load(tmp_path, [trip(i, fate) for i, fate in enumerate(fates)])
    back = traces[TracedPath.BACK]
    assert back.loss_ratio == pytest.approx(19 / 49)
    assert int((back.lost == UNKNOWN).sum()) == 1


def test_an_old_file_with_true_and_false_as_such_is_read(tmp_path: Path) -> None:
    traces = load(tmp_path, [trip(0, False), trip(1, True), trip(2, False)])
    assert traces[TracedPath.ROUND_TRIP].lost.tolist() == [0, 1, 0]


def test_a_reply_that_comes_after_the_next_is_a_reply(tmp_path: Path) -> None:
    traces = load(tmp_path, [trip(0, forward_ms=300.0), trip(1), trip(2)])
    assert traces[TracedPath.ROUND_TRIP].delay_s == pytest.approx([0.320, 0.040, 0.040])
    assert traces[TracedPath.ROUND_TRIP].loss_ratio == 0.0
    back = traces[TracedPath.BACK]
    assert (np.diff(back.t_s) >= 0.0).all()


def test_copies_are_known_only_where_no_duplicate_was_counted(tmp_path: Path) -> None:
    trips = [trip(0), trip(1, "true")]
    assert load(tmp_path, trips, duplicates=0)[TracedPath.ROUND_TRIP].copies.tolist() == [1, 0]
    duplicated = load(tmp_path, trips, duplicates=2)[TracedPath.ROUND_TRIP]
    assert duplicated.copies.tolist() == [UNKNOWN, UNKNOWN]
    assert "2 duplicates" in duplicated.source


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda trips: trips.clear(), "holds no round trip"),
        (lambda trips: trips.reverse(), "round_trips[1]: seqno must be one above"),
        (lambda trips: trips.pop(2), "round_trips[2]: seqno must be one above"),
        (lambda trips: trips[1]["delay"].clear(), "round_trips[1]: is not lost and has no delay.rtt"),
        (lambda trips: trips[1].update(lost="true"), "round_trips[1]: is lost and has a delay.rtt"),
        (lambda trips: trips[1]["delay"].update(rtt=-1), "round_trips[1]: delay.rtt must not be negative"),
        (lambda trips: trips[1]["delay"].update(rtt=2**63), "round_trips[1].delay.rtt"),
        (lambda trips: trips[1]["delay"].update(rtt="1"), "round_trips[1].delay.rtt"),
        (lambda trips: trips[2].update(lost="maybe"), "round_trips[2].lost"),
        (lambda trips: trips[2].pop("seqno"), "round_trips[2]"),
        (
            lambda trips: trips[2]["timestamps"]["client"].pop("send"),
            "round_trips[2]: has no timestamps.client.send",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(tmp_path: Path, change: Any, rule: str) -> None:
    trips = [trip(i) for i in range(4)]
    change(trips)
    with pytest.raises(TraceError) as refused:
        load(tmp_path, trips)
    assert rule in str(refused.value)
    assert str(refused.value).startswith(str(tmp_path / "measured.json"))
    assert refused.value.hint or "timestamps" in rule


def test_a_file_cut_short_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_bytes(SAMPLE.read_bytes()[:6000])
    with pytest.raises(TraceError, match="not whole JSON") as refused:
        import_trace(path)
    assert "cut short" in refused.value.hint
