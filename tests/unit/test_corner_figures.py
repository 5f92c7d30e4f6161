"""The figures about virtual time, the relay and large labs: a planted difference is reported, and misses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from netlab.bench import cartpole_lab, lab_scale, relay_error, virtual_time
from netlab.bench.figure import Figure
from netlab.check_run import RunEnd
from netlab.control.counters import AgeSummary, EdgeCounters
from netlab.control.histogram import Histogram
from netlab.envs.result import DurationSummary, RunResult, encode_result
from netlab.traces.model.link_model import LinkModel

NOTHING = DurationSummary.of(Histogram())
RESULT = encode_result(RunResult(
    netlab="0", policy="linear", task="CartPole-v1", rate_hz=50.0, actuator="newest", horizon_ticks=1,
    fallback="neutral", seed=0, complete=True, stopped_by="", episodes=(), counters=EdgeCounters(),
    ages=AgeSummary.of(Histogram()), latency=NOTHING, lateness=NOTHING, deadline_misses=0, skipped_ticks=0,
    disconnected_ticks=0, connections=1, send_dropped=0, last_loss="",
))  # fmt: skip
FRAMES = 300


class PlantedRuns:
    """Stands in for two runs in guests; each writes its files, the second perhaps other ticks.

    Args:
        second_ticks: What the second writes where the first writes ``tick 1``.
        guest_s: How long the guest's clock says it took.
    """

    def __init__(self, second_ticks: bytes = b"tick 1\n", guest_s: float = 72.0) -> None:
        self.whole_s: list[float] = []
        self.ticking_s: list[float] = []
        self._ticks = [second_ticks, b"tick 1\n"]
        self._guest_s = guest_s

    def in_folder(self, folder: Path) -> PlantedRuns:
        self._folder = folder
        return self

    def __call__(self, stdin: int | None, stdout: int) -> RunEnd:
        (self._folder / cartpole_lab.RESULT_NAME).write_bytes(RESULT)
        (self._folder / cartpole_lab.TICKS_NAME).write_bytes(self._ticks.pop())
        os.write(stdout, f"1.0\n{1.0 + self._guest_s}\n".encode())
        self.whole_s.append(2.0)
        self.ticking_s.append(1.0)
        return RunEnd(0)


def measure(monkeypatch: pytest.MonkeyPatch, runs: PlantedRuns) -> Figure:
    monkeypatch.setattr(virtual_time, "_TimedRun", runs.in_folder)
    return virtual_time.virtual_time(lambda text: None)


def test_two_runs_that_are_alike_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = measure(monkeypatch, PlantedRuns())
    assert (figure.holds, figure.value, figure.n) == (True, 72.0, 2)
    assert "both runs identical" in figure.note


def test_two_runs_that_differ_do_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = measure(monkeypatch, PlantedRuns(b"tick 2\n"))
    assert not figure.holds
    assert "the two runs differ first in" in figure.note
    assert "identical" not in figure.note


@pytest.mark.parametrize("guest_s", [49.0, 59.9])
def test_a_guest_that_is_slow_or_ends_early_does_not_hold(monkeypatch: pytest.MonkeyPatch, guest_s: float) -> None:
    assert not measure(monkeypatch, PlantedRuns(guest_s=guest_s)).holds


def seen(late_ns: int = 100_000) -> dict[int, tuple[int, int]]:
    """Return when each packet was sent and delivered by a relay that does what the model does, a little late."""
    model = LinkModel(relay_error.STATE)
    found = {}
    for number in range(FRAMES):
        fate = model.enqueue(number * 1_000_000, relay_error._FRAME_BYTES)
        if fate.copies:
            found[number] = (number, number + fate.copies[0].delay_ns + late_ns)
    return found


def relay_figure(found: dict[int, tuple[int, int]]) -> Figure:
    return relay_error._figure([relay_error._compare(1000, FRAMES, found)], "a note")


def test_a_relay_that_does_what_the_model_does_holds() -> None:
    found = seen()
    assert 0 < len(found) < FRAMES
    figure = relay_figure(found)
    assert (figure.holds, figure.n, figure.note) == (True, FRAMES, "a note")
    assert figure.value == pytest.approx(0.1)


def test_a_relay_that_loses_one_more_or_one_less_does_not_hold() -> None:
    found = seen()
    lost = next(number for number in range(FRAMES) if number not in found)
    fewer = {number: times for number, times in found.items() if number != min(found)}
    for planted in (fewer, {**found, lost: (0, 30_000_000)}):
        figure = relay_figure(planted)
        assert not figure.holds
        assert "fates that differ 1" in figure.spread


def test_a_relay_that_is_late_or_uneven_does_not_hold() -> None:
    assert not relay_figure(seen(600_000)).holds
    uneven = {number: (sent, at + number % 2 * 600_000) for number, (sent, at) in seen(0).items()}
    assert not relay_figure(uneven).holds  # mean 0.3 ms, sd 0.3


def test_the_worst_rate_is_the_figure_and_one_that_misses_is_enough() -> None:
    runs = [
        relay_error._compare(rate_hz, FRAMES, seen(late_ns)) for rate_hz, late_ns in ((50, 900_000), (1000, 0))
    ]
    figure = relay_error._figure(runs, "")
    assert (figure.holds, figure.n) == (False, 2 * FRAMES)
    assert figure.value == pytest.approx(0.9)


def lab_figure(large_up_s: float = 2.0, large_down_s: float = 1.0, small_up_s: float = 0.02) -> Figure:
    def star(up_s: float, down_s: float) -> lab_scale._Star:
        return lab_scale._Star(up_s, up_s, down_s, 50.0, 5.0)

    small = star(small_up_s, small_up_s / 2)
    large = star(large_up_s, large_down_s)
    return lab_scale._figure({lab_scale.LINKS: [large] * 3, 100: [small] * 6, 10: [small] * 30}, None)


def test_links_that_cost_more_the_more_there_are_do_not_hold() -> None:
    figure = lab_figure()
    assert (figure.holds, figure.n, figure.value) == (True, 3, 2.0)
    assert "1.00 times one of a star of 10" in figure.note
    grown = lab_figure(4.2, 2.1)  # both within their seconds
    assert not grown.holds
    assert "2.10 times one of a star of 10" in grown.note
    assert lab_figure(3.8, 1.9).holds


def test_a_lab_that_is_slow_up_or_down_does_not_hold() -> None:
    assert lab_figure(9.9, 4.9, 0.1).holds
    assert not lab_figure(10.1, 1.0, 0.1).holds
    assert not lab_figure(5.0, 5.1, 0.1).holds
