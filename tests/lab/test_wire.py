"""A link without netem: what one host sends is what the other receives."""

from __future__ import annotations

import hashlib
import os
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from netlab.errors import FeatureMissing, KernelError, SpecError
from netlab.lab import Lab
from netlab.namespaces import link_opening
from netlab.namespaces.features import kernel_features
from netlab.namespaces.host import Host
from netlab.namespaces.kernel_objects import INGRESS_HANDLE
from netlab.namespaces.kernel_wire import KernelWire
from netlab.namespaces.offload import read_offloads
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile

IP_RECVTTL = 12
IP_RECVTOS = 13


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(seed=1) as opened:
        yield opened


@pytest.fixture
def hosts(lab: Lab) -> tuple[Host, Host]:
    edge, agent = lab.add_host("edge"), lab.add_host("agent")
    lab.add_link(edge, agent)
    return edge, agent


def _udp(host: Host, port: int = 0) -> socket.socket:
    sock = host.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    sock.settimeout(30)
    sock.bind((host.address, port))
    return sock


def test_first_packet_of_a_fresh_link_arrives_both_ways() -> None:
    # The kernel takes a new veth into use lazily: without care the first packet is lost now and then.
    for _ in range(20):
        with Lab() as lab:
            edge, agent = lab.add_host("edge"), lab.add_host("agent")
            lab.add_link(edge, agent)
            with _udp(edge, 7) as one, _udp(agent, 7) as other:
                one.sendto(b"there", (agent.address, 7))
                assert other.recvfrom(16) == (b"there", (edge.address, 7))
                other.sendto(b"back", (edge.address, 7))
                assert one.recvfrom(16) == (b"back", (agent.address, 7))


def test_ttl_and_tos_arrive_unchanged(hosts: tuple[Host, Host]) -> None:
    edge, agent = hosts
    with _udp(edge) as one, _udp(agent, 7) as other:
        one.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1)  # one router would be too many
        one.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0xB8)
        other.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
        other.setsockopt(socket.IPPROTO_IP, IP_RECVTOS, 1)
        one.sendto(b"x", (agent.address, 7))
        _, ancillary, _, _ = other.recvmsg(16, 200)
        fields = {kind: data for _, kind, data in ancillary}
        assert struct.unpack("i", fields[socket.IP_TTL])[0] == 1
        assert fields[socket.IP_TOS][0] == 0xB8


def test_frames_arrive_unchanged(hosts: tuple[Host, Host]) -> None:
    edge, agent = hosts
    everything = 0x0003

    def open_raw() -> socket.socket:
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(everything))
        raw.bind(("eth0", everything))
        raw.settimeout(30)
        return raw

    with edge.call(open_raw) as one, agent.call(open_raw) as other:
        for kind, size in ((0x88B5, 46), (0x0800, 200), (0x8100, 1500)):
            frame = bytes.fromhex("024e4c00000b024e4c00000a") + kind.to_bytes(2, "big") + os.urandom(size)
            one.send(frame)
            if kind != 0x8100:  # the kernel takes the VLAN tag out and keeps it beside the frame
                assert other.recv(2000) == frame
            else:
                assert other.recv(2000)[12:] == frame[16:]


def test_nothing_is_sent_that_the_hosts_did_not_send(hosts: tuple[Host, Host]) -> None:
    edge, agent = hosts
    with _udp(edge) as one, _udp(agent, 7) as other:
        one.sendto(b"x", (agent.address, 7))
        other.recv(16)

    def count(host: Host) -> tuple[int, int]:
        line = next(line for line in host.call(_device_lines) if line.strip().startswith("eth0:"))
        fields = line.split(":")[1].split()
        return int(fields[1]), int(fields[9])

    # No ARP, no neighbour or router solicitation, no multicast report: one packet, one way.
    assert count(edge) == (0, 1)
    assert count(agent) == (1, 0)


def _device_lines() -> list[str]:
    return Path("/proc/thread-self/net/dev").read_text().splitlines()


def test_ping(hosts: tuple[Host, Host]) -> None:
    edge, agent = hosts
    with edge.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)) as raw:
        raw.settimeout(30)
        body = struct.pack("!HH", 77, 1) + b"ping" * 10
        words = struct.unpack(f"!{len(body) // 2}H", body)
        total = 0x0800 + sum(words)
        checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
        raw.sendto(struct.pack("!BBH", 8, 0, checksum) + body, (agent.address, 0))
        reply = raw.recv(200)
        assert (reply[20], reply[24:]) == (0, body)


