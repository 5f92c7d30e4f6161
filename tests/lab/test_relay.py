"""A lab on a relay: its packets meet the fates of the link model, and it lives and ends with its lab."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from orphans import Orphans

from netlab.errors import KernelError, LabError, ProfileError
from netlab.lab import Lab
from netlab.lab_links import LinkOrder
from netlab.namespaces.host import Host
from netlab.namespaces.impairer import Change
from netlab.namespaces.medium_plan import plan_medium
from netlab.namespaces.relay.direction import RelayDirection
from netlab.namespaces.relay.message_stream import send_message
from netlab.namespaces.relay.process import RelayProcess
from netlab.namespaces.relay.relay_wire import RelayWire
from netlab.namespaces.relay.requests import Asked, LinkPlace, MediumPlace, Put, PutStates, Read
from netlab.namespaces.relay.wiring import RelayWiring
from netlab.traces.model.link_model import LinkModel
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import GilbertElliottState, QdiscState, SlotState
from netlab.traces.schedule import Schedule, Step

ALWAYS = 2**32 - 1
FRAME_BYTES = 14 + 20 + 8 + 4
PORT = 7
RECVTOS = 13
RCVBUFFORCE = 33


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(seed=1, wiring=RelayWiring()) as opened:
        opened.add_host("edge")
        opened.add_host("agent")
        yield opened


def udp(host: Host, port: int = 0) -> socket.socket:
    sock = host.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    sock.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, 1 << 24)
    sock.settimeout(30)
    sock.bind((host.address, port))
    return sock


def direction(lab: Lab, name: str = "edge-agent") -> RelayDirection:
    forward = lab.links[name].forward
    assert isinstance(forward, RelayDirection)
    return forward


def relay_of(lab: Lab) -> RelayWire:
    wire = lab.links["edge-agent"].wire
    assert isinstance(wire, RelayWire)
    return wire


def send_numbers(lab: Lab, count: int, gap_s: float = 0.0002, link: str = "edge-agent") -> list[int]:
    """Send numbered datagrams from edge to agent; return the numbers in the order they arrive.

    Silence is the end only once the relay says that it has read all of them and holds none of them.
    """
    edge, agent = lab.hosts["edge"], lab.hosts["agent"]
    forward = lab.links[link].forward
    before = direction(lab, link).counters().received if forward else 0
    with udp(edge) as one, udp(agent, PORT) as other:
        for number in range(count):
            one.sendto(number.to_bytes(4, "big"), (agent.address, PORT))
            time.sleep(gap_s)
        arrived: list[int] = []
        deadline_s = time.monotonic() + 60.0
        while True:
            if forward:
                counts = direction(lab, link).counters()
                is_over = (counts.received - before, counts.held) == (count, 0)
            else:  # it loses none
                is_over = len(arrived) == count
            arrived += received_until_quiet(other)
            if is_over or time.monotonic() > deadline_s:
                return arrived


def received_until_quiet(sock: socket.socket, quiet_s: float = 0.1) -> list[int]:
    """Return the numbers in the datagrams that come until none has for so long."""
    sock.settimeout(quiet_s)
    arrived = []
    with contextlib.suppress(TimeoutError):
        while True:
            arrived.append(int.from_bytes(sock.recv(16), "big"))
    return arrived


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(QdiscState(latency_ns=5_000_000, loss=ALWAYS // 10, seed=11), id="loss"),
        pytest.param(
            QdiscState(
                latency_ns=5_000_000,
                loss_model=GilbertElliottState(p=ALWAYS // 20, r=ALWAYS // 4, h=ALWAYS // 10, k1=ALWAYS // 100),
                seed=12,
            ),
            id="gilbert-elliott",
        ),
        pytest.param(QdiscState(latency_ns=5_000_000, duplicate=ALWAYS // 8, seed=13), id="duplicate"),
        pytest.param(
            QdiscState(latency_ns=5_000_000, duplicate=ALWAYS // 8, loss=ALWAYS // 8, seed=14),
            id="duplicate-loss",
        ),
    ],
)
def test_fates_are_the_models(lab: Lab, state: QdiscState) -> None:
    lab.add_link("edge", "agent", state)
    arrived = send_numbers(lab, 2000)
    model = LinkModel(state)
    fates = [model.enqueue(number * 10**9, FRAME_BYTES) for number in range(2000)]
    # Same delay for all: they arrive in the order of sending, each as often as it has copies.
    assert arrived == [number for number, fate in enumerate(fates) for _ in fate.copies]
    counts = direction(lab).counters()
    assert (counts.received, counts.delivered) == (2000, len(arrived))
    assert counts.lost == sum(fate.lost for fate in fates)
    assert counts.held == 0


def test_reordered_packets_are_the_models(lab: Lab) -> None:
    state = QdiscState(latency_ns=60_000_000, gap=5, reorder=ALWAYS // 2, seed=15)
    lab.add_link("edge", "agent", state)
    arrived = send_numbers(lab, 1000)
    model = LinkModel(state)
    heads = [number for number in range(1000) if model.enqueue(number * 10**9, FRAME_BYTES).copies[0].head]
    # A head overtakes all that wait 60 ms: those sent less than that before it. Each other keeps its order.
    assert len(heads) > 50
    assert [number for number in arrived if number not in set(heads)] == sorted(set(range(1000)) - set(heads))
    assert [number for number in arrived if number in set(heads)] == heads
    place = {number: at for at, number in enumerate(arrived)}
    overtook = [number for number in heads if number > 10 and place[number] < place[number - 1]]
    assert len(overtook) >= 0.98 * len([number for number in heads if number > 10])


def test_delays_of_a_uniform_law_are_the_models(lab: Lab) -> None:
    state = QdiscState(latency_ns=30_000_000, jitter_ns=10_000_000, seed=16)
    lab.add_link("edge", "agent", state)
    edge, agent = lab.hosts["edge"], lab.hosts["agent"]
    model = LinkModel(state)
    errors_s = []
    with udp(edge) as one, udp(agent, PORT) as other:
        for number in range(200):
            begin_s = time.monotonic()
            one.sendto(b"x" * 4, (agent.address, PORT))
            other.recv(16)
            asked_s = model.enqueue(number, FRAME_BYTES).copies[0].delay_ns / 1e9
            errors_s.append(time.monotonic() - begin_s - asked_s)
    # n = 200, alone on the link. Never early, whatever it drew; a busy machine makes most late, not the best 20.
    assert min(errors_s) > 0
    assert sorted(errors_s)[20] < 0.002


def test_first_packet_of_a_fresh_link_arrives_both_ways() -> None:
    for _ in range(5):
        with Lab(wiring=RelayWiring()) as lab:
            edge, agent = lab.add_host("edge"), lab.add_host("agent")
            lab.add_link(edge, agent)
            with udp(edge, PORT) as one, udp(agent, PORT) as other:
                one.sendto(b"there", (agent.address, PORT))
                assert other.recvfrom(16) == (b"there", (edge.address, PORT))
                other.sendto(b"back", (edge.address, PORT))
                assert one.recvfrom(16) == (b"back", (agent.address, PORT))


def test_interfaces_are_as_planned(lab: Lab) -> None:
    link = lab.add_link("edge", "agent", mtu=1400)
    (entry,) = (one for one in lab.hosts["edge"].node.routes.links() if one.name != "lo")
    first = link.plan.first
    assert (entry.name, entry.ifindex, entry.mac, entry.mtu) == ("eth0", first.index, first.mac, 1400)
    assert entry.up


@pytest.mark.parametrize("mtu", [576, 1500, 9000])
def test_tcp_arrives_intact(lab: Lab, mtu: int) -> None:
    lab.add_link("edge", "agent", LinkProfile(delay_s=0.002), mtu=mtu)
    edge, agent = lab.hosts["edge"], lab.hosts["agent"]
    data = os.urandom(2_000_000)
    server = agent.call(lambda: socket.create_server((agent.address, 5001)))

    def push() -> None:
        with edge.call(lambda: socket.create_connection((agent.address, 5001), 10)) as out:
            out.sendall(data)

    pusher = threading.Thread(target=push)
    pusher.start()
    digest = hashlib.sha256()
    with server:
        incoming, _ = server.accept()
        with incoming:
            incoming.settimeout(60)
            while piece := incoming.recv(1 << 16):
                digest.update(piece)
    pusher.join()
    assert digest.digest() == hashlib.sha256(data).digest()


def test_change_keeps_packets_in_flight(lab: Lab) -> None:
    link = lab.add_link("edge", "agent", QdiscState(latency_ns=2_000_000_000, seed=1))
    edge, agent = lab.hosts["edge"], lab.hosts["agent"]
    with udp(edge) as one, udp(agent, PORT) as other:
        for number in range(40):
            one.sendto(bytes([number]), (agent.address, PORT))
        time.sleep(0.05)
        assert direction(lab).counters().held == 40
        link.apply(QdiscState(latency_ns=0, seed=2), "forward")
        one.sendto(b"\xff", (agent.address, PORT))
        assert other.recv(4) == b"\xff"  # a lower delay lets it overtake them all
        assert [other.recv(4)[0] for _ in range(40)] == list(range(40))


def test_states_are_read_back_and_tables_are_sticky_as_in_the_kernel(lab: Lab) -> None:
    table = QdiscState(latency_ns=10**7, jitter_ns=10**6, delay_table=(-8192, 0, 8192), seed=3)
    link = lab.add_link("edge", "agent", table)
    forward = direction(lab)
    assert forward.read() == table.replace(delay_table=None)
    uniform = QdiscState(
        latency_ns=10**7, jitter_ns=10**6, seed=4, loss_model=GilbertElliottState(p=1, r=2, h=3, k1=4)
    )
    link.apply(uniform, "forward")
    assert forward.asked is not None
    assert forward.asked.delay_table is not None  # linear: the model keeps its table, as the kernel does
    assert forward.read() == uniform
    assert forward.verify()


def test_slots_are_refused(lab: Lab) -> None:
    link = lab.add_link("edge", "agent", QdiscState(seed=1))
    with pytest.raises(ProfileError, match="slot"):
        link.apply(QdiscState(slot=SlotState(min_delay_ns=10**6, max_delay_ns=10**6)), "forward")
    assert direction(lab).verify()


def test_directions_change_together(lab: Lab) -> None:
    link = lab.add_link("edge", "agent", LinkProfile(delay_s=0.01))
    assert isinstance(link.forward, RelayDirection)
    assert isinstance(link.back, RelayDirection)
    slow, fast = QdiscState(latency_ns=2 * 10**7, seed=5), QdiscState(latency_ns=10**6, seed=6)
    slots = QdiscState(slot=SlotState(min_delay_ns=10**6, max_delay_ns=10**6))
    assert link.wire.change_together([Change(link.forward, slow), Change(link.back, fast)]) == [None, None]
    assert (link.forward.read(), link.back.read()) == (slow, fast)
    refused, taken = link.wire.change_together([Change(link.forward, slots), Change(link.back, slow)])
    assert isinstance(refused, ProfileError)  # as when it is changed by itself
    assert "slot" in str(refused)
    assert taken is None
    assert (link.forward.read(), link.back.read()) == (slow, slow)
    assert link.forward.verify()
    assert link.back.verify()


def test_schedule_is_played(lab: Lab) -> None:
    steps = (Step(0.0, LinkProfile(delay_s=0.001)), Step(0.2, LinkProfile(delay_s=0.08)))
    schedule = Schedule(steps, duration_s=0.4)
    link = lab.add_link("edge", "agent", ProfilePair("steps", schedule, schedule))
    lab.play()
    assert lab.player is not None
    assert lab.player.wait(30)
    lab.stop_playing()
    reading = link.read()
    assert reading.forward is not None
    assert reading.back is not None
    assert reading.forward.latency_ns == reading.back.latency_ns == 80_000_000
    assert lab.player.counts.failed == 0


def test_corruption_flips_one_bit(lab: Lab) -> None:
    lab.add_link("edge", "agent", QdiscState(corrupt=ALWAYS, seed=1))
    edge, agent = lab.hosts["edge"], lab.hosts["agent"]

    def open_raw() -> socket.socket:
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        raw.bind(("eth0", 0x0003))
        raw.settimeout(2)
        return raw

    with edge.call(open_raw) as one, agent.call(open_raw) as other:
        for _ in range(50):
            frame = bytes(12) + b"\x88\xb5" + os.urandom(100)
            one.send(frame)
            difference = int.from_bytes(frame, "big") ^ int.from_bytes(other.recv(2000), "big")
            assert difference.bit_count() == 1
    assert direction(lab).counters().corrupted == 50


def test_ecn_capable_packets_are_marked_instead_of_lost(lab: Lab) -> None:
    lab.add_link("edge", "agent", QdiscState(loss=ALWAYS, ecn=True, seed=1))
    edge, agent = lab.hosts["edge"], lab.hosts["agent"]
    with udp(edge) as one, udp(agent, PORT) as other:
        other.setsockopt(socket.IPPROTO_IP, RECVTOS, 1)
        one.sendto(b"not capable", (agent.address, PORT))
        one.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0b10)
        one.sendto(b"capable", (agent.address, PORT))
        data, ancillary, _, _ = other.recvmsg(64, 64)  # its checksum holds, or it would not be here
        assert data == b"capable"
        assert ancillary[0][2][0] == 0b11
    counts = direction(lab).counters()
    assert (counts.marked, counts.lost) == (1, 1)


def test_limit_bounds_what_is_held(lab: Lab) -> None:
    lab.add_link("edge", "agent", QdiscState(latency_ns=300_000_000, limit_packets=10, seed=1))
    assert send_numbers(lab, 30) == list(range(10))
    counts = direction(lab).counters()
    assert (counts.over_limit, counts.lost) == (20, 0)


def test_packets_are_recorded(lab: Lab) -> None:
    state = QdiscState(latency_ns=5_000_000, loss=ALWAYS // 5, duplicate=ALWAYS // 5, seed=9)
    link = lab.add_link("edge", "agent", state)
    recorder = relay_of(lab).record()
    try:
        send_numbers(lab, 300)
        recorded = recorder.finish({link.plan.number: "edge-agent"})
    finally:
        recorder.close()
    model = LinkModel(state)
    wanted = []
    for number in range(300):
        copies = model.enqueue(number * 10**9, FRAME_BYTES).copies
        wanted += [("delivered", "duplicate")[: len(copies)]] if copies else [("lost",)]
    assert [record.fate for record in recorded.records] == [fate for fates in wanted for fate in fates]
    assert {(one.link, one.direction, one.length_bytes) for one in recorded.records} == {
        ("edge-agent", "forward", FRAME_BYTES)
    }
    delays_ns = [record.delay_ns for record in recorded.records if record.delay_ns is not None]
    assert min(delays_ns) >= 5_000_000


@pytest.mark.parametrize("way", ["forward", "back"])
def test_links_of_a_medium_share_its_rate(lab: Lab, way: str) -> None:
    lab.add_host("third")
    lab.add_medium("air", rate_bps=1e6)
    lab.add_link("edge", "agent", medium="air")
    lab.add_link("third", "agent", medium="air")
    edge, agent, third = (lab.hosts[name] for name in ("edge", "agent", "third"))
    loading, waiting = ((edge, agent), (third, agent)) if way == "forward" else ((agent, edge), (agent, third))
    medium = RelayDirection(relay_of(lab).relay, MediumPlace(0), "medium air")
    with (
        receiver(*loading) as near,
        receiver(*waiting) as far,
        udp_at(loading[0]) as one,
        udp_at(waiting[0]) as other,
    ):
        begin_s = time.monotonic()
        for _ in range(20):
            one.sendto(bytes(1000), near.getsockname())
        # The relay reads at most 8 frames of a link before it looks at the others (_READ_AT_ONCE): what is sent at
        # once would find 8, 16 or 20 before it. When the medium has all, it is behind them all.
        while medium.counters().received < 20:
            assert time.monotonic() < begin_s + 30.0
        other.sendto(b"x", far.getsockname())
        far.recv(4)
        # None of the 20 was sent before the beginning, and each has the medium to itself for 1042 bytes: a busy
        # machine makes it more, never less.
        assert time.monotonic() - begin_s >= 20 * 1042 * 8 / 1e6
        assert len([near.recv(1200) for _ in range(20)]) == 20
    counts = medium.counters()
    assert (counts.received, counts.delivered, counts.held) == (21, 21, 0)


def receiver(sender: Host, host: Host) -> socket.socket:
    """Return a socket of a host at the address by which the sender knows it."""
    sock = udp_at(host)
    sock.settimeout(30)
    sock.bind((sender.address_of(host.name), PORT))
    return sock


def test_a_medium_has_counts_of_its_own(lab: Lab) -> None:
    """Medium 0 and link 0 have one number: neither answers for the other."""
    lab.add_medium("air", rate_bps=1e9)
    lab.add_link("edge", "agent", QdiscState(), name="beside")
    lab.add_link("edge", "agent", medium="air")
    wire = relay_of(lab)
    medium = RelayDirection(wire.relay, MediumPlace(0), "medium air")
    send_numbers(lab, 5, link="beside")  # over the first link, beside the medium
    assert direction(lab, "beside").counters().received == 5
    assert medium.counters().received == 0
    link = lab.links["edge-agent"].plan
    edge, agent = lab.hosts["edge"], lab.hosts["agent"]
    with agent.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as far, udp_at(edge) as one:
        far.settimeout(30)
        far.bind((link.second.address, PORT))
        for _ in range(3):
            one.sendto(b"x", (link.second.address, PORT))
            far.recv(4)
    counts = medium.counters()
    assert (counts.received, counts.delivered, counts.held) == (3, 3, 0)


def udp_at(host: Host) -> socket.socket:
    return host.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))


def test_a_medium_that_is_refused_leaves_nothing(lab: Lab) -> None:
    wire = relay_of_new_link(lab)
    slots = QdiscState(slot=SlotState(min_delay_ns=10**6, max_delay_ns=10**6))
    plan = plan_medium(3, "air", "abcdef")
    with pytest.raises(ProfileError):
        wire.add_medium(plan, slots)
    with pytest.raises(KernelError, match="the relay has no medium 3"):
        wire.relay.ask(Read(MediumPlace(3)), "read medium air")
    assert wire.add_medium(plan, QdiscState(limit_packets=9)).read().limit_packets == 9


def relay_of_new_link(lab: Lab) -> RelayWire:
    lab.add_link("edge", "agent")
    return relay_of(lab)


def test_frames_longer_than_the_links_are_dropped_whole(lab: Lab) -> None:
    lab.add_link("edge", "agent", QdiscState(), mtu=1000)
    edge, agent = lab.hosts["edge"], lab.hosts["agent"]
    for host in (edge, agent):
        end = lab.links["edge-agent"].plan.first if host is edge else lab.links["edge-agent"].plan.second
        host.node.routes.configure_link(end.interface, mtu=1400, mac=None, queue_packets=100)
    with udp(edge) as one, udp(agent, PORT) as other:
        one.sendto(bytes(1300), (agent.address, PORT))
        one.sendto(b"fits", (agent.address, PORT))
        assert other.recv(2000) == b"fits"
    counts = direction(lab).counters()
    assert (counts.oversized, counts.received) == (1, 1)


def test_links_are_taken_away_as_far_as_they_are_there(lab: Lab) -> None:
    links = [lab.add_link("edge", "agent", name=name) for name in ("one", "two", "three")]
    edge, agent = lab.hosts["edge"].node.routes, lab.hosts["agent"].node.routes
    edge.delete_link(links[0].plan.first.index)
    agent.delete_link(links[1].plan.second.index)
    agent.add_veth("other", "end", index=links[1].plan.second.index, peer_index=900)  # not ours
    links[0].wire.take_away([link.plan for link in links])
    assert [entry.name for entry in edge.links()] == ["lo"]
    assert sorted(entry.name for entry in agent.links()) == ["end", "lo", "other"]
    agent.delete_link(900)
    links[0].wire.take_away([link.plan for link in links])  # there may be nothing of them


def test_a_relay_without_descriptors_says_so_and_lives_on(lab: Lab) -> None:
    lab.add_link("edge", "agent")
    relay = relay_of(lab).relay
    held = {int(name) for name in os.listdir(f"/proc/{relay.pid}/fd")}
    limit = sorted(set(range(len(held) + 2)) - held)[1]  # room for one of the two
    resource.prlimit(relay.pid, resource.RLIMIT_NOFILE, (limit, limit))
    with pytest.raises(KernelError, match=f"the relay may have {limit} open files") as caught:
        lab.add_link("edge", "agent", name="more")
    assert caught.value.errno == errno.EMFILE
    assert "ulimit -Hn" in caught.value.hint
    assert {int(name) for name in os.listdir(f"/proc/{relay.pid}/fd")} == held
    assert [entry.name for entry in lab.hosts["edge"].node.routes.links()] == ["lo", "eth0"]
    lab.links["edge-agent"].apply(LinkProfile(delay_s=0.001))
    assert send_numbers(lab, 3) == [0, 1, 2]


def test_a_relay_that_takes_nothing_is_ended_and_said_to_be_silent(lab: Lab) -> None:
    wire = relay_of_new_link(lab)
    wire.relay._socket.settimeout(0.3)
    os.kill(wire.relay.pid, signal.SIGSTOP)
    puts = tuple(Put(LinkPlace(0, "forward"), {"seed": 2**63 + number}) for number in range(100_000))
    with pytest.raises(LabError, match=r"the relay of lab .* did not answer and was ended") as caught:
        wire.relay.ask(PutStates(puts), "change much")
    assert "open a new lab" in caught.value.hint
    assert wire.relay._ended.wait(30)
    with pytest.raises(LabError, match="died"):
        lab.close()


def test_no_descriptor_for_a_relay_is_a_kernel_error() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        with pytest.raises(KernelError, match="cannot make a socket for the relay of it") as caught:
            RelayProcess("the relay of it")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert caught.value.errno == errno.EMFILE


def test_many_links_are_laid_at_once(lab: Lab) -> None:
    hosts = [lab.hosts["agent"], *(lab.add_host(f"host{number}") for number in range(70))]
    lab.add_links(
        [LinkOrder("edge", host.name, name=f"to-{host.name}") for host in hosts]
    )  # more than one message
    with udp_at(lab.hosts["edge"]) as one:
        for host in (hosts[0], hosts[-1]):
            with host.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as far:
                far.settimeout(30)
                address = lab.links[f"to-{host.name}"].plan.second.address
                far.bind((address, PORT))
                one.sendto(b"there", (address, PORT))
                assert far.recv(16) == b"there"


def test_mtu_that_no_tap_takes(lab: Lab) -> None:
    with pytest.raises(KernelError, match="an MTU of 65535 for the TAP eth0") as caught:
        lab.add_link("edge", "agent", mtu=65535)
    assert "65521" in caught.value.hint
    assert [entry.name for entry in lab.hosts["edge"].node.routes.links()] == ["lo"]
    lab.add_link("edge", "agent", mtu=65521)


def test_a_relay_that_dies_is_told(lab: Lab) -> None:
    link = lab.add_link("edge", "agent", LinkProfile(delay_s=0.01))
    lab.check()
    os.kill(relay_of(lab).relay.pid, signal.SIGKILL)
    with pytest.raises(LabError, match=r"the relay of lab .* died \(exit code -9\)"):
        link.apply(LinkProfile(delay_s=0.02))
    with pytest.raises(LabError, match=r"the relay of lab .* died \(exit code -9\)"):
        lab.check()
    edge = lab.hosts["edge"]
    with udp(edge) as one:  # nothing passes, and nobody is held up
        one.sendto(b"x", (lab.hosts["agent"].address, PORT))
    with pytest.raises(LabError, match=r"the relay of lab .* died \(exit code -9\)"):
        lab.close()  # or whoever never asked again would believe what it measured


KILLED = """
import os, sys, time
from netlab.lab import Lab
from netlab.lab_links import LinkOrder
from netlab.namespaces.relay.wiring import RelayWiring
lab = Lab(wiring=RelayWiring()).open()
lab.add_host("edge"), lab.add_host("agent")
link = lab.add_link("edge", "agent", "delay=10ms")
if sys.argv[1] == "forked" and os.fork() == 0:
    time.sleep(60)  # holds the socket open
