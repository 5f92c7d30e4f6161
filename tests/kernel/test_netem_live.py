"""What happens to packets when a netem qdisc is changed under them, on a real kernel."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from netlab.bench.netem_rig import INTERFACE, NetemRig, netem_rig
from netlab.errors import KernelError
from netlab.namespaces.features import kernel_features
from netlab.namespaces.kernel_objects import ROOT
from netlab.namespaces.netem_codec import encode_netem
from netlab.namespaces.netem_qdisc import DEFAULT_HANDLE, NetemQdisc
from netlab.traces.qdisc_state import GilbertElliottState, QdiscState

MS = 1_000_000
ALWAYS = 2**32 - 1
QUIET_S = 0.3
NO_DELAY_QUIET_S = 0.1
PACKETS = 40
SLOW = QdiscState(latency_ns=200 * MS, seed=7)


@pytest.fixture
def rig() -> Iterator[NetemRig]:
    with netem_rig(SLOW) as rig:
        yield rig


def numbers(rig: NetemRig, quiet_s: float = QUIET_S) -> list[int]:
    """Return the numbers that arrive, in order, until nothing has come for a while."""
    return [arrival.number for arrival in rig.receive(quiet_s)]


Change = Callable[[NetemQdisc, QdiscState], None]
CHANGES = pytest.mark.parametrize("change", [NetemQdisc.apply, NetemQdisc.apply_fast], ids=["apply", "fast"])


@CHANGES
def test_a_change_keeps_the_packets_in_flight(rig: NetemRig, change: Change) -> None:
    rig.send(range(PACKETS))
    assert rig.qdisc.counters().queued_packets == PACKETS
    change(rig.qdisc, SLOW.replace(latency_ns=100 * MS, loss=ALWAYS, seed=8))
    assert rig.qdisc.counters().queued_packets == PACKETS
    assert numbers(rig) == list(range(PACKETS))


def test_delete_and_add_would_lose_them_all(rig: NetemRig) -> None:
    rig.send(range(PACKETS))
    rig.qdisc.delete()
    rig.qdisc.add(SLOW)
    assert numbers(rig) == []


@CHANGES
def test_packets_sent_after_a_shorter_delay_overtake(rig: NetemRig, change: Change) -> None:
    rig.send(range(PACKETS))
    change(rig.qdisc, SLOW.replace(latency_ns=0))
    rig.send(range(PACKETS, 2 * PACKETS))
    assert numbers(rig) == [*range(PACKETS, 2 * PACKETS), *range(PACKETS)]


@CHANGES
def test_with_a_rate_nothing_overtakes(rig: NetemRig, change: Change) -> None:
    ordered = SLOW.replace(rate_bytes_per_s=12_500_000_000)
    change(rig.qdisc, ordered)
    rig.send(range(PACKETS))
    change(rig.qdisc, ordered.replace(latency_ns=0))
    rig.send(range(PACKETS, 2 * PACKETS))
    assert numbers(rig) == list(range(2 * PACKETS))


@pytest.mark.prompt("60 ms late at most")
@CHANGES
def test_the_delay_changes_from_one_packet_to_the_next(rig: NetemRig, change: Change) -> None:
    """n = 12 packets at six delays; a timer may be late (60 ms allowed on a busy machine), never early."""
    delays_ms = [0, 150, 40, 250, 10, 100]
    for number, delay_ms in enumerate(delays_ms):
        change(rig.qdisc, SLOW.replace(latency_ns=delay_ms * MS, seed=number))
        sendings = rig.send(range(2))
        arrived = rig.receive(1.0, count=2)
        assert [arrival.number for arrival in arrived] == [0, 1]
        measured_ms = [(arrival.at_ns - sendings[0].before_ns) / MS for arrival in arrived]
        print(f"asked {delay_ms} ms, measured {measured_ms} ms, tolerance 60 ms")
        assert all(delay_ms <= measured <= delay_ms + 60 for measured in measured_ms)


def lost_of(rig: NetemRig, count: int) -> list[int]:
    rig.send(range(count))
    arrived = numbers(rig, NO_DELAY_QUIET_S)
    return sorted(set(range(count)) - set(arrived))


HALF = QdiscState(loss=2**31, seed=0x1234_5678_9ABC_DEF0)


@CHANGES
def test_a_seed_fixes_the_fates_and_no_seed_goes_on(rig: NetemRig, change: Change) -> None:
    """64 packets at 50 %: equal patterns by chance have probability 2^-64."""
    if not kernel_features().seed:
        pytest.skip("this kernel's netem has no seed")
    change(rig.qdisc, HALF)
    first, second = lost_of(rig, 64), lost_of(rig, 64)
    change(rig.qdisc, HALF)
    assert lost_of(rig, 64) == first
    change(rig.qdisc, HALF.replace(seed=None))
    assert lost_of(rig, 64) == second, "without a seed the generator goes on where it was"
    change(rig.qdisc, HALF.replace(seed=HALF.seed + 1 if HALF.seed else 1))
    assert lost_of(rig, 64) not in (first, second)


@CHANGES
def test_a_loss_chain_goes_when_it_is_not_asked_for(rig: NetemRig, change: Change) -> None:
    everything = GilbertElliottState(p=ALWAYS, r=0, h=0, k1=ALWAYS)
    change(rig.qdisc, QdiscState(loss_model=everything, seed=1))
    assert lost_of(rig, 20) == list(range(20))
    change(rig.qdisc, QdiscState(seed=1))
    assert lost_of(rig, 20) == []


@CHANGES
def test_independent_loss_goes_when_it_is_not_asked_for(rig: NetemRig, change: Change) -> None:
    change(rig.qdisc, QdiscState(loss=ALWAYS, seed=1))
    assert lost_of(rig, 20) == list(range(20))
    assert rig.qdisc.counters().dropped == 20
    change(rig.qdisc, QdiscState(seed=1))
    assert lost_of(rig, 20) == []


def slowest_ms(rig: NetemRig) -> float:
    sendings = rig.send(range(20))
    arrived = rig.receive(1.0, count=20)
    assert len(arrived) == 20
    return (arrived[-1].at_ns - sendings[0].before_ns) / MS


# A table whose every entry is as far out as it goes: 10 ms of jitter become 40 ms of delay.
FAR_OUT = QdiscState(latency_ns=100 * MS, jitter_ns=25 * MS, delay_table=(32767,), seed=1)
UNIFORM = FAR_OUT.replace(delay_table=None)


@pytest.mark.prompt("60 ms late at most")
@CHANGES
def test_uniform_after_a_table_is_uniform(rig: NetemRig, change: Change) -> None:
    """The table gives 200 ms; uniform 75 .. 125 ms; 60 ms allowed for late timers."""
    change(rig.qdisc, FAR_OUT)
    assert slowest_ms(rig) >= 199
    change(rig.qdisc, UNIFORM)
    assert 75 <= slowest_ms(rig) <= 185


def test_no_message_removes_a_table(rig: NetemRig) -> None:
    """The reason for the linear table: the full state without it leaves the old table in force."""
    rig.qdisc.apply(FAR_OUT)
    rig.route.qdisc_change(INTERFACE, DEFAULT_HANDLE, ROOT, "netem", encode_netem(UNIFORM))
    assert slowest_ms(rig) >= 199


@CHANGES
def test_the_limit_counts_packets_in_the_delay_line(rig: NetemRig, change: Change) -> None:
    change(rig.qdisc, SLOW.replace(limit_packets=5))
    rig.send(range(20))
    assert numbers(rig) == list(range(5))


@CHANGES
def test_certain_duplication_and_reordering(rig: NetemRig, change: Change) -> None:
    change(rig.qdisc, QdiscState(duplicate=ALWAYS, seed=1))
    rig.send(range(3))
    assert numbers(rig) == [0, 0, 1, 1, 2, 2]
    change(rig.qdisc, SLOW.replace(gap=3, reorder=ALWAYS))
    rig.send(range(6))
    assert numbers(rig) == [2, 5, 0, 1, 3, 4]


def test_threads_share_a_socket(rig: NetemRig) -> None:
    """Three threads, one socket, 500 exchanges each: every acknowledgement reaches the one who asked."""
    errors: list[BaseException] = []

    def change(first_seed: int) -> None:
        qdisc = NetemQdisc(rig.route, INTERFACE)
        try:
            for number in range(500):
                qdisc.apply_fast(SLOW.replace(seed=first_seed + number))
                if number % 50 == 0:
                    assert qdisc.read().latency_ns == SLOW.latency_ns
        except BaseException as error:
            errors.append(error)

    def refuse() -> None:
        qdisc = NetemQdisc(rig.route, INTERFACE, handle=0x70000)
        for _ in range(500):
            try:
                qdisc.apply_fast(SLOW)
            except KernelError:
                continue
            errors.append(AssertionError("a change of a qdisc that is not there was acknowledged"))

    threads = [threading.Thread(target=change, args=(n * 1000,)) for n in (1, 2)]
    threads.append(threading.Thread(target=refuse))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    rig.qdisc.apply(SLOW)


def test_a_lost_turn_is_taken_back(rig: NetemRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if Ctrl-C had fallen between taking the turn and the block that gives it back."""
    monkeypatch.setattr("netlab.namespaces.netlink_turn._LOST_S", 0.1)
    rig.route._turn.free.clear()
    rig.qdisc.apply_fast(SLOW)
    rig.qdisc.verify()