def test_fragments_of_a_large_datagram(hosts: tuple[Host, Host]) -> None:
    edge, agent = hosts
    data = os.urandom(60_000)
    with _udp(edge) as one, _udp(agent, 7) as other:
        one.setsockopt(socket.IPPROTO_IP, 10, 0)  # IP_MTU_DISCOVER: fragments are allowed
        one.sendto(data, (agent.address, 7))
        assert other.recv(65536) == data


@pytest.mark.parametrize("upload", [True, False])
def test_five_megabytes_of_tcp_arrive_intact(hosts: tuple[Host, Host], upload: bool) -> None:
    sender, receiver = hosts if upload else hosts[::-1]
    assert _tcp_transfer(sender, receiver, 5_000_000) == 5_000_000


def _tcp_transfer(sender: Host, receiver: Host, size: int) -> int:
    """Send random bytes; return how many arrived, checked by their digest."""
    data = os.urandom(size)
    server = receiver.call(lambda: socket.create_server((receiver.address, 5001)))
    sent = hashlib.sha256(data).digest()

    def push() -> None:
        with sender.call(lambda: socket.create_connection((receiver.address, 5001), 10)) as out:
            out.sendall(data)

    pusher = threading.Thread(target=push)
    pusher.start()
    received, digest = 0, hashlib.sha256()
    with server:
        incoming, _ = server.accept()
        with incoming:
            incoming.settimeout(60)
            while piece := incoming.recv(1 << 16):
                digest.update(piece)
                received += len(piece)
    pusher.join()
    assert digest.digest() == sent
    return received


@pytest.mark.parametrize("mtu", [576, 1500, 9000, 65535])
def test_mtu_holds_on_every_hop(mtu: int) -> None:
    with Lab() as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        lab.add_link(edge, agent, mtu=mtu)
        largest = min(mtu - 28, 65507)
        with _udp(edge) as one, _udp(agent, 7) as other:
            ip_mtu_discover, pmtudisc_do = 10, 2
            one.setsockopt(socket.IPPROTO_IP, ip_mtu_discover, pmtudisc_do)
            one.sendto(b"m" * largest, (agent.address, 7))
            assert len(other.recv(70000)) == largest
            if mtu < 65535:
                with pytest.raises(OSError, match="too long"):
                    one.sendto(b"m" * (largest + 1), (agent.address, 7))
        assert _tcp_transfer(edge, agent, 200_000) == 200_000


def test_no_packet_larger_than_the_mtu_reaches_the_wire(hosts: tuple[Host, Host], lab: Lab) -> None:
    wire = lab.links["edge-agent"].wire
    inner = [lab.links["edge-agent"].plan.first.wire_interface, lab.links["edge-agent"].plan.second.wire_interface]
    for host in hosts:
        assert not any(read_offloads(host.node.routes, "eth0"))
    for name in inner:
        assert not any(read_offloads(wire.routes, name))

    def open_raw() -> socket.socket:
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        raw.bind((inner[0], 0x0003))
        raw.settimeout(0.5)
        return raw

    with wire.namespace.call(open_raw) as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        _tcp_transfer(hosts[0], hosts[1], 1_000_000)
        lengths = []
        with pytest.raises(TimeoutError):
            while True:
                lengths.append(len(raw.recv(70000)))
    assert len(lengths) > 500
    assert max(lengths) == 1514


def test_clean_link_has_no_egress_qdisc(hosts: tuple[Host, Host], lab: Lab) -> None:
    link = lab.links["edge-agent"]
    assert (link.forward, link.back) == (None, None)
    assert link.read() == (None, None)
    for end in (link.plan.first, link.plan.second):
        kinds = {entry.kind: entry.handle for entry in link.wire.routes.qdisc_dump(end.wire_index)}
        assert kinds == {"noqueue": 0, "ingress": INGRESS_HANDLE}
    for host in hosts:
        assert {entry.kind: entry.handle for entry in host.node.routes.qdisc_dump(101)} == {"noqueue": 0}


