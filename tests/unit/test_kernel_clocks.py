"""Kernel tests by two clocks: who has a twin, and how they are counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_clocks import REAL, VIRTUAL, VirtualTwin, by_both_clocks, passed_by_clock, read_minimum, wrong_clock


class Plain(pytest.Item):
    def runtest(self) -> None:
        raise AssertionError("nobody runs this one")


def items(parent: pytest.Item, *marks: pytest.MarkDecorator | None) -> list[pytest.Item]:
    made: list[pytest.Item] = []
    for number, mark in enumerate(marks):
        item = Plain.from_parent(parent.parent, name=f"test_{number}")
        item.add_marker("kernel")
        if mark is not None:
            item.add_marker(mark)
        made.append(item)
    return made


def test_twins_come_last_and_markers_take_one_of_the_two(request: pytest.FixtureRequest) -> None:
    tests = items(request.node, None, pytest.mark.real_time("why"), pytest.mark.virtual_time("why"))
    both = by_both_clocks(tests)
    assert [item.name for item in both] == ["test_0", "test_1", "test_0@virtual", "test_2@virtual"]
    assert [isinstance(item, VirtualTwin) for item in both] == [False, False, True, True]


def test_the_wrong_clock_is_said(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = items(request.node, None, pytest.mark.real_time("it is slow"), pytest.mark.virtual_time("it is exact"))
    monkeypatch.delenv("NETLAB_CLOCK", raising=False)
    assert [wrong_clock(item) for item in tests] == [None, None, "not in real time: it is exact"]
    monkeypatch.setenv("NETLAB_CLOCK", "virtual")
    assert [wrong_clock(item) for item in tests] == [None, "not in virtual time: it is slow", None]


def test_tests_are_counted_by_clock() -> None:
    assert passed_by_clock(["a::x", "a::x@virtual", "a::y[1]", "a::y[1]@virtual", "a::z"]) == {REAL: 3, VIRTUAL: 2}


def test_the_committed_minimum_can_be_read(pytestconfig: pytest.Config) -> None:
    minimum = read_minimum(Path(pytestconfig.rootpath) / "tests" / "kernel" / "minimum.txt")
    assert set(minimum) == {REAL, VIRTUAL}
    assert min(minimum.values()) > 100
