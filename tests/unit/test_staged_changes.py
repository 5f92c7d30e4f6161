"""Changes that fail between any two steps: what is remembered of a netem is never more than what it holds.

The kernel here is a table of bytes. Faults: at staging, before, amid and after the send, and a Ctrl-C at every
single line of the code that changes.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netem_states import netem_states

from netlab.errors import KernelError, LabError
from netlab.namespaces import held_state, netem_batch, netem_qdisc, staged_changes
from netlab.namespaces.impairer import Change, Refusals
from netlab.namespaces.kernel_objects import QdiscEntry
from netlab.namespaces.netem_batch import PreparedNetems, change_netems, prepare_netems
from netlab.namespaces.netem_codec import decode_netem, encode_netem
from netlab.namespaces.netem_compare import compare_netem
from netlab.namespaces.netem_qdisc import NetemQdisc
from netlab.namespaces.netem_tables import linear_table
from netlab.namespaces.relay.changes import change_relayed
from netlab.namespaces.relay.direction import RelayDirection
from netlab.namespaces.relay.requests import LinkPlace, PutStates, Reply, from_plain, to_plain
from netlab.namespaces.staged_changes import change_staged
from netlab.traces.qdisc_state import QdiscState, SlotState

BASE = QdiscState(latency_ns=20_000_000, jitter_ns=5_000_000, rate_bytes_per_s=10**9, seed=1)
TABLE = (1, 2, 3)


class Held:
    """What one qdisc truly holds."""

    def __init__(self) -> None:
        self.state = QdiscState()
        self.delay_table: tuple[int, ...] | None = None
        self.slot_table: tuple[int, ...] | None = None

    def take(self, state: QdiscState) -> None:
        self.delay_table = state.delay_table or self.delay_table
        self.slot_table = state.slot_table or self.slot_table
        self.state = state.replace(delay_table=None, slot_table=None)


class FakeKernel:
    """Qdiscs by their interfaces; ``fault`` is called before and after each that takes a change."""

    def __init__(self) -> None:
        self.qdiscs: dict[int, Held] = {}
        self.fault: Callable[[], None] = lambda: None

    def take(self, index: int, options: bytes) -> None:
        self.fault()
        self.qdiscs[index].take(decode_netem(options))
        self.fault()

    def qdisc_add(self, index: int, handle: int, parent: int, kind: str, options: bytes) -> None:
        self.qdiscs[index] = Held()
        self.take(index, options)

    def qdisc_change(self, index: int, handle: int, parent: int, kind: str, options: bytes) -> None:
        self.take(index, options)

    def qdisc_prebuilt_change(
        self, index: int, handle: int, parent: int, kind: str, options: bytes
    ) -> tuple[FakeRequest, int]:
        return FakeRequest(self, index, options), 0

    def qdisc_read(self, index: int, handle: int, parent: int) -> QdiscEntry:
        return QdiscEntry("netem", handle, parent, encode_netem(self.qdiscs[index].state), 0, 0, 0, 0)

    def qdisc_delete(self, index: int, handle: int, parent: int) -> None:
        del self.qdiscs[index]


class FakeRequest:
    def __init__(self, kernel: FakeKernel, index: int, options: bytes) -> None:
        self.message = bytearray(options)
        self._kernel = kernel
        self._index = index

    def send(self) -> None:
        self._kernel.take(self._index, bytes(self.message))


def send_one_by_one(requests: Sequence[FakeRequest]) -> Refusals:
    for request in requests:
        request.send()
    return [None] * len(requests)


class FakeJoined:
    """Messages as they stood when they were joined."""

    def __init__(self, requests: Sequence[FakeRequest]) -> None:
        self._parts = [(request._kernel, request._index, bytes(request.message)) for request in requests]

    def send(self) -> Refusals:
        refusals: Refusals = []
        for kernel, index, message in self._parts:
            try:
                kernel.take(index, message)
                refusals.append(None)
            except KernelError as error:  # the kernel goes on after one that it refuses
                refusals.append(error)
        return refusals


class Poisoned(NetemQdisc):
    """Cannot be staged."""

    def stage(self, state: QdiscState) -> Any:
        raise KeyboardInterrupt


def made(kernel: FakeKernel, index: int, state: QdiscState, kind: type[NetemQdisc] = NetemQdisc) -> NetemQdisc:
    qdisc = kind(kernel, index)  # type: ignore[arg-type]
    qdisc.add(state)
    return qdisc


def check_memory(qdisc: NetemQdisc, truth: Held) -> None:
    """What is remembered of tables is so, or known to be unknown."""
    for remembered, table in (
        (qdisc._held._delay_table, truth.delay_table),
        (qdisc._held._slot_table, truth.slot_table),
    ):
        assert remembered in (table, held_state._SOME_TABLE)


def check_verdict(qdisc: NetemQdisc, truth: Held) -> None:
    """Never calls proven what is not in force."""
    try:
        if not qdisc.verify():
            return
    except KernelError:
        return
    asked = qdisc.asked
    assert asked is not None
    assert compare_netem(asked, truth.state) == []  # but for what a dump never tells apart


def is_at_rest(qdisc: NetemQdisc) -> bool:
    return qdisc._held._revision % 2 == 0 and not qdisc._held._is_flying


def check_recovered(qdisc: NetemQdisc, truth: Held) -> None:
    """Whatever happened before, the next change is in force, and no table that went unseen."""
    qdisc.apply_fast(BASE)
    assert truth.delay_table in (None, linear_table())
    assert truth.state == BASE
    assert qdisc.verify() and is_at_rest(qdisc)
    qdisc.apply_fast(BASE.replace(slot=SlotState(min_delay_ns=10, max_delay_ns=20)))
    assert truth.slot_table in (None, linear_table())
    qdisc.apply_fast(BASE.replace(delay_table=TABLE, slot_table=TABLE, slot=SlotState(dist_delay_ns=5)))
    assert (truth.delay_table, truth.slot_table) == (TABLE, TABLE)
    assert qdisc.verify()


FAULTS = (KernelError("change", 22), OSError(105, "no room"), KeyboardInterrupt(), LabError("dead"))
steps = st.lists(
    st.tuples(
        st.sampled_from(["apply", "apply_fast", "together", "poisoned", "prepared", "overtaken"]),
        netem_states(),
        netem_states(),
        st.sampled_from(FAULTS),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=200, deadline=None)
@given(steps, netem_states())
def test_memory_holds_whatever_fails(
    steps: list[tuple[str, QdiscState, QdiscState, BaseException, int]], first: QdiscState
) -> None:
    kernel = FakeKernel()
    qdiscs = [made(kernel, 1, first), made(kernel, 2, first)]
    poisoned = made(kernel, 3, BASE, Poisoned)
    for way, state, other, error, passes in steps:
        kernel.fault = fault_after(passes, error)
        try:
            if way in ("apply", "apply_fast"):
                getattr(qdiscs[0], way)(state)
            elif way in ("prepared", "overtaken"):
                changes = [Change(qdiscs[0], state), Change(qdiscs[1], other)]
                meanwhile = functools.partial(qdiscs[1].apply, state)
                prepared(changes, meanwhile if way == "overtaken" else None)
            else:
                changes = [Change(qdiscs[0], state), Change(qdiscs[1], other)]
                if way == "poisoned":
                    changes.insert(passes % 3, Change(poisoned, state))
                together(changes)
        except (KernelError, OSError, KeyboardInterrupt, LabError):
            pass
        kernel.fault = lambda: None
        for qdisc in (*qdiscs, poisoned):
            truth = kernel.qdiscs[qdisc.ifindex]
            assert is_at_rest(qdisc), "right afterwards"
            check_memory(qdisc, truth)
            check_verdict(qdisc, truth)
    for qdisc in qdiscs:
        check_recovered(qdisc, kernel.qdiscs[qdisc.ifindex])


def fault_after(passes: int, error: BaseException) -> Callable[[], None]:
    left = iter(range(passes))

    def fault() -> None:
        if next(left, None) is None:
            raise error

    return fault


def together(changes: Sequence[Change]) -> Refusals:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(netem_batch, "send_together", send_one_by_one)
        return change_netems(changes)


def prepared(changes: Sequence[Change], meanwhile: Callable[[], None] | None = None) -> Refusals:
    """Make changes as a Player does: ready ahead of time where they can be, then sent."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(netem_batch, "send_together", send_one_by_one)
        patch.setattr(netem_batch, "JoinedRequests", FakeJoined)
        for qdisc, state in changes:
            assert isinstance(qdisc, NetemQdisc)
            qdisc.prepare(state)
        ready = prepare_netems(changes)
        if meanwhile is not None:
            meanwhile()
        if ready is None:
            return change_netems(changes)
        return ready.carry_out(lambda: 0.0).refusals


