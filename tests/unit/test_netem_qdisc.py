"""NetemQdisc's memory: what it sends after what, on a kernel that only remembers bytes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netem_states import netem_states

from netlab.errors import KernelError
from netlab.namespaces.kernel_objects import ROOT, QdiscEntry
from netlab.namespaces.netem_codec import decode_netem, encode_netem
from netlab.namespaces.netem_qdisc import NetemQdisc
from netlab.namespaces.netem_tables import linear_table
from netlab.traces.qdisc_state import GilbertElliottState, QdiscState, SlotState

HEADER = b"H" * 52


class FakeRequest:
    def __init__(self, kernel: FakeKernel, message: bytearray) -> None:
        self.message = message
        self._kernel = kernel

    def send(self) -> None:
        assert self.message[: len(HEADER)] == HEADER
        self._kernel.take(bytes(self.message[len(HEADER) :]))


class FakeKernel:
    """Merges tables as the kernel does, keeps the last options, shows no tables."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.delay_table: tuple[int, ...] | None = None
        self.slot_table: tuple[int, ...] | None = None
        self.refuse = False
        self.kind = "netem"
        self.distort = False
        self.deleted = 0

    def take(self, options: bytes) -> None:
        if self.refuse:
            raise KernelError("change", 22)
        self.sent.append(options)
        state = decode_netem(options)
        self.delay_table = state.delay_table or self.delay_table
        self.slot_table = state.slot_table or self.slot_table

    def qdisc_add(self, index: int, handle: int, parent: int, kind: str, options: bytes) -> None:
        assert (index, handle, parent, kind) == (7, 0x10000, ROOT, "netem")
        self.delay_table = self.slot_table = None
        self.take(options)

    def qdisc_change(self, index: int, handle: int, parent: int, kind: str, options: bytes) -> None:
        assert (index, handle, parent, kind) == (7, 0x10000, ROOT, "netem")
        self.take(options)

    def qdisc_prebuilt_change(
        self, index: int, handle: int, parent: int, kind: str, options: bytes
    ) -> tuple[FakeRequest, int]:
        assert (index, handle, parent, kind) == (7, 0x10000, ROOT, "netem")
        return FakeRequest(self, bytearray(HEADER + options)), len(HEADER)

    def qdisc_read(self, index: int, handle: int, parent: int) -> QdiscEntry:
        state = decode_netem(self.sent[-1]).replace(delay_table=None, slot_table=None)
        if self.distort:
            state = state.replace(loss=state.loss ^ 1, gap=state.gap ^ 2)
        return QdiscEntry(self.kind, handle, parent, encode_netem(state), 0, 0, 0, 0)

    def qdisc_delete(self, index: int, handle: int, parent: int) -> None:
        self.deleted += 1


def made(state: QdiscState) -> tuple[FakeKernel, NetemQdisc]:
    kernel = FakeKernel()
    qdisc = NetemQdisc(kernel, 7)  # type: ignore[arg-type]
    qdisc.add(state)
    return kernel, qdisc


def without_tables(options: bytes) -> QdiscState:
    return decode_netem(options).replace(delay_table=None, slot_table=None)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(netem_states(), st.booleans()), min_size=1, max_size=5), netem_states())
def test_fast_and_slow_leave_the_kernel_in_the_same_state(
    steps: list[tuple[QdiscState, bool]], first: QdiscState
) -> None:
    kernel, qdisc = made(first)
    for state, fast in steps:
        (qdisc.apply_fast if fast else qdisc.apply)(state)
        # Everything but the tables is in the last message; the tables are what the kernel has gathered.
        shown = without_tables(kernel.sent[-1])
        wanted = decode_netem(encode_netem(state)).replace(delay_table=None, slot_table=None)
        assert shown.replace(slot=None) == wanted.replace(slot=None)
        if wanted.slot is None or wanted.slot.max_delay_ns:
            assert (shown.slot is None) == (wanted.slot is None)
        if state.delay_table is not None:
            assert kernel.delay_table == state.delay_table
        else:
            assert kernel.delay_table in (None, linear_table())
        if state.slot_table is not None:
            assert kernel.slot_table == state.slot_table
        elif wanted.slot is not None:
            assert kernel.slot_table in (None, linear_table())
        qdisc.verify()


