"""The quiet moment between heartbeats, in a time of the test's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from netlab.episode.quiet import wait_for_quiet
from netlab.errors import LabError
from netlab.namespaces.process import HostProcess
from netlab.namespaces.process_output import Inherited


class World:
    """Two sides that send at given times."""

    def __init__(self, *sides: list[float]) -> None:
        self.now_s = 0.0
        self.sides = sides

    def counts(self) -> list[Callable[[], int]]:
        return [lambda side=side: sum(moment <= self.now_s for moment in side) for side in self.sides]

    def sleep(self, duration_s: float) -> None:
        self.now_s += duration_s

    def wait(self) -> bool:
        return wait_for_quiet(self.counts(), lambda: self.now_s, self.sleep)

    def quiet_s(self) -> float:
        """Return how long nobody will send."""
        return min(moment for side in self.sides for moment in side if moment > self.now_s) - self.now_s


@example(0.0, 0.2578125, 0.515625, 0.515625)
@given(
    st.floats(min_value=0, max_value=0.5),
    st.floats(min_value=0, max_value=0.5),
    st.floats(min_value=0.5, max_value=0.53),
    st.floats(min_value=0.5, max_value=0.75),
)
def test_nothing_is_sent_for_a_good_while_after_it(first: float, second: float, one: float, other: float) -> None:
    world = World([first + i * one for i in range(30)], [second + i * other for i in range(30)])
    assert world.wait()
    assert world.now_s < 5
    assert world.quiet_s() >= 0.21


def test_a_side_that_never_speaks_is_not_waited_for_for_ever() -> None:
    world = World([0.5 * i for i in range(30)], [])
    assert not world.wait()
    assert 5.0 <= world.now_s < 5.1


def test_a_service_that_dies_at_the_quiet_moment_is_what_the_error_names() -> None:
    from netlab.episode.lab import _packets_sent

    class NoSender:
        def send_signal(self, number: int, signal_number: int, group: bool = False) -> None: ...

    killed = HostProcess("'env' in host edge", ["env"], Inherited(), 1, NoSender())
    killed.note_started(2**22 + 1)  # above the highest a process can have: its /proc is gone
    killed.note_ended(-9)
    with pytest.raises(LabError, match=r"'env' in host edge .* was killed by SIGKILL"):
        _packets_sent(killed)