TABLES = BASE.replace(delay_table=TABLE, slot_table=TABLE, slot=SlotState(dist_delay_ns=5))
WAYS: dict[str, Callable[[list[NetemQdisc]], Any]] = {
    "patched": lambda qdiscs: qdiscs[0].apply_fast(BASE.replace(loss=9)),
    "rebuilt": lambda qdiscs: qdiscs[0].apply_fast(TABLES),
    "slow": lambda qdiscs: qdiscs[0].apply(TABLES),
    "together": lambda qdiscs: together([Change(qdiscs[0], TABLES), Change(qdiscs[1], BASE.replace(loss=9))]),
    "prepared": lambda qdiscs: prepared(
        [Change(qdisc, (qdisc.asked or BASE).replace(loss=9, seed=5)) for qdisc in qdiscs]
    ),
}
WATCHED = {module.__file__ for module in (held_state, netem_batch, netem_qdisc, staged_changes)} | {__file__}
UNWATCHED = {"together", "prepared", "made", "<lambda>"}


class CtrlC:
    """Raises KeyboardInterrupt at the n-th line that runs in what changes qdiscs; tells where that was."""

    def __init__(self, line: int) -> None:
        self.where = ""
        self._left = line

    def __call__(self, frame: FrameType, event: str, argument: object) -> CtrlC | None:
        if frame.f_code.co_filename not in WATCHED or frame.f_code.co_name in UNWATCHED:
            return None
        if event == "line":
            self._left -= 1
            if self._left == 0:
                self.where = frame.f_code.co_name
                raise KeyboardInterrupt
        return self


