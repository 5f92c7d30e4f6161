"""The shim between two veths that stand for real network cards, and between a card and a TAP."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from orphans import Orphans

from netlab.errors import KernelError, SpecError
from netlab.namespaces.node import Node
from netlab.namespaces.offload import read_offloads, switch_offloads_off
from netlab.namespaces.relay.shim import Shim
from netlab.namespaces.relay.shim_port import parse_port
from netlab.namespaces.rtnetlink import RouteSocket
from netlab.traces.model.link_model import LinkModel
from netlab.traces.qdisc_state import QdiscState

ALWAYS = 2**32 - 1
PORT = 7
SIDES = {"left": ("card0", "192.0.2.1"), "right": ("card1", "192.0.2.2")}
FRAME_BYTES = 14 + 20 + 8 + 4


class Far(NamedTuple):
    """A host beyond a card."""

    node: Node
    address: str

    def udp(self, port: int = 0) -> socket.socket:
        sock = self.node.namespace.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
        sock.settimeout(30)
        sock.bind((self.address, port))
        return sock


@pytest.fixture
def routes() -> Iterator[RouteSocket]:
    with RouteSocket.open() as opened:
        yield opened


@pytest.fixture
def far(routes: RouteSocket) -> Iterator[tuple[Far, Far]]:
    """Two hosts whose wires end in cards of this machine; nothing between the cards."""
    nodes = []
    for side, (card, address) in SIDES.items():
        node = Node.open(side)
        nodes.append(Far(node, address))
        routes.add_veth(card, "eth0", peer_netns_fd=node.namespace.fd)
        index = node.routes.link_index("eth0")
        switch_offloads_off(node.routes, "eth0")  # what is on a real wire has no super-packets
        node.routes.set_up(index)
        routes.set_up(routes.link_index(card))
        node.routes.add_address(index, address, 24)
    try:
        yield nodes[0], nodes[1]
    finally:
        for card, _ in SIDES.values():
            routes.delete_link(routes.link_index(card))
        for one in nodes:
            one.node.close()


def open_shim(first: str = "card0", second: str = "card1") -> Shim:
    return Shim((parse_port(first), parse_port(second))).open()


def test_arp_udp_and_tcp_pass_as_over_a_cable(far: tuple[Far, Far]) -> None:
    left, right = far
    with open_shim() as shim:
        shim.join()
        with left.udp(PORT) as one, right.udp(PORT) as other:
            for _ in range(3):
                one.sendto(b"there", (right.address, PORT))
                assert other.recvfrom(16) == (b"there", (left.address, PORT))
                other.sendto(b"back", (left.address, PORT))
                assert one.recvfrom(16) == (b"back", (right.address, PORT))
        assert tcp_bytes(left, right, 1_000_000) == 1_000_000
        counts = shim.directions["forward"].counters()
        # Each frame once: what the shim sends it does not read again.
        assert counts.received == counts.delivered
        assert (counts.oversized, counts.refused) == (0, 0)
        quiet = counts.received
        time.sleep(0.3)
        assert shim.directions["forward"].counters().received <= quiet + 2


def tcp_bytes(sender: Far, receiver: Far, size: int) -> int:
    server = receiver.node.namespace.call(lambda: socket.create_server((receiver.address, 5001)))
    data = os.urandom(size)

    def push() -> None:
        with sender.node.namespace.call(lambda: socket.create_connection((receiver.address, 5001), 30)) as out:
            out.sendall(data)

    pusher = threading.Thread(target=push)
    pusher.start()
    received = b""
    with server:
        server.settimeout(30)
        incoming, _ = server.accept()
        with incoming:
            incoming.settimeout(60)
            while piece := incoming.recv(1 << 16):
                received += piece
    pusher.join()
    assert received == data
    return len(received)


def test_losses_are_the_models(far: tuple[Far, Far]) -> None:
    left, right = far
    state = QdiscState(latency_ns=2_000_000, loss=ALWAYS // 5, seed=21)
    with open_shim() as shim:
        shim.join()
        with left.udp(PORT) as one, right.udp(PORT) as other:
            one.sendto(b"ARP first", (right.address, PORT))
            assert other.recv(16) == b"ARP first"
            shim.directions["forward"].apply(state)
            before = shim.directions["forward"].counters().received
            for number in range(500):
                one.sendto(number.to_bytes(4, "big"), (right.address, PORT))
                time.sleep(0.0002)
            deadline_s = time.monotonic() + 60
            while (counts := shim.directions["forward"].counters()).received < before + 500 or counts.held:
                assert time.monotonic() < deadline_s
                time.sleep(0.01)
            other.settimeout(0.1)
            arrived = []
            with pytest.raises(TimeoutError):
                while True:
                    arrived.append(int.from_bytes(other.recv(16), "big"))
    model = LinkModel(state)
    assert arrived == [number for number in range(500) if model.enqueue(number * 10**9, FRAME_BYTES).copies]


def test_vlan_tags_pass(far: tuple[Far, Far]) -> None:
    left, right = far

    def open_raw() -> socket.socket:
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        raw.setsockopt(263, 8, 1)  # PACKET_AUXDATA: the tag beside the frame
        raw.bind(("eth0", 0x0003))
        raw.settimeout(30)
        return raw

    with (
        open_shim() as shim,
        left.node.namespace.call(open_raw) as one,
        right.node.namespace.call(open_raw) as other,
    ):
        shim.join()
        body = b"\x88\xb5" + os.urandom(60)
        one.send(b"\xff" * 6 + bytes.fromhex("02000000000a") + b"\x81\x00\x20\x2a" + body)
        while True:
            frame, ancillary, _, _ = other.recvmsg(2000, 64)
            if frame[12:] == body:
                break
        tag = int.from_bytes(ancillary[0][2][16:18], sys.byteorder)
        assert tag == 0x202A


def test_offloads_are_restored_and_cards_no_longer_promiscuous(far: tuple[Far, Far], routes: RouteSocket) -> None:
    before = read_offloads(routes, "card0")
    assert any(before)
    with open_shim() as shim:
        assert not any(read_offloads(routes, "card0"))
        shim.join()
    assert read_offloads(routes, "card0") == before


def test_card_and_tap(far: tuple[Far, Far], routes: RouteSocket) -> None:
    left, _ = far
    with open_shim("tap:local0", "card0") as shim:
        shim.join()
        index = routes.link_index("local0")
        routes.add_address(index, "192.0.2.9", 24)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as local, left.udp(PORT) as other:
            local.bind(("192.0.2.9", 0))
            local.sendto(b"hello", (left.address, PORT))
            assert other.recv(16) == b"hello"
    with pytest.raises(KernelError):
        routes.link_index("local0")


@pytest.mark.parametrize(
    ("ports", "error", "words", "hint"),
    [
        (("card0", "card0"), SpecError, "both ports are card0", ""),
        (("card0", "crad1"), KernelError, "cannot use crad1: No such device", "did you mean 'card1'"),
        (("card0", "tap:card1"), KernelError, "an interface of this name is there", "without tap:"),
        (("card0", "lo"), SpecError, "lo is no Ethernet interface", "tap:NAME"),
    ],
)
def test_ports_that_cannot_be(
    far: tuple[Far, Far], ports: tuple[str, str], error: type[Exception], words: str, hint: str
) -> None:
    with pytest.raises(error, match=words) as caught:
        open_shim(*ports)
    assert hint in getattr(caught.value, "hint", "")


def test_interface_with_the_default_route(far: tuple[Far, Far], routes: RouteSocket) -> None:
    index = routes.link_index("card0")
    routes.add_address(index, "192.0.2.8", 24)
    routes.add_route(index, "0.0.0.0", 0, "192.0.2.1")
    with pytest.raises(SpecError, match="card0 carries this machine's default route") as caught:
        open_shim()
    assert "--force" in caught.value.hint
    with Shim((parse_port("card0"), parse_port("card1"))).open(force=True) as shim:
        shim.join()


def test_interface_that_is_down(far: tuple[Far, Far], routes: RouteSocket) -> None:
    routes.set_down(routes.link_index("card1"))
    with pytest.raises(KernelError, match="cannot use card1: Network is down") as caught:
        open_shim()
    assert caught.value.hint == "ip link set card1 up"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_command(far: tuple[Far, Far], routes: RouteSocket, number: int) -> None:
    left, right = far
    before = read_offloads(routes, "card1")
    words = ["shim", "card0", "card1", "--profile", "delay=20ms", "--json"]
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "netlab", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as command:
        with left.udp(PORT) as one, right.udp(PORT) as other:
            one.settimeout(0.1)
            other.settimeout(0.1)
            deadline_s = time.monotonic() + 60
            while time.monotonic() < deadline_s:
                one.sendto(b"x", (right.address, PORT))
                try:
                    other.recv(4)
                    break
                except TimeoutError:
                    continue
            other.settimeout(30)
            begin_s = time.monotonic()
            one.sendto(b"y", (right.address, PORT))
            while other.recv(4) != b"y":
                continue
            assert time.monotonic() - begin_s >= 0.02
        command.send_signal(number)
        output, errors = command.communicate(timeout=60)
    assert command.returncode == 0, errors
    report = json.loads(output)
    assert report["ports"] == ["card0", "card1"]
    assert report["forward"]["delivered"] >= 2
    assert read_offloads(routes, "card1") == before


def test_killed_command_leaves_no_tap(far: tuple[Far, Far], routes: RouteSocket) -> None:
    words = ["shim", "tap:local0", "card0", "--profile", "delay=20ms"]
    orphans = Orphans()
    with subprocess.Popen([sys.executable, "-P", "-m", "netlab", *words], stderr=subprocess.DEVNULL) as command:
        deadline_s = time.monotonic() + 60
        while not has_interface(routes, "local0") and time.monotonic() < deadline_s:
            time.sleep(0.02)
        assert has_interface(routes, "local0")
        command.kill()
    while has_interface(routes, "local0") and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert not has_interface(routes, "local0")
    orphans.bury()


def test_killed_command_leaves_the_offloads_as_they_were(far: tuple[Far, Far], routes: RouteSocket) -> None:
    before = read_offloads(routes, "card0")
    assert any(before)
    words = ["shim", "card0", "card1", "--profile", "delay=20ms"]
    orphans = Orphans()
    with subprocess.Popen([sys.executable, "-P", "-m", "netlab", *words], stderr=subprocess.DEVNULL) as command:
        deadline_s = time.monotonic() + 60
        while (
            any(any(read_offloads(routes, card)) for card in ("card0", "card1")) and time.monotonic() < deadline_s
        ):
            time.sleep(0.02)
        command.kill()
    while read_offloads(routes, "card0") != before and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert read_offloads(routes, "card0") == before
    assert read_offloads(routes, "card1") == before
    orphans.bury()


def has_interface(routes: RouteSocket, name: str) -> bool:
    return any(entry.name == name for entry in routes.links())


def test_interface_that_is_deleted_ends_the_shim(far: tuple[Far, Far], routes: RouteSocket) -> None:
    routes.add_veth("spare0", "spare1")
    for name in ("spare0", "spare1"):
        routes.set_up(routes.link_index(name))
    with open_shim("card0", "spare0") as shim:
        shim.join()
        shim.check()
        routes.delete_link(routes.link_index("spare0"))
        with pytest.raises(KernelError, match="cannot find the interface spare0"):
            shim.check()
    assert any(read_offloads(routes, "card0"))


def test_command_refuses(far: tuple[Far, Far]) -> None:
    words = ["shim", "card0", "crad1", "--profile", "delay=20ms"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "netlab", *words], capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "netlab: cannot use crad1: No such device",
        "hint: did you mean 'card1'?; tap:crad1 would make one",
    ]


def test_a_second_shim_on_an_interface_is_refused(far: tuple[Far, Far]) -> None:
    with open_shim("card0", "tap:local0"):
        with pytest.raises(KernelError, match="cannot use card0: another shim lies there"):
            open_shim("card0", "card1")
        with open_shim("card1", "tap:local1"):  # others are free
            pass
    with open_shim("card0", "card1"):  # and so is this one now
        pass


@pytest.mark.parametrize("vanishes", ["port", "relay"])
def test_the_command_says_what_was_done_when_something_vanishes(
    far: tuple[Far, Far], routes: RouteSocket, vanishes: str
) -> None:
    words = ["shim", "card0", "tap:local0", "--profile", "delay=20ms", "--json"]
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "netlab", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as command:
        assert command.stderr is not None
        command.stderr.readline()  # counters: frames pass
        if vanishes == "port":
            routes.delete_link(routes.link_index("local0"))
        else:
            (relay,) = (
                int(pid)
                for children in Path(f"/proc/{command.pid}/task").glob("*/children")
                for pid in children.read_text().split()
            )
            os.kill(relay, signal.SIGKILL)
        output, errors = command.communicate(timeout=60)
    assert command.returncode == 1
    assert b"netlab: " in errors and b"Traceback" not in errors
    assert json.loads(output)["ports"] == ["card0", "local0"]