def test_an_answer_nobody_took_is_not_taken_for_another(rig: NetemRig) -> None:
    rig.qdisc.apply_fast(SLOW)
    rig.route._socket.send(bytes(rig.qdisc._request.message))  # type: ignore[union-attr]
    rig.route._turn.drain()
    with pytest.raises(KernelError):
        NetemQdisc(rig.route, INTERFACE, handle=0x70000).apply_fast(SLOW)
    rig.qdisc.apply_fast(SLOW)
    rig.qdisc.verify()


def test_a_qdisc_that_is_gone(rig: NetemRig) -> None:
    rig.qdisc.delete()
    with pytest.raises(KernelError) as caught:
        rig.qdisc.apply_fast(SLOW)
    assert "interface 2" in str(caught.value)
    with pytest.raises(KernelError):
        rig.qdisc.read()
    rig.route.delete_link(INTERFACE)
    with pytest.raises(KernelError, match="cannot add a netem qdisc to interface 2"):
        rig.qdisc.add(SLOW)


def test_a_closed_socket_is_one_clear_error(rig: NetemRig) -> None:
    rig.qdisc.apply_fast(SLOW)
    rig.route.close()
    for attempt in (rig.qdisc.read, lambda: rig.qdisc.apply_fast(SLOW), lambda: rig.qdisc.apply(SLOW)):
        with pytest.raises(KernelError) as caught:
            attempt()
        assert "closed" in caught.value.hint