@pytest.mark.parametrize("before", [BASE, TABLES], ids=["bare", "tables"])
@pytest.mark.parametrize("way", WAYS)
def test_a_ctrl_c_at_every_line(way: str, before: QdiscState) -> None:
    interrupted = unsettled = 0
    while True:
        kernel = FakeKernel()
        qdiscs = [made(kernel, 1, before), made(kernel, 2, before)]
        for qdisc in qdiscs:
            qdisc.apply_fast(before.replace(seed=7))
        ctrl_c, former = CtrlC(interrupted + 1), sys.gettrace()
        sys.settrace(ctrl_c)
        try:
            WAYS[way](qdiscs)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(former)
        if not ctrl_c.where:
            break
        interrupted += 1
        for qdisc in qdiscs:
            truth = kernel.qdiscs[qdisc.ifindex]
            check_memory(qdisc, truth)
            check_verdict(qdisc, truth)
            if not is_at_rest(qdisc):  # in the midst of settling: nothing is claimed until the next change
                assert ctrl_c.where in (
                    "settle",
                    "apply",
                    "apply_fast",
                    "change_staged",
                    "land",
                    "_land",
                    "carry_out",
                )
                assert not qdisc.verify()
                unsettled += 1
            check_recovered(qdisc, truth)
    assert interrupted > 15
    assert unsettled < interrupted


def test_a_difference_of_what_went_unanswered_is_told() -> None:
    kernel = FakeKernel()
    qdisc = made(kernel, 1, BASE)
    kernel.fault = fault_after(1, OSError(105, "no room for the answer"))
    with pytest.raises(OSError, match="no room"):
        qdisc.apply_fast(BASE.replace(loss=9))
    assert qdisc.asked == BASE
    with pytest.raises(KernelError, match="loss"):
        qdisc.verify()