print(link.wire.relay.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("how", ["alone", "forked"])
def test_relay_ends_with_a_lab_that_is_killed(how: str) -> None:
    orphans = Orphans()
    child = subprocess.Popen([sys.executable, "-c", KILLED, how], stdout=subprocess.PIPE, start_new_session=True)
    assert child.stdout is not None
    with child.stdout as output:
        pid = int(output.readline())
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        deadline_s = time.monotonic() + 30
        while is_running(pid) and time.monotonic() < deadline_s:
            time.sleep(0.01)
        assert not is_running(pid)
        os.killpg(child.pid, signal.SIGKILL) if how == "forked" else None
    orphans.bury()


OPENING = """
from netlab.lab import Lab
from netlab.lab_links import LinkOrder
from netlab.namespaces.relay.wiring import RelayWiring
with Lab(wiring=RelayWiring()) as lab:
    lab.add_host("edge"), lab.add_host("agent")
    lab.add_link("edge", "agent", "delay=10ms")
    print("open", flush=True)
"""


def test_labs_killed_at_any_moment_leave_no_relay() -> None:
    orphans = Orphans()
    mark = f"NETLAB_TEST_MARK={os.getpid()}"
    environment = {**os.environ, "NETLAB_TEST_MARK": str(os.getpid())}
    begin_s = time.monotonic()
    subprocess.run([sys.executable, "-c", OPENING], env=environment, check=True, stdout=subprocess.DEVNULL)
    whole_s = time.monotonic() - begin_s
    for turn in range(8):
        child = subprocess.Popen([sys.executable, "-c", OPENING], env=environment, stdout=subprocess.DEVNULL)
        time.sleep(whole_s * (0.3 + 0.7 * turn / 7))  # before that it has not even loaded
        child.kill()
        child.wait()
        deadline_s = time.monotonic() + 30
        while marked_processes(mark) and time.monotonic() < deadline_s:
            time.sleep(0.02)
        assert [described(pid) for pid in marked_processes(mark)] == [], f"killed at turn {turn}"
    orphans.bury()


def marked_processes(mark: str) -> list[int]:
    """Return the running processes that were started with a mark in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes().split(b"\0") and is_running(int(path.parent.name)):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def described(pid: int) -> str:
    """Return what a process is and what it waits for, as far as it is still there to tell."""
    facts = [f"pid {pid}"]
    for name in ("cmdline", "wchan", "status"):
        with contextlib.suppress(OSError):
            facts.append(Path(f"/proc/{pid}/{name}").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return "\n".join(facts)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_a_link_that_fails_on_the_way_leaves_nothing(lab: Lab) -> None:
    agent = lab.hosts["agent"]
    agent.node.routes.add_veth("eth0", "in-the-way", index=50, peer_index=51)
    with pytest.raises(KernelError, match="cannot make the TAP eth0"):
        lab.add_link("edge", "agent")
    assert [entry.name for entry in lab.hosts["edge"].node.routes.links()] == ["lo"]
    agent.node.routes.delete_link(50)
    lab.add_link("edge", "agent")
    assert send_numbers(lab, 3) == [0, 1, 2]


def test_interface_deleted_under_the_relay(lab: Lab) -> None:
    """The relay neither dies nor spins; other links flow on."""
    link = lab.add_link("edge", "agent", LinkProfile(delay_s=0.001))
    other = lab.add_link("edge", "agent", LinkProfile(delay_s=0.001), name="other")
    lab.hosts["edge"].node.routes.delete_link(link.plan.first.index)
    pid = relay_of(lab).relay.pid
    time.sleep(0.1)
    before = cpu_ticks(pid)
    time.sleep(0.5)
    assert cpu_ticks(pid) - before <= 5  # 50 ms of 500
    lab.check()
    assert direction(lab, other.name).verify()


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_reply_to_an_interrupted_question_is_not_taken_for_another(lab: Lab) -> None:
    lab.add_link("edge", "agent", QdiscState(latency_ns=7, seed=1))
    relay = relay_of(lab).relay
    stale = Asked(10**6, Read(LinkPlace(0, "back")))
    send_message(relay._socket, msgspec.msgpack.encode(stale))  # whose reply nobody reads
    assert direction(lab).read().latency_ns == 7
    assert direction(lab).counters().held == 0


def test_requests_of_links_that_are_not_there_are_refused(lab: Lab) -> None:
    lab.add_link("edge", "agent")
    stranger = RelayDirection(relay_of(lab).relay, LinkPlace(99, "forward"), "forward of link 99")
    with pytest.raises(KernelError, match="cannot change forward of link 99: the relay has no link 99"):
        stranger.apply(QdiscState())
    with pytest.raises(KernelError, match="the relay has no link 99"):
        stranger.counters()
    lab.check()