def test_names_numbers_and_addresses(lab: Lab) -> None:
    edge, agent, third = lab.add_host("edge"), lab.add_host("agent"), lab.add_host("third")
    lab.add_link(edge, agent)
    lab.add_link(third, edge, name="side")
    listed = [(one.name, one.mac, one.mtu, one.up) for one in edge.node.routes.links() if one.kind == "veth"]
    assert listed == [
        ("eth0", "02:4e:4c:00:00:0a", 1500, True),
        ("eth1", "02:4e:4c:00:01:0b", 1500, True),
    ]
    wire = [one.name for one in lab.links["side"].wire.routes.links() if one.kind == "veth"]
    assert wire == [f"nl{lab.id}-{end}" for end in ("0a", "0b", "1a", "1b")]
    assert (edge.address, agent.address, third.address) == ("10.77.0.1", "10.77.0.2", "10.77.0.5")
    assert third.address_of("edge") == "10.77.0.6"
    with edge.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as other, _udp(third) as one:
        other.settimeout(30)
        other.bind(("10.77.0.6", 8))
        one.sendto(b"side", ("10.77.0.6", 8))
        assert other.recv(16) == b"side"


def test_hosts_reach_their_neighbours_alone(hosts: tuple[Host, Host]) -> None:
    edge, _ = hosts
    with _udp(edge) as one, pytest.raises(OSError, match="unreachable"):
        one.sendto(b"x", ("192.0.2.1", 7))


def test_impaired_link_on_a_kernel_without_netem(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = msgspec.structs.replace(
        kernel_features(), release="6.0-small", netem=False, veth=True, redirect=True
    )
    monkeypatch.setattr("netlab.namespaces.kernel_wire.kernel_features", lambda: lacking)
    lab.add_host("edge")
    lab.add_host("agent")
    for impairment in ("wifi-degraded", ProfilePair("half", LinkProfile(), LinkProfile(delay_s=0.1))):
        with pytest.raises(FeatureMissing, match=r"kernel 6\.0-small: it lacks sch_netem") as caught:
            lab.add_link("edge", "agent", impairment)
        assert "--on guest" in caught.value.hint
        assert _nothing_of_a_link(lab)
    with pytest.raises(FeatureMissing, match="it lacks sch_netem"):
        lab.add_medium("ap", rate_bps=1e6)
    assert lab.media == {}
    link = lab.add_link("edge", "agent", "delay=0")  # asks for nothing, so nothing is lacking
    with pytest.raises(FeatureMissing, match="it lacks sch_netem"):
        link.apply(LinkProfile(delay_s=0.1))
    assert link.read() == (None, None)


@pytest.mark.parametrize(
    ("owner", "step"), [(KernelWire, "lay"), (KernelWire, "join"), (link_opening, "give_addresses")]
)
@pytest.mark.parametrize("problem", [KernelError("do it", 105), KeyboardInterrupt()])
def test_a_link_that_fails_on_the_way_leaves_nothing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, owner: object, step: str, problem: BaseException
) -> None:
    edge, agent = lab.add_host("edge"), lab.add_host("agent")
    original = getattr(owner, step)

    def fail(*arguments: object) -> None:
        original(*arguments)
        raise problem

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, fail)
        with pytest.raises(type(problem)):
            lab.add_link(edge, agent)
    assert _nothing_of_a_link(lab)
    lab.add_link(edge, agent)
    with _udp(edge) as one, _udp(agent, 7) as other:
        one.sendto(b"there", (agent.address, 7))
        assert other.recv(16) == b"there"


def test_a_link_whose_second_half_is_refused_leaves_nothing(lab: Lab) -> None:
    edge, agent = lab.add_host("edge"), lab.add_host("agent")
    agent.node.routes.add_veth("eth0", "in-the-way", index=50, peer_index=51)
    with pytest.raises(KernelError, match=r"cannot add the veth pair .* - eth0: File exists") as caught:
        lab.add_link(edge, agent)
    # No note of a clean-up that failed: the hint is the only one.
    assert caught.value.__notes__ == [f"hint: {caught.value.hint}"]
    assert [one.kind for one in edge.node.routes.links()].count("veth") == 0
    agent.node.routes.delete_link(50)
    lab.add_link(edge, agent)


def _nothing_of_a_link(lab: Lab) -> bool:
    nodes = [host.node for host in lab.hosts.values()]
    nodes += [lab._wire] if lab._wire else []
    listed = [one for node in nodes for one in node.routes.links() if one.kind == "veth"]
    attached = [host.attachments for host in lab.hosts.values() if host.attachments]
    return not (listed or attached or lab.links)


def test_bad_mtu(lab: Lab) -> None:
    lab.add_host("edge")
    lab.add_host("agent")
    for mtu in (0, 67, 65536):
        with pytest.raises(SpecError, match=r"link\.mtu: .*must be a whole number, 68 \.\. 65535"):
            lab.add_link("edge", "agent", mtu=mtu)
