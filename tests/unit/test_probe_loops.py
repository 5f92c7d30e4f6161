"""The loops of prober and reflector, over a socket and a clock that a test moves: what is stamped when."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace

import pytest

from netlab.errors import SpecError
from netlab.probe import probe_frame as frames
from netlab.probe import prober as prober_module
from netlab.probe import reflector as reflector_module
from netlab.probe.departure import Departure
from netlab.probe.greeting import build_hello
from netlab.probe.probe_frame import FrameKind, LogPage, ProbeReply
from netlab.probe.probe_plan import ProbePlan
from netlab.probe.prober import START_PAUSE_S, Prober
from netlab.probe.prober_link import Taken
from netlab.probe.reflector import Reflector
from netlab.probe.stamped_socket import Datagram
from netlab.wire.address import Address
from netlab.wire.copy_opener import CopyOpener
from netlab.wire.handshake import Initiator
from netlab.wire.key import Key
from netlab.wire.seal import Sealer
from netlab.wire.statistics import Statistics

KEY = Key(bytes(range(32)))
HOME = ("192.0.2.1", 40000)
MS = 1_000_000
SEAL_NS = 300_000
EPOCH_NS = 1_700_000_000_000_000_000
PLAN = ProbePlan(rate_hz=100.0, count=10, wait_s=0.05)


class World:
    """One clock, and what a link has sent: sealing takes time, nothing else does."""

    def __init__(self, departures: dict[int, Departure] | None = None) -> None:
        self.ns = EPOCH_NS
        self.sent: list[tuple[int, bytes]] = []  # time, message
        self.waiting: deque[Taken] = deque()
        self.departures = departures or {}  # by how many probes were tried before
        self.probes = 0
        self.socket = self
        self.clock_steps, self.port_refusals, self.most_bytes = 3, 4, 1400

    def monotonic(self) -> float:
        return self.ns / 1e9

    def monotonic_ns(self) -> int:
        return self.ns

    def now_ns(self) -> int:
        return self.ns

    def seal(self, message: bytes) -> bytes:
        self.ns += SEAL_NS
        return message

    def wait(self, timeout_s: float) -> bool:
        if not self.waiting:
            self.ns += max(round(timeout_s * 1e9), 1)
        return bool(self.waiting)

    def take(self) -> Taken | None:
        return self.waiting.popleft() if self.waiting else None

    def depart(self, message: bytes) -> Departure:
        departure = Departure.LEFT
        if frames.kind_of(message) == FrameKind.PROBE:
            departure = self.departures.get(self.probes, Departure.LEFT)
            self.probes += 1
        if departure is Departure.LEFT:
            self.sent.append((self.ns, message))
        return departure

    def send(self, message: bytes) -> bool:
        if frames.kind_of(message) == FrameKind.LOG_ASK:
            page = frames.read_log_ask(message)
            assert page is not None
            empty = frames.build_log_page(LogPage(page, 0, 0, frames.np.zeros(0, frames.ROW)))
            self.waiting.append(Taken(empty, self.ns))
        return self.depart(message) is Departure.LEFT


def probed(world: World, monkeypatch: pytest.MonkeyPatch) -> Prober:
    monkeypatch.setattr(prober_module, "time", world)
    prober = Prober(PLAN, world)  # type: ignore[arg-type]
    prober.run()
    return prober


def test_a_probe_is_stamped_after_it_was_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    prober = probed(world, monkeypatch)
    left_ns = [ns for ns, message in world.sent if frames.kind_of(message) == FrameKind.PROBE]
    assert len(left_ns) == PLAN.count
    assert prober.record.sent_ns.tolist() == left_ns


def test_the_first_probe_waits_until_the_kernel_stamps_arrivals(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    prober = probed(world, monkeypatch)
    assert prober.record.sent_ns[0] - EPOCH_NS >= START_PAUSE_S * 1e9
    assert START_PAUSE_S >= 0.05


def test_probes_that_do_not_leave_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World({2: Departure.NO_ROOM, 5: Departure.NO_WAY, 6: Departure.NO_WAY})
    record = probed(world, monkeypatch).record
    assert record.n_sent == PLAN.count
    assert record.no_room.nonzero()[0].tolist() == [2]
    assert record.no_way == 2
    assert (record.clock_steps, record.port_refusals) == (3, 4)


def test_probes_that_no_longer_fit_end_the_flow_with_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    record = probed(World({4: Departure.TOO_LARGE}), monkeypatch).record
    assert record.n_sent == 4
    assert record.too_large_bytes == 1400
    assert record.log is not None


def test_a_first_probe_that_does_not_fit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpecError, match="must be at most 1400") as caught:
        probed(World({0: Departure.TOO_LARGE}), monkeypatch)
    assert caught.value.key == "size_bytes"


def test_replies_that_come_after_the_wait_are_late_and_those_without_a_stamp_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    prober = Prober(PLAN, world)  # type: ignore[arg-type]
    reply = frames.build_reply(ProbeReply(0, EPOCH_NS, EPOCH_NS, 0, 0), PLAN.size_bytes)
    prober.record.note_sent(EPOCH_NS)
    assert not prober._take_message(Taken(reply, EPOCH_NS + MS, is_stamped=False))
    prober._is_waiting = False
    assert not prober._take_message(Taken(reply, EPOCH_NS + MS))
    record = prober.record
    assert (record.n_replies, record.unstamped, record.late_replies) == (1, 1, 1)


def test_a_reply_arrives_when_the_kernel_says_and_not_when_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    monkeypatch.setattr(prober_module, "time", world)
    prober = Prober(PLAN, world)  # type: ignore[arg-type]
    prober.record.note_sent(EPOCH_NS)
    reply = frames.build_reply(ProbeReply(0, EPOCH_NS, EPOCH_NS, 0, 0), PLAN.size_bytes)
    world.waiting.append(Taken(reply, EPOCH_NS + MS))
    world.ns += 30 * MS  # the prober was elsewhere
    assert prober._take() == 0
    assert prober.record.replies["arrival_ns"].tolist() == [EPOCH_NS + MS]


class ReflectorSocket:
    """A socket for a reflector: each look at its clock finds it a millisecond on."""

    def __init__(self) -> None:
        self.ns = EPOCH_NS
        self.arrived: deque[Datagram] = deque()
        self.sent: list[bytes] = []
        self.departure = Departure.LEFT
        self.clock_steps = 0

    def now_ns(self) -> int:
        self.ns += MS
        return self.ns

    def wait(self, timeout_s: float) -> bool:
        return bool(self.arrived)

    def take(self) -> Datagram | None:
        return self.arrived.popleft() if self.arrived else None

    def depart(self, data: bytes, address: object) -> Departure:
        if self.departure is Departure.LEFT:
            self.sent.append(data)
        return self.departure


class Peer:
    """A prober whose datagrams go straight into a reflector's socket."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.socket = ReflectorSocket()
        listening = SimpleNamespace(listening=lambda address, endpoints: self.socket)
        monkeypatch.setattr(reflector_module, "StampedSocket", listening)
        self.reflector = Reflector(Address("127.0.0.1", 0), KEY)
        initiator = Initiator(KEY, build_hello(PLAN, 1))
        (challenge,) = self.give(initiator.request)
        assert initiator.receive(challenge)
        agreement = initiator.agreement
        assert agreement is not None
        self.give(initiator.request)
        self.sealer = Sealer(agreement.sending, agreement.session)
        self.opener = CopyOpener(agreement.receiving, agreement.session, Statistics())

    def give(self, packet: bytes, *, is_stamped: bool = True, stamp_ns: int | None = None) -> list[bytes]:
        arrival_ns = self.socket.ns if stamp_ns is None else stamp_ns
        self.socket.arrived.append(Datagram(packet, HOME, arrival_ns, is_stamped))
        self.socket.sent.clear()
        self.reflector.serve(0.0)
        return list(self.socket.sent)

    def probe(self, number: int, *, is_stamped: bool = True, stamp_ns: int | None = None) -> list[bytes]:
        message = frames.build_probe(frames.Probe(True, number), PLAN.size_bytes)
        return self.give(self.sealer.seal(message), is_stamped=is_stamped, stamp_ns=stamp_ns)

    def page(self) -> LogPage:
        (answer,) = self.give(self.sealer.seal(frames.build_log_ask(0)))
        page = frames.read_log_page(self.opener.open(answer).message)
        assert page is not None
        return page


