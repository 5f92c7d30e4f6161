"""The Verifier: what it reads back when, with time as a number."""

from __future__ import annotations

import pytest

from netlab.errors import KernelError, LabError, NetlabError
from netlab.namespaces.verifier import EVERY_S, IDLE_S, PACE_S, SLACK_S, Verifier
from netlab.traces.qdisc_state import QdiscState


class NotedImpairer:
    def __init__(self, outcomes: list[bool | NetlabError] | None = None) -> None:
        self.reads = 0
        self._outcomes = iter(outcomes or [])

    @property
    def asked(self) -> QdiscState | None:
        return None

    def apply(self, state: QdiscState) -> None:
        raise AssertionError

    def apply_fast(self, state: QdiscState) -> None:
        raise AssertionError

    def read(self) -> QdiscState:
        raise AssertionError

    def verify(self) -> bool:
        self.reads += 1
        outcome = next(self._outcomes, True)
        if isinstance(outcome, NetlabError):
            raise outcome
        return outcome


def test_nothing_changed_nothing_read() -> None:
    verifier = Verifier()
    assert verifier.turn(0.0, None) == IDLE_S
    assert (verifier.verified, verifier.problem) == (0, None)


def test_a_read_back_never_begins_where_it_could_delay_the_next_change() -> None:
    verifier, impairer = Verifier(), NotedImpairer()
    verifier.note("forward", impairer)
    wait_s = verifier.turn(10.0, 10.0 + SLACK_S / 2)
    assert impairer.reads == 0
    assert 10.0 + wait_s > 10.0 + SLACK_S / 2, "looks again after the change, not before it"
    assert verifier.turn(10.0 + wait_s, 10.1) == 0.0
    assert (impairer.reads, verifier.verified) == (1, 1)


def test_each_direction_about_once_a_second_and_one_a_turn() -> None:
    verifier = Verifier()
    impairers = {name: NotedImpairer() for name in ("forward", "back")}
    now_s = 0.0
    while now_s < 5.0:
        for name, impairer in impairers.items():
            verifier.note(name, impairer)
        before = sum(impairer.reads for impairer in impairers.values())
        now_s += max(verifier.turn(now_s, now_s + 0.1), 0.01)
        assert sum(impairer.reads for impairer in impairers.values()) - before <= 1
    for impairer in impairers.values():
        assert 5.0 / (EVERY_S + IDLE_S) - 1 <= impairer.reads <= 5.0 / EVERY_S + 1


def test_what_changed_meanwhile_is_read_again_and_counts_once() -> None:
    verifier, impairer = Verifier(), NotedImpairer([False, True])
    verifier.note("forward", impairer)
    verifier.turn(0.0, None)
    assert verifier.verified == 0
    verifier.turn(EVERY_S, None)
    assert (impairer.reads, verifier.verified) == (2, 1)
    verifier.finish()
    assert impairer.reads == 2, "nothing has changed since"


def test_finish_reads_all_that_is_left_and_keeps_the_first_difference() -> None:
    verifier = Verifier()
    first, second = KernelError("see it", 0, "loss = 1 and not 2"), KernelError("see it", 0, "gap = 3 and not 4")
    verifier.note("a", NotedImpairer([first]))
    verifier.note("b", NotedImpairer([second]))
    good = NotedImpairer()
    verifier.note("c", good)
    verifier.finish()
    assert verifier.problem is first
    assert (good.reads, verifier.verified) == (1, 1)


@pytest.mark.parametrize("error", [LabError("the relay died"), KernelError("read the qdisc", 19)])
def test_what_cannot_be_read_is_a_problem_and_the_first_counts(error: NetlabError) -> None:
    verifier = Verifier()
    verifier.note("forward", NotedImpairer([error]))
    verifier.turn(0.0, None)
    verifier.note("back", NotedImpairer([LabError("later")]))
    verifier.finish()
    assert verifier.problem is error
    assert verifier.is_done()


def test_it_is_done_when_all_is_read_back() -> None:
    verifier = Verifier()
    assert verifier.is_done()
    verifier.note("forward", NotedImpairer([False]))
    verifier.turn(0.0, None)
    assert not verifier.is_done(), "it was being changed: to be read again"
    verifier.turn(EVERY_S, None)
    assert verifier.is_done()


def test_a_thousand_directions_are_read_at_a_pace_while_they_change_and_at_once_when_play_is_over() -> None:
    verifier, impairers = Verifier(), [NotedImpairer() for _ in range(1000)]
    for number, impairer in enumerate(impairers):
        verifier.note(str(number), impairer)
    now_s = 0.0
    while now_s < 5.0:
        now_s += verifier.turn(now_s, now_s + 0.1)
    assert verifier.verified == pytest.approx(5.0 / PACE_S, abs=2)
    assert max(impairer.reads for impairer in impairers) == 1, "each once before any twice"
    assert verifier.turn(now_s, None) == 0.0