def _ready(kernel: FakeKernel, loss: int = 9) -> tuple[list[NetemQdisc], list[Change], PreparedNetems]:
    qdiscs = [made(kernel, index, BASE) for index in (1, 2, 3)]
    changes = [Change(qdisc, BASE.replace(loss=loss + number, seed=5)) for number, qdisc in enumerate(qdiscs)]
    for change, qdisc in zip(changes, qdiscs, strict=True):
        qdisc.prepare(change.state)
    ready = prepare_netems(changes)
    assert ready is not None, "also where nothing was changed before"
    return qdiscs, changes, ready


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netem_batch, "send_together", send_one_by_one)
    monkeypatch.setattr(netem_batch, "JoinedRequests", FakeJoined)


@pytest.mark.usefixtures("joined")
def test_what_is_ready_is_verified_as_before_until_it_is_sent() -> None:
    kernel = FakeKernel()
    qdiscs, changes, ready = _ready(kernel)
    assert all(qdisc.verify() and qdisc.asked == BASE for qdisc in qdiscs), "ready is not under way"
    seen: list[bool] = []
    kernel.fault = lambda: seen.append(any(qdisc.verify() for qdisc in qdiscs))
    done = ready.carry_out(lambda: 7.0)
    assert (done.refusals, done.answered_s) == ([None] * 3, 7.0)
    assert seen == [False] * 6, "nothing is called proven while it is on its way"
    assert [qdisc.asked for qdisc in qdiscs] == [change.state for change in changes]
    assert all(qdisc.verify() for qdisc in qdiscs)


@pytest.mark.usefixtures("joined")
def test_a_refusal_in_the_midst_of_what_was_ready_leaves_the_others() -> None:
    kernel = FakeKernel()
    qdiscs, changes, ready = _ready(kernel)
    passes = iter(range(10))

    def refuse() -> None:
        if next(passes) == 2:  # before the second takes it
            raise KernelError("change", 22)

    kernel.fault = refuse
    refusals = ready.carry_out(lambda: 0.0).refusals
    assert [refusal is None for refusal in refusals] == [True, False, True]
    assert [qdisc.asked for qdisc in qdiscs] == [changes[0].state, BASE, changes[2].state]
    assert all(qdisc.verify() and is_at_rest(qdisc) for qdisc in qdiscs)
    qdiscs[1].apply_fast(changes[1].state)
    assert qdiscs[1].verify() and kernel.qdiscs[2].state == changes[1].state