BASE = QdiscState(latency_ns=20_000_000, jitter_ns=5_000_000, rate_bytes_per_s=10**9, seed=1)


@settings(max_examples=100, deadline=None)
@given(st.lists(netem_states(), min_size=2, max_size=6))
def test_a_patched_message_is_the_encoded_one_to_the_byte(states: list[QdiscState]) -> None:
    kernel, qdisc = made(BASE)
    for state in states:
        hot = BASE.replace(
            latency_ns=state.latency_ns, jitter_ns=state.jitter_ns, limit_packets=state.limit_packets,
            loss=state.loss, duplicate=state.duplicate, gap=state.gap,
            rate_bytes_per_s=state.rate_bytes_per_s, seed=state.seed,
        )  # fmt: skip
        qdisc.apply_fast(hot)
        assert kernel.sent[-1] == encode_netem(hot)
        assert qdisc.asked == hot


def test_a_table_is_sent_once() -> None:
    table = (1, 2, 3)
    kernel, qdisc = made(BASE)
    for seed in range(5):
        qdisc.apply_fast(BASE.replace(delay_table=table, seed=seed))
    assert [decode_netem(options).delay_table for options in kernel.sent[1:]] == [
        table,
        None,
        None,
        None,
        None,
    ]
    qdisc.apply(BASE.replace(delay_table=table))
    assert decode_netem(kernel.sent[-1]).delay_table == table, "apply sends everything"


def test_uniform_after_a_table_is_a_linear_table() -> None:
    kernel, qdisc = made(BASE.replace(delay_table=(5, 6)))
    qdisc.apply(BASE)
    assert kernel.delay_table == linear_table()
    qdisc.apply_fast(BASE.replace(delay_table=(5, 6)))
    assert kernel.delay_table == (5, 6)
    qdisc.apply_fast(BASE.replace(jitter_ns=0))
    qdisc.apply_fast(BASE)
    assert kernel.delay_table == linear_table()


def test_uniform_slots_after_a_slot_table_say_the_same_spacing() -> None:
    kernel, qdisc = made(BASE.replace(slot=SlotState(dist_delay_ns=9, dist_jitter_ns=3), slot_table=(5, 6)))
    qdisc.apply(BASE.replace(slot=SlotState(min_delay_ns=100, max_delay_ns=300, max_packets=4)))
    assert kernel.slot_table == linear_table()
    assert decode_netem(kernel.sent[-1]).slot == SlotState(
        min_delay_ns=100, max_delay_ns=300, max_packets=4, dist_delay_ns=200, dist_jitter_ns=100
    )


def test_uniform_slots_after_a_slot_table_stay_so_by_fast_changes() -> None:
    kernel, qdisc = made(BASE.replace(slot_table=(5, 6)))
    uniform = BASE.replace(slot=SlotState(min_delay_ns=100, max_delay_ns=300))
    for seed in range(4):
        qdisc.apply_fast(uniform.replace(seed=seed))
        qdisc.verify()
        assert kernel.slot_table == linear_table()


def test_the_linear_table_is_the_uniform_law() -> None:
    table = linear_table()
    assert len(table) == 4096
    assert sum(table) == 0
    assert (min(table), max(table)) == (-8190, 8190)
    assert {after - before for before, after in itertools.pairwise(table)} == {4}


def test_a_refused_fast_change_leaves_nothing_half_patched() -> None:
    kernel, qdisc = made(BASE)
    qdisc.apply_fast(BASE.replace(seed=2))
    kernel.refuse = True
    for state in (BASE.replace(seed=3), BASE.replace(corrupt=9, seed=4)):
        with pytest.raises(KernelError):
            qdisc.apply_fast(state)
    assert qdisc.asked == BASE.replace(seed=2)
    kernel.refuse = False
    qdisc.apply_fast(BASE.replace(seed=5))
    assert kernel.sent[-1] == encode_netem(BASE.replace(seed=5))


