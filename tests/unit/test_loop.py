from __future__ import annotations

import gc
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.envs.loop import RealTimeLoop
from netlab.envs.realtime import _set_timer_slack, collect_garbage, realtime_process
from netlab.errors import LocalProtocolError

MS = 1_000_000


class FakeClock:
    """Time that passes when somebody waits, or when a test says so."""

    def __init__(self, late_ns=0):
        self.time_ns = 123_456_789
        self.late_ns = late_ns
        self.arrivals_ns: list[int] = []
        self.waits: list[str] = []

    def now_ns(self):
        return self.time_ns

    def sleep_ns(self, duration_ns):
        assert duration_ns > 0
        self.waits.append("sleep")
        self.time_ns += duration_ns + self.late_ns

    def wait_readable(self, fileno, duration_ns):
        assert fileno == 5
        assert duration_ns > 0
        self.waits.append("select")
        until = self.time_ns + duration_ns
        if self.arrivals_ns and self.arrivals_ns[0] <= until:
            self.time_ns = max(self.time_ns, self.arrivals_ns.pop(0))
            return True
        self.time_ns = until + self.late_ns
        return False


class Source:
    def __init__(self, clock):
        self.clock = clock
        self.taken_ns: list[int] = []
        self.fd = 5

    def fileno(self):
        return self.fd

    def on_readable(self):
        self.taken_ns.append(self.clock.time_ns)


def begin(rate_hz=50.0, late_ns=0):
    clock = FakeClock(late_ns)
    loop = RealTimeLoop(rate_hz, clock)
    assert loop.start() == 0
    return loop, clock, clock.time_ns


def test_ticks_stand_on_a_grid_that_does_not_drift_however_late_each_wake_is():
    loop, clock, origin = begin(rate_hz=60.0, late_ns=300_000)
    for tick in range(1, 6001):
        assert loop.next_tick() == tick
        clock.time_ns += 2 * MS  # the tick's work
    assert clock.time_ns == origin + 100_000 * MS + 300_000 + 2 * MS
    assert loop.skipped == loop.late == 0
    assert loop.lateness_us.quantile(0.5) in range(300, 305)
    assert loop.lateness_us.count == 6000


def test_a_tick_that_takes_too_long_makes_the_next_one_late_and_skips_those_that_are_over():
    loop, clock, origin = begin()
    loop.next_tick()
    clock.time_ns = origin + 85 * MS  # the work of tick 1 goes on until within tick 4
    assert loop.next_tick() == 4
    assert clock.time_ns == origin + 85 * MS, "a late tick begins at once"
    assert (loop.skipped, loop.late, loop.lateness_us.maximum) == (2, 1, 5000)
    assert loop.next_tick() == 5
    assert clock.time_ns == origin + 100 * MS, "the grid is the old one"
    assert loop.skipped == 2


def test_work_that_ends_just_before_the_next_deadline_skips_nothing():
    loop, clock, origin = begin()
    loop.next_tick()
    clock.time_ns = origin + 40 * MS - 1
    assert loop.next_tick() == 2
    clock.time_ns = origin + 60 * MS
    assert loop.next_tick() == 3
    assert (loop.skipped, loop.late) == (0, 0)


def test_more_than_two_ms_is_a_deadline_miss():
    for late_ns, late in ((2 * MS, 0), (2 * MS + 1, 1)):
        loop, _, _ = begin(late_ns=late_ns)
        loop.next_tick()
        assert loop.late == late


@given(st.lists(st.integers(0, 90), min_size=1, max_size=60))
def test_every_tick_is_either_begun_or_skipped(work_ms):
    loop, clock, origin = begin()
    begun = [0]
    for work in work_ms:
        clock.time_ns += work * MS
        tick = loop.next_tick()
        begun.append(tick)
        assert origin + tick * 20 * MS <= clock.time_ns < origin + (tick + 1) * 20 * MS
    assert begun == sorted(set(begun))
    assert len(begun) + loop.skipped == begun[-1] + 1


def test_arrivals_are_taken_the_moment_they_arrive():
    loop, clock, origin = begin()
    source = Source(clock)
    clock.arrivals_ns = [origin + 3 * MS, origin + 3 * MS + 7, origin + 19 * MS, origin + 25 * MS]
    assert loop.next_tick(source) == 1
    assert source.taken_ns == [origin + 3 * MS, origin + 3 * MS + 7, origin + 19 * MS]
    assert clock.time_ns == origin + 20 * MS
    loop.next_tick(source)
    assert source.taken_ns[3:] == [origin + 25 * MS]


def test_a_source_that_loses_its_socket_is_not_watched_any_more():
    loop, clock, origin = begin()
    source = Source(clock)

    def lose():
        source.fd = -1

    source.on_readable = lose
    clock.arrivals_ns = [origin + 3 * MS]
    loop.next_tick(source)
    assert clock.waits == ["select", "sleep"]
    assert clock.time_ns == origin + 20 * MS


def test_a_loop_that_was_not_started_says_so():
    with pytest.raises(LocalProtocolError, match="started"):
        RealTimeLoop(50.0, FakeClock()).next_tick()


def test_a_real_time_process_collects_no_garbage_and_puts_back_what_it_found():
    gc.enable()
    before_ns = _set_timer_slack(123_000)
    try:
        with realtime_process():
            assert not gc.isenabled()
            assert _set_timer_slack(1) == 1
            assert gc.get_freeze_count() > 0
            cycle: list[object] = []
            cycle.append(cycle)
            collect_garbage()
        assert gc.isenabled()
        assert gc.get_freeze_count() == 0
        assert _set_timer_slack(before_ns) == 123_000
    finally:
        _set_timer_slack(before_ns)


def test_it_puts_back_after_an_error_too():
    with pytest.raises(ZeroDivisionError), realtime_process():
        raise ZeroDivisionError
    assert gc.isenabled()


def test_a_session_that_is_not_ours_is_not_favoured(monkeypatch):
    """It would stay so if we were killed, and it is a person's shell."""
    written = []
    monkeypatch.setattr("netlab.envs.realtime.Path.write_text", lambda self, text: written.append(text))
    monkeypatch.setattr("netlab.envs.realtime.os.getsid", lambda pid: os.getpid() + 1)
    with realtime_process():
        pass
    assert written == []
    monkeypatch.setattr("netlab.envs.realtime.os.getsid", lambda pid: os.getpid())
    with realtime_process():
        assert written == ["-10"]