@pytest.mark.parametrize("passes", range(6))
@pytest.mark.usefixtures("joined")
def test_what_breaks_off_in_the_midst_claims_nothing(passes: int) -> None:
    kernel = FakeKernel()
    qdiscs, _, ready = _ready(kernel)
    kernel.fault = fault_after(passes, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        ready.carry_out(lambda: 0.0)
    kernel.fault = lambda: None
    for qdisc in qdiscs:
        assert is_at_rest(qdisc) and qdisc.asked == BASE
        check_verdict(qdisc, kernel.qdiscs[qdisc.ifindex])
        check_recovered(qdisc, kernel.qdiscs[qdisc.ifindex])


@pytest.mark.parametrize("meanwhile", ["apply", "apply_fast", "prepare", "delete"])
@pytest.mark.usefixtures("joined")
def test_what_has_been_overtaken_is_not_sent_as_it_was(meanwhile: str) -> None:
    kernel = FakeKernel()
    qdiscs, changes, ready = _ready(kernel)
    if meanwhile == "delete":
        qdiscs[1].delete()
        qdiscs[1].add(TABLES)
    else:
        getattr(qdiscs[1], meanwhile)(TABLES)
    assert ready.carry_out(lambda: 0.0).refusals == [None] * 3
    for qdisc, change in zip(qdiscs, changes, strict=True):
        truth = kernel.qdiscs[qdisc.ifindex]
        assert truth.state == change.state and qdisc.verify()
        assert truth.delay_table in (None, linear_table()), "no table of what came in between"


@pytest.mark.usefixtures("joined")
def test_what_is_ready_is_sent_once() -> None:
    kernel = FakeKernel()
    qdiscs, _, ready = _ready(kernel)
    ready.carry_out(lambda: 0.0)
    qdiscs[0].apply(TABLES)
    ready.carry_out(lambda: 0.0)
    assert kernel.qdiscs[1].delay_table == linear_table() and qdiscs[0].verify()


def test_nothing_is_ready_twice_nor_unprepared() -> None:
    kernel = FakeKernel()
    qdisc = made(kernel, 1, BASE)
    assert prepare_netems([Change(qdisc, BASE)]) is None
    qdisc.prepare(TABLES)
    assert prepare_netems([Change(qdisc, TABLES)]) is None, "tables are not sent ahead"
    with pytest.raises(LabError, match="one direction twice"):
        prepare_netems([Change(qdisc, BASE), Change(qdisc, BASE)])
    with pytest.raises(LabError, match="is no netem qdisc"):
        prepare_netems([Change(object(), BASE)])  # type: ignore[arg-type]


def test_nothing_comes_twice() -> None:
    qdisc = made(FakeKernel(), 1, BASE)
    with pytest.raises(LabError, match="one direction twice"):
        change_staged([qdisc, qdisc], [BASE, BASE], lambda requests: [None, None])
    assert qdisc.verify()


def test_an_apply_that_somebody_else_disturbs_is_not_called_proven() -> None:
    kernel = FakeKernel()
    qdisc = made(kernel, 1, BASE)
    read = kernel.qdisc_read

    def read_meanwhile(index: int, handle: int, parent: int) -> QdiscEntry:
        qdisc.stage(BASE.replace(loss=1))
        return read(index, handle, parent)

    kernel.qdisc_read = read_meanwhile  # type: ignore[method-assign]
    with pytest.raises(KernelError, match="nothing is proven"):
        qdisc.apply(BASE.replace(loss=2))


class FakeRelay:
    """A relay process's models; fails before or after it has done what was asked."""

    def __init__(self) -> None:
        self.models: dict[int, Held] = {0: Held(), 1: Held()}
        self.fault: Callable[[], None] = lambda: None

    def ask(self, request: Any, attempt: str) -> Reply:
        if not isinstance(request, PutStates):
            return Reply(state=to_plain(self.models[request.place.number].state))
        self.fault()
        for put in request.puts:
            self.models[put.place.number].take(from_plain(put.state))
        self.fault()
        return Reply(refusals=(None,) * len(request.puts))


@pytest.mark.parametrize("passes", [0, 1])
@pytest.mark.parametrize("error", FAULTS, ids=lambda error: type(error).__name__)
def test_a_relay_that_fails_leaves_no_table_unseen(error: BaseException, passes: int) -> None:
    relay = FakeRelay()
    lanes = [
        RelayDirection(relay, LinkPlace(number, "forward"), f"lane {number}")  # type: ignore[arg-type]
        for number in (0, 1)
    ]
    table = BASE.replace(delay_table=TABLE)
    for change in (
        lambda: lanes[0].apply_fast(table),
        lambda: change_relayed(relay, [Change(lane, table) for lane in lanes]),  # type: ignore[arg-type]
    ):
        relay.fault = fault_after(passes, error)
        with pytest.raises(type(error)):
            change()
        relay.fault = lambda: None
        for lane in lanes:
            lane.apply(BASE)
            assert relay.models[lane._place.number].delay_table in (None, linear_table())
            assert lane.verify()


def test_one_lane_twice_is_refused() -> None:
    relay = FakeRelay()
    lane = RelayDirection(relay, LinkPlace(0, "forward"), "lane")  # type: ignore[arg-type]
    with pytest.raises(LabError, match="one direction twice"):
        change_relayed(relay, [Change(lane, BASE), Change(lane, BASE)])  # type: ignore[arg-type]
