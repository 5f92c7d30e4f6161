"""measure: flows and a schedule in step, whatever starting it takes; no process, no socket, no waiting."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from netlab.probe.probe_plan import ProbePlan
from netlab.verification import measurement
from netlab.verification.flow_order import FlowOrder
from netlab.verification.measurement import FlowsPlan, MeasuredFlow, measure
from netlab.verification.tail import Tail

PLAN = ProbePlan(count=100, rate_hz=100.0)
LINK = FlowsPlan(hosts=("a", "b"), addresses=("10.0.0.1", "10.0.0.2"), plan=PLAN, tail=Tail(0.0, 0.5))
SECOND = 1_000_000_000


class Clock:
    """Stands in for ``time``: it moves when somebody sleeps, and the real-time clock is far from the monotonic."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def time_ns(self) -> int:
        return round((self.now_s + 1e6) * SECOND)

    def sleep(self, duration_s: float) -> None:
        self.now_s += duration_s


class Process:
    """One end of a flow, which does its work the first time it is looked at after the flows have begun."""

    def __init__(self, order: FlowOrder, what: str) -> None:
        self.order, self.what = order, what
        order.file("sending" if what == "send" else "receiving").touch()

    def poll(self) -> int | None:
        if not self.order.begin.exists():
            return None
        begin_ns = int(self.order.begin.read_text()) + self.order.shift_ns
        sent_ns = begin_ns + self.order.plan.offsets_ns()
        if self.what == "send":
            sent_ns.tofile(self.order.file("sent"))
        else:
            np.stack([np.arange(sent_ns.size), sent_ns + 10_000_000], axis=1).tofile(self.order.file("arrived"))
        return 0

    def check(self) -> None:
        """Nothing fails."""


class Ends:
    def start(self, host: str, argv: Sequence[str]) -> Process:
        assert list(argv[:3]) == [sys.executable, "-P", "-m"]
        return Process(msgspec.json.decode(argv[5], type=FlowOrder), argv[4])

    def check(self) -> None:
        """Packets can pass."""


def measured(
    monkeypatch: pytest.MonkeyPatch, folder: Path, on_begin: Callable[[Clock], float | None]
) -> tuple[Clock, Any, dict[str, MeasuredFlow]]:
    clock = Clock()
    monkeypatch.setattr(measurement, "time", clock)
    found = measure(LINK, Ends(), folder, source="test", on_begin=lambda: on_begin(clock))
    return clock, int((folder / "begin").read_text()) / SECOND - 1e6, found


@pytest.mark.parametrize("takes_s", [0.0, 0.02, 0.4, 5.0])
def test_a_schedule_begins_when_it_did_and_no_packet_is_overdue(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, takes_s: float
) -> None:
    """Play begins 3 ms before starting it is done; the flows begin 100 ms after that."""
    done: list[float] = []

    def begin(clock: Clock) -> float:
        clock.sleep(takes_s)
        started_s = clock.now_s - 0.003
        done.append(clock.now_s)
        return started_s

    _, begins_s, found = measured(monkeypatch, tmp_path, begin)
    assert begins_s == pytest.approx(done[0] + 0.1, abs=1e-6)
    for direction, part in (("forward", 0.25), ("back", 0.75)):
        assert found[direction].begin_s == pytest.approx(-(0.103 + part / PLAN.rate_hz), abs=1e-6)
        assert found[direction].trace.delay_s == pytest.approx(0.01)


def test_without_a_schedule_everything_begins_when_that_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, _, found = measured(monkeypatch, tmp_path, lambda clock: None)
    assert found["forward"].begin_s == pytest.approx(-0.1025, abs=1e-6)