def test_a_reflector_notes_a_later_stamp_than_it_could_put_into_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    peer = Peer(monkeypatch)
    (answer,) = peer.probe(0)
    reply = frames.read_reply(peer.opener.open(answer).message)
    assert reply is not None
    assert reply.reply_ns - reply.receive_ns == MS
    assert peer.page().rows["turnaround_ns"].tolist() == [2 * MS]


def test_a_probe_arrives_when_the_kernel_says_and_not_when_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    peer = Peer(monkeypatch)
    peer.socket.ns += 30 * MS  # the reflector was elsewhere
    stamp_ns = peer.socket.ns - 29 * MS
    (answer,) = peer.probe(0, stamp_ns=stamp_ns)
    reply = frames.read_reply(peer.opener.open(answer).message)
    assert reply is not None
    assert reply.receive_ns == stamp_ns
    assert peer.page().rows["receive_ns"].tolist() == [stamp_ns]


def test_a_reflector_counts_and_marks_what_it_could_not_send(monkeypatch: pytest.MonkeyPatch) -> None:
    peer = Peer(monkeypatch)
    for number, departure in enumerate((Departure.LEFT, Departure.NO_ROOM, Departure.NO_WAY, Departure.TOO_LARGE)):
        peer.socket.departure = departure
        assert len(peer.probe(number)) == (departure is Departure.LEFT)
    peer.socket.departure = Departure.LEFT
    turnaround_ns = peer.page().rows["turnaround_ns"].tolist()
    assert turnaround_ns == [2 * MS, frames.UNSENT_NS, 2 * MS, 2 * MS]
    assert peer.reflector.counters.unsent == 3


def test_a_reflector_says_that_its_clock_was_set_and_that_its_kernel_stamped_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    peer = Peer(monkeypatch)
    peer.probe(0, is_stamped=False)
    peer.socket.clock_steps = 1
    page = peer.page()
    assert page.unstamped
    assert page.clock_set
