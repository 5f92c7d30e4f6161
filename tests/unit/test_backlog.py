"""Backlogs: as many as a count by hand says, and looked at no more often than a limit asks for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from netlab.traces.model.backlog import Backlog, Backlogs

NEVER_NS = -(2**63)
PLENTY = 2**31


class Calls:
    """How often methods of Backlogs were called."""

    def __init__(self) -> None:
        self.of: dict[str, int] = {}

    def counted(self, name: str) -> Callable[..., object]:
        method = getattr(Backlogs, name)

        def call(*words: object) -> object:
            self.of[name] = self.of.get(name, 0) + 1
            return method(*words)

        return call


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    calls = Calls()
    for name in ("count", "_pack"):
        monkeypatch.setattr(Backlogs, name, calls.counted(name))
    return calls


def put(backlogs: Backlogs, now_ns: int, limit_packets: NDArray[np.int64], leave_ns: list[int]) -> list[bool]:
    """Put a packet into each link that has room; return which had."""
    room = backlogs.has_room(np.int64(now_ns), limit_packets, int(limit_packets.min()))
    had = [True] * len(leave_ns) if room is None else room.tolist()
    backlogs.add(np.array([leave if has else NEVER_NS for leave, has in zip(leave_ns, had, strict=True)]))
    return had


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40)), min_size=1, max_size=400),
)
def test_many_together_hold_what_each_holds_alone(limits: list[int], packets: list[tuple[int, int]]) -> None:
    together, alone = Backlogs(len(limits)), [Backlog() for _ in limits]
    now_ns = 0
    for wait_ns, stays_ns in packets:
        now_ns += wait_ns
        leave_ns = [now_ns + stays_ns * (link + 1) for link in range(len(limits))]
        had = [one.has_room(now_ns, limit) for one, limit in zip(alone, limits, strict=True)]
        assert put(together, now_ns, np.array(limits), leave_ns) == had
        for one, leave, has in zip(alone, leave_ns, had, strict=True):
            if has:
                one.add(leave)
    assert together.count(np.int64(now_ns)).tolist() == [one.count(now_ns) for one in alone]


def test_a_link_that_keeps_all_is_looked_at_each_time_its_packets_have_doubled(calls: Calls) -> None:
    backlogs, limits = Backlogs(2), np.array([PLENTY, PLENTY])
    for now_ns in range(5000):
        assert put(backlogs, now_ns, limits, [10**9, now_ns]) == [True, True]
    assert calls.of == {"count": 5}  # at 256, 512, 1024, 2048 and 4096
    assert backlogs.count(np.int64(5000)).tolist() == [5000, 0]


def test_rows_are_packed_once_as_many_have_come_as_there_were(calls: Calls) -> None:
    backlogs, limits = Backlogs(2), np.array([PLENTY, 40])
    full = 0
    for now_ns in range(20_000):
        full += not put(backlogs, now_ns, limits, [now_ns + 1000, now_ns + 100])[1]
    assert full > 10_000  # the second link is full for most of the time, and then has to be looked at
    assert calls.of["_pack"] <= 20
    assert len(backlogs._leave_ns) <= 4096


def test_a_batch_finds_room_by_what_is_in_now() -> None:
    backlogs = Backlogs(1)
    for _ in range(9):
        backlogs.add(np.array([100]))
    assert backlogs.has_room_for(np.int64(0), 1, 10)
    assert not backlogs.has_room_for(np.int64(0), 2, 10)
    assert backlogs.has_room_for(np.int64(100), 10, 10)
