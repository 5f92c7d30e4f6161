"""The Player without a thread, a kernel or a wait: its clock jumps, its qdiscs take notes."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Sequence

import pytest
from one_by_one import change_one_by_one

from netlab.errors import KernelError, LabError, SpecError
from netlab.namespaces.impairer import Change, Refusals
from netlab.namespaces.player import Played, Player
from netlab.namespaces.staged_changes import CarriedOut, PreparedChanges
from netlab.namespaces.timeline import Timeline, Track, schedule_track
from netlab.namespaces.verifier import Verifier
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.schedule import Schedule, Step


class JumpingClock:
    """Waiting takes no time: the clock jumps to the deadline, plus what it oversleeps then."""

    def __init__(self, oversleep_s: list[float] | None = None, until_s: float = math.inf) -> None:
        self.time_s = 1000.0
        self.until_s = 1000.0 + until_s
        self.waits: list[float] = []
        self._oversleep_s = iter(oversleep_s or [])

    def now_s(self) -> float:
        return self.time_s

    def wait_until(self, deadline_s: float, interrupt: threading.Event) -> None:
        self.waits.append(deadline_s)
        if deadline_s > self.until_s:
            interrupt.set()
            return
        self.time_s = max(self.time_s, deadline_s) + next(self._oversleep_s, 0.0)


class NotedQdisc:
    def __init__(self, clock: JumpingClock, cost_s: float = 0.0, refuse: frozenset[int] = frozenset()) -> None:
        self.clock = clock
        self.cost_s = cost_s
        self.refuse = refuse
        self.applied: list[tuple[float, QdiscState]] = []
        self.verified_after: list[int] = []
        self.differs = False
        self.calls = 0

    def apply_fast(self, state: QdiscState) -> None:
        self.calls += 1
        if self.calls - 1 in self.refuse:
            raise KernelError("change the qdisc", 105)
        self.clock.time_s += self.cost_s
        self.applied.append((self.clock.time_s - 1000.0, state))

    @property
    def asked(self) -> QdiscState | None:
        return self.applied[-1][1] if self.applied else None

    def apply(self, state: QdiscState) -> None:
        raise AssertionError("a player only ever changes fast")

    def read(self) -> QdiscState:
        raise AssertionError("a player verifies, it does not look")

    def verify(self) -> bool:
        if self.differs:
            raise KernelError("put the qdisc in the state asked for", 0, "loss = 1 and not 2")
        self.verified_after.append(len(self.applied))
        return True


def _states(count: int) -> tuple[QdiscState, ...]:
    return tuple(QdiscState(latency_ns=1000 + number) for number in range(count))


def _track(count: int, step_s: float = 0.1, *, name: str = "t", loop: bool = False, seeded: bool = False) -> Track:
    return Track(
        name=name,
        starts_s=tuple(number * step_s for number in range(count)),
        states=_states(count),
        duration_s=count * step_s,
        loop=loop,
        seed_of=(lambda step: 500 + step) if seeded else None,
    )


def test_each_step_at_its_time() -> None:
    clock = JumpingClock()
    qdisc = NotedQdisc(clock)
    player = Player([Played(_track(5), qdisc)], change_one_by_one, clock)
    player.play()
    assert [state for _, state in qdisc.applied] == list(_states(5))
    assert [time_s for time_s, _ in qdisc.applied] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    assert [(step.step, step.outcome) for step in player.log] == [(number, "applied") for number in range(5)]
    assert [step.asked_s for step in player.log] == [number * 0.1 for number in range(5)]
    # Absolute deadlines from one start, and the last state keeps its time.
    assert clock.waits == [1000.0 + number * 0.1 for number in range(5)] + [1000.5]


def test_lateness_does_not_add_up() -> None:
    clock = JumpingClock(oversleep_s=[0.03] * 5)
    qdisc = NotedQdisc(clock)
    player = Player([Played(_track(5), qdisc)], change_one_by_one, clock)
    player.play()
    assert [time_s for time_s, _ in qdisc.applied] == pytest.approx([0.03, 0.13, 0.23, 0.33, 0.43])
    assert player.counts.late_max_s == pytest.approx(0.03)
    assert player.counts.late_mean_s == pytest.approx(0.03)


def test_a_late_step_is_applied_late_and_an_overtaken_one_is_logged() -> None:
    clock = JumpingClock(oversleep_s=[0.0, 0.25])
    qdisc = NotedQdisc(clock)
    player = Player([Played(_track(5), qdisc)], change_one_by_one, clock)
    player.play()
    assert [state for _, state in qdisc.applied] == [_states(5)[number] for number in (0, 3, 4)]
    outcomes = {step.step: (step.outcome, step.applied_s) for step in player.log}
    assert outcomes[1] == ("superseded", None)
    assert outcomes[2] == ("superseded", None)
    assert outcomes[3][0] == "applied"
    counts = player.counts
    assert (counts.applied, counts.superseded, counts.failed) == (3, 2, 0)


def test_every_step_is_accounted_for_whatever_the_clock_does() -> None:
    for oversleep_s in itertools.product((0.0, 0.05, 0.1, 0.35), repeat=4):
        clock = JumpingClock(oversleep_s=list(oversleep_s))
        player = Player([Played(_track(8), NotedQdisc(clock, cost_s=0.02))], change_one_by_one, clock)
        player.play()
        assert sorted(step.step for step in player.log) == list(range(8))
        assert player.counts.applied + player.counts.superseded == 8
        assert player.log[-1].step == 7 or player.counts.superseded


def test_both_directions_on_the_same_deadline() -> None:
    clock = JumpingClock()
    forward, back = NotedQdisc(clock), NotedQdisc(clock)
    player = Player(
        [Played(_track(3, name="forward"), forward), Played(_track(3, name="back"), back)],
        change_one_by_one,
        clock,
    )
    player.play()
    assert [time_s for time_s, _ in forward.applied] == [time_s for time_s, _ in back.applied]
    assert clock.waits[:3] == pytest.approx([1000.0, 1000.1, 1000.2])
    assert [step.track for step in player.log] == ["forward", "back"] * 3


def test_tracks_supersede_their_own_steps_alone() -> None:
    # Slow has a step at 0.2; when all wakes late at 0.35, fast's steps overtake fast's, never slow's.
    clock = JumpingClock(oversleep_s=[0.0, 0.25])
    fast, slow = NotedQdisc(clock), NotedQdisc(clock)
    player = Player(
        [Played(_track(5, name="fast"), fast), Played(_track(2, 0.2, name="slow"), slow)], change_one_by_one, clock
    )
    player.play()
    assert [state for _, state in slow.applied] == list(_states(2))
    assert {step.track for step in player.log if step.outcome == "superseded"} == {"fast"}


def test_a_loop_counts_on_and_seeds_anew() -> None:
    clock = JumpingClock(until_s=0.95)
    qdisc = NotedQdisc(clock)
    player = Player([Played(_track(3, loop=True, seeded=True), qdisc)], change_one_by_one, clock)
    player.play()
    assert player.duration_s == math.inf
    assert [state.seed for _, state in qdisc.applied] == list(range(500, 510))
    assert [state.latency_ns for _, state in qdisc.applied] == [1000 + number % 3 for number in range(10)]
    assert [step.asked_s for step in player.log] == pytest.approx([number * 0.1 for number in range(10)])


def _crowd(tracks: int, step_s: float, count: int) -> list[Track]:
    """Return tracks whose steps follow one another all the time, a hundredth of a step apart."""
    return [
        Track(
            name=f"t{number}",
            starts_s=(0.0, *((step + 1) * step_s + number * step_s / 100 for step in range(count - 1))),
            states=_states(count),
            duration_s=(count + 1) * step_s,
        )
        for number in range(tracks)
    ]


def _play_crowd(oversleep_s: float, cost_s: float) -> tuple[Player, JumpingClock, list[int]]:
    clock = JumpingClock(oversleep_s=[oversleep_s] * 10_000)
    sends: list[int] = []

    def change_together(changes: Sequence[Change]) -> Refusals:
        sends.append(len(changes))
        clock.time_s += cost_s
        return change_one_by_one(changes)

    played = [Played(track, NotedQdisc(clock)) for track in _crowd(100, 0.1, 10)]
    player = Player(played, change_together, clock)
    player.play()
    return player, clock, sends


def test_where_deadlines_come_faster_than_messages_several_wait_for_one() -> None:
    # 100 tracks, 10 steps a second each: a deadline each millisecond; a message takes 0.4 ms, waking 9 ms.
    player, _, sends = _play_crowd(oversleep_s=9e-3, cost_s=0.4e-3)
    assert player.counts.applied == 1000 and player.counts.superseded == 0
    assert len(sends) < 150, "instead of 900"
    for step in player.log:
        assert step.applied_s is not None and step.applied_s >= step.asked_s, "none is early"
        assert step.applied_s - step.asked_s < 25e-3


def test_where_nothing_is_late_each_step_is_in_force_when_it_is_due() -> None:
    # As in virtual time: computing takes no time and no wait is too long.
    player, _, sends = _play_crowd(oversleep_s=0.0, cost_s=0.0)
    assert len(sends) == 901
    assert all(step.applied_s == pytest.approx(step.asked_s, abs=1e-9) for step in player.log)


def test_what_waits_for_one_message_is_never_a_track_twice() -> None:
    timeline = Timeline([_track(100, 0.001, name="fast"), _track(10, 0.1, name="slow")])
    first = timeline.take()
    assert [cue.asked_s for cue in first.cues] == [0.0, 0.0] and first.moments == 1
    taken = timeline.take(until_s=0.5)
    assert [(cue.track.name, cue.count) for cue in taken.cues] == [("fast", 1)]
    apart = Timeline(_crowd(5, 0.1, 10))
    apart.take()
    taken = apart.take(until_s=0.1025)
    assert [cue.asked_s for cue in taken.cues] == pytest.approx([0.1, 0.101, 0.102])
    assert (taken.moments, taken.last_s) == (3, pytest.approx(0.102))
    later = apart.due(0.1035, taken)
    assert len(later.cues) == 4 and later.moments == 4 and not later.superseded
    assert Timeline([]).take().cues == ()


class PreparingWire:
    """Makes changes ready, and notes what was made ready and what was carried out."""

    def __init__(self, clock: JumpingClock) -> None:
        self.clock = clock
        self.ready_s: list[float] = []
        self.carried_s: list[float] = []

    def prepare_together(self, changes: Sequence[Change]) -> PreparedChanges | None:
        self.ready_s.append(self.clock.time_s - 1000.0)
        wire = self

        class Ready:
            def carry_out(self, now_s: Callable[[], float]) -> CarriedOut:
                refusals = change_one_by_one(changes)
                wire.carried_s.append(now_s())
                return CarriedOut(refusals, wire.carried_s[-1])

        return Ready() if changes else None


def test_messages_are_ready_before_the_deadline_and_sent_on_it() -> None:
    clock = JumpingClock(oversleep_s=[0.0, 0.0, 0.15, 0.0])
    qdisc, wire = NotedQdisc(clock), PreparingWire(clock)
    player = Player([Played(_track(5), qdisc)], change_one_by_one, clock, wire=wire)
    player.play()
    assert wire.ready_s[:3] == pytest.approx([0.0, 0.0, 0.1])
    # The third wakes after the fourth is due: what was ready is not sent, the newest is.
    assert wire.carried_s == pytest.approx([0.0, 0.1, 0.4])
    assert [(step.step, step.outcome) for step in player.log] == [
        (0, "applied"),
        (1, "applied"),
        (3, "applied"),
        (2, "superseded"),
        (4, "applied"),
    ]
    assert [state for _, state in qdisc.applied] == [_states(5)[number] for number in (0, 1, 3, 4)]


def test_a_refusal_of_what_was_ready_is_logged() -> None:
    clock = JumpingClock()
    qdisc = NotedQdisc(clock, refuse=frozenset({1}))
    player = Player([Played(_track(3), qdisc)], change_one_by_one, clock, wire=PreparingWire(clock))
    player.play()
    assert [step.outcome for step in player.log] == ["applied", "failed", "applied"]


def test_when_play_began_is_told() -> None:
    clock = JumpingClock()
    player = Player([Played(_track(3), NotedQdisc(clock))], change_one_by_one, clock)
    assert player.start_s is None
    clock.time_s = 1234.5
    player.play()
    assert player.start_s == 1234.5


def test_where_there_is_never_time_one_is_read_back_all_the_same() -> None:
    clock = JumpingClock()
    qdisc, verifier = NotedQdisc(clock), Verifier()
    verifier.note("t", qdisc)
    reads, now_s = [], 10.0
    while now_s < 13.0:
        before = len(qdisc.verified_after)
        now_s += max(verifier.turn(now_s, now_s + 0.001), 1e-4)
        if len(qdisc.verified_after) > before:
            reads.append(now_s)
            verifier.note("t", qdisc)
    assert 2 <= len(reads) <= 6, "about each half second, not never and not each time"


def test_a_pass_is_a_product_not_a_sum() -> None:
    track = _track(3, 0.1, loop=True)
    cue = track.cue(3_000_000)
    assert cue is not None
    assert cue.asked_s == 1_000_000 * track.duration_s


def test_a_refusal_is_logged_and_play_goes_on() -> None:
    clock = JumpingClock()
    qdisc = NotedQdisc(clock, refuse=frozenset({1}))
    player = Player([Played(_track(4), qdisc)], change_one_by_one, clock)
    player.play()
    assert [step.outcome for step in player.log] == ["applied", "failed", "applied", "applied"]
    assert player.log[1].error.startswith("cannot change the qdisc")
    assert player.counts.failed == 1
    with pytest.raises(KernelError, match="cannot change the qdisc"):
        player.check()
    with pytest.raises(KernelError, match="cannot change the qdisc"):
        player.stop()


def test_what_is_due_on_one_deadline_is_changed_together() -> None:
    clock = JumpingClock()
    forward, back = NotedQdisc(clock), NotedQdisc(clock, refuse=frozenset({1}))
    sends: list[int] = []

    def change_together(changes: Sequence[Change]) -> Refusals:
        sends.append(len(changes))
        return change_one_by_one(changes)

    tracks = [Played(_track(3, name="forward"), forward), Played(_track(3, name="back"), back)]
    player = Player(tracks, change_together, clock=clock)
    player.play()
    assert sends == [2, 2, 2]
    assert [(step.track, step.outcome) for step in player.log if step.step == 1] == [
        ("forward", "applied"),
        ("back", "failed"),
    ]
    by_step = {step.step: step.applied_s for step in player.log if step.outcome == "applied"}
    assert all(step.applied_s == by_step[step.step] for step in player.log if step.applied_s is not None), (
        "one moment for all that belong together"
    )


def test_a_difference_found_by_read_back_is_told() -> None:
    clock = JumpingClock()
    qdisc = NotedQdisc(clock)
    qdisc.differs = True
    player = Player([Played(_track(2), qdisc)], change_one_by_one, clock)
    player.play()
    with pytest.raises(KernelError, match="loss = 1 and not 2"):
        player.stop()


def test_what_went_wrong_first_is_told_whatever_the_read_back_meets() -> None:
    clock = JumpingClock()
    qdisc = NotedQdisc(clock, refuse=frozenset({1}))
    player = Player([Played(_track(3), qdisc)], change_one_by_one, clock)
    player.play()

    def die() -> bool:
        raise RuntimeError("the read-back met a bug")

    qdisc.verify = die  # type: ignore[method-assign]
    with pytest.raises(KernelError, match="cannot change the qdisc"):
        player.stop()


def test_the_read_back_ends_when_play_is_over_and_all_is_read() -> None:
    clock = JumpingClock()
    qdisc = NotedQdisc(clock)
    player = Player([Played(_track(3), qdisc)], change_one_by_one, clock)
    player.start()
    assert player.wait(10.0)
    assert player._reading is not None
    player._reading.join(10.0)
    assert not player._reading.is_alive()
    assert qdisc.verified_after[-1] == 3, "the last step is read back before it ends"
    player.stop()


def test_a_read_back_that_meets_a_bug_is_told() -> None:
    clock = JumpingClock()
    qdisc = NotedQdisc(clock)

    def die() -> bool:
        raise RuntimeError("a bug")

    qdisc.verify = die  # type: ignore[method-assign]
    player = Player([Played(_track(3), qdisc)], change_one_by_one, clock)
    player.start()
    assert player.wait(10.0)
    with pytest.raises(RuntimeError, match="a bug"):
        player.stop()


def test_stop_reads_back_what_was_applied_last() -> None:
    clock = JumpingClock(until_s=0.15)
    qdisc = NotedQdisc(clock)
    player = Player([Played(_track(5), qdisc)], change_one_by_one, clock)
    player.play()
    player.stop()
    assert qdisc.verified_after[-1] == len(qdisc.applied) == 2
    assert player.counts.verified >= 1


def test_the_log_is_bounded_and_the_counts_go_on() -> None:
    clock = JumpingClock()
    player = Player([Played(_track(100), NotedQdisc(clock))], change_one_by_one, clock, log_steps=10)
    player.play()
    assert [step.step for step in player.log] == list(range(90, 100))
    assert player.counts.applied == 100


def test_states_are_made_before_their_deadline() -> None:
    made: list[tuple[int, float]] = []
    clock = JumpingClock()

    def seed_of(step: int) -> int:
        made.append((step, clock.time_s - 1000.0))
        return step

    track = Track(name="t", starts_s=(0.0, 0.1, 0.2), states=_states(3), duration_s=0.3, seed_of=seed_of)
    Player([Played(track, NotedQdisc(clock))], change_one_by_one, clock).play()
    assert made == [(0, 0.0), (1, 0.0), (2, pytest.approx(0.1))]


def test_a_superseded_state_is_never_made() -> None:
    made: list[int] = []

    def seed_of(step: int) -> int:
        made.append(step)
        return step

    track = Track(name="t", starts_s=(0.0, 0.1), states=_states(2), duration_s=0.2, loop=True, seed_of=seed_of)
    due = Timeline([track]).due(1000.0)
    assert (len(due.superseded), due.cues[0].count) == (10_000, 10_000)
    assert due.cues[0].state.seed == 10_000
    assert made == [10_000]


def test_nothing_to_play() -> None:
    clock = JumpingClock()
    player = Player([], change_one_by_one, clock)
    player.play()
    assert (player.log, player.duration_s) == ([], 0.0)


def test_misuse_of_a_player() -> None:
    clock = JumpingClock()
    with pytest.raises(LabError, match="two tracks of one name"):
        Player(
            [Played(_track(1), NotedQdisc(clock)), Played(_track(1), NotedQdisc(clock))], change_one_by_one, clock
        )


@pytest.mark.parametrize(
    ("starts_s", "states", "duration_s", "words"),
    [
        ((), 0, 1.0, "0 starts for 0 states"),
        ((0.0,), 2, 1.0, "1 starts for 2 states"),
        ((0.1,), 1, 1.0, "begins at 0.1 s: must begin at 0"),
        ((0.0, 0.2, 0.2), 3, 1.0, "0.2 s follows 0.2 s: times must increase"),
        ((0.0, 0.2), 2, 0.2, "0.2 s follows 0.2 s"),
        ((0.0,), 1, math.inf, "inf s follows 0 s"),
        ((0.0, math.nan), 2, 1.0, "nan s follows 0 s"),
    ],
)
def test_tracks_that_cannot_be_played(
    starts_s: tuple[float, ...], states: int, duration_s: float, words: str
) -> None:
    with pytest.raises(SpecError, match=words) as caught:
        Track(name="bad", starts_s=starts_s, states=_states(states), duration_s=duration_s)
    assert caught.value.key == "bad"


def test_a_schedule_becomes_a_track() -> None:
    steps = (Step(0.0, LinkProfile(delay_s=0.01)), Step(0.5, LinkProfile(delay_s=0.02, loss=0.1)))
    track = schedule_track("x forward", Schedule(steps, 2.0, loop=True), lambda step: step * 7)
    assert (track.starts_s, track.duration_s, track.loop) == ((0.0, 0.5), 2.0, True)
    assert [track.state(count).latency_ns for count in range(3)] == [10_000_000, 20_000_000, 10_000_000]
    assert [track.state(count).seed for count in range(3)] == [0, 7, 14]