def test_verify_names_every_field_that_differs() -> None:
    kernel, qdisc = made(BASE)
    kernel.distort = True
    with pytest.raises(KernelError) as caught:
        qdisc.apply(BASE.replace(loss_model=GilbertElliottState(p=1, r=2, h=3, k1=4)))
    assert "loss: asked 0, the kernel shows 1" in str(caught.value)
    assert "gap: asked 0, the kernel shows 2" in str(caught.value)
    assert "loss_model" not in str(caught.value)


def test_says_when_the_qdisc_was_replaced_by_another() -> None:
    kernel, qdisc = made(BASE)
    kernel.kind = "tbf"
    with pytest.raises(KernelError, match="it is a tbf"):
        qdisc.read()


def test_verify_before_anything_was_sent() -> None:
    with pytest.raises(KernelError, match="nothing was sent yet"):
        NetemQdisc(FakeKernel(), 7).verify()  # type: ignore[arg-type]


def test_after_delete_a_new_qdisc_starts_without_tables() -> None:
    kernel, qdisc = made(BASE.replace(delay_table=(5, 6)))
    qdisc.delete()
    assert qdisc.asked is None
    qdisc.add(BASE)
    assert decode_netem(kernel.sent[-1]).delay_table is None
    qdisc.apply(BASE)
    assert kernel.delay_table is None


def test_a_qdisc_that_shows_another_state_at_first_is_taken_away() -> None:
    kernel = FakeKernel()
    kernel.distort = True
    qdisc = NetemQdisc(kernel, 7)  # type: ignore[arg-type]
    with pytest.raises(KernelError, match="in the state asked for"):
        qdisc.add(QdiscState())
    assert (kernel.deleted, qdisc.asked) == (1, None)


def test_a_prepared_state_is_asked_for_with_the_table_that_stands_for_none() -> None:
    kernel, qdisc = made(BASE.replace(delay_table=(5, 6)))
    for _ in range(3):  # carried with its table, laid out without, patched
        qdisc.prepare(BASE)
        qdisc.apply_fast(BASE)
        assert qdisc.asked == BASE.replace(delay_table=linear_table())
        assert kernel.delay_table == linear_table()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(netem_states(), min_size=2, max_size=3),
    st.lists(st.tuples(st.sampled_from(["prepare", "fast", "slow", "refused"]), st.integers(0, 2)), max_size=10),
)
def test_whatever_was_prepared_what_is_asked_for_is_sent(
    states: list[QdiscState], acts: list[tuple[str, int]]
) -> None:
    kernel, qdisc = made(states[0])
    plain_kernel, plain = made(states[0])
    for act, index in acts:
        state = states[index % len(states)]
        kernel.refuse = plain_kernel.refuse = act == "refused"
        if act == "prepare":
            before = len(kernel.sent)
            qdisc.prepare(state)
            assert len(kernel.sent) == before, "nothing is sent ahead of its time"
        elif act == "slow":
            qdisc.apply(state)
            plain.apply(state)
        elif act == "fast":
            qdisc.apply_fast(state)
            plain.apply_fast(state)
        else:
            for one in (qdisc, plain):
                with pytest.raises(KernelError):
                    one.apply_fast(state)
        assert kernel.sent == plain_kernel.sent, "the same bytes as without anything prepared"
        assert qdisc.asked == plain.asked


def test_a_prepared_state_is_sent_without_being_made_again() -> None:
    first = QdiscState(latency_ns=64, rate_bytes_per_s=10**9, seed=1)
    kernel, qdisc = made(first)
    qdisc.apply_fast(first.replace(seed=2))
    second = first.replace(latency_ns=6400, seed=3)
    qdisc.prepare(second)
    request = qdisc.stage(second)
    request.send()
    qdisc.settle(True)
    assert decode_netem(kernel.sent[-1]) == second
    assert qdisc.verify()
