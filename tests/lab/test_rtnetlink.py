"""RouteSocket and offloads on this machine's kernel: links, addresses, wires, batches, refusals."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from netlab.errors import FeatureMissing, KernelError
from netlab.namespaces.features import probe_features, require_netem
from netlab.namespaces.kernel_objects import INGRESS_HANDLE, ROOT, LinkEntry
from netlab.namespaces.namespace import Namespace
from netlab.namespaces.offload import Offloads, read_offloads, switch_offloads_off
from netlab.namespaces.rtnetlink import RouteSocket

MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02")


@pytest.fixture
def space() -> Iterator[Namespace]:
    with Namespace.create("test") as space:
        yield space


@pytest.fixture
def route(space: Namespace) -> Iterator[RouteSocket]:
    with RouteSocket.open(space.fd) as route:
        yield route


def inode() -> int:
    return Path("/proc/thread-self/ns/net").stat().st_ino


def descriptors() -> list[str]:
    return sorted(entry.name for entry in Path("/proc/self/fd").iterdir())


def test_opening_leaves_the_caller_where_it_is(space: Namespace) -> None:
    before = inode()
    threads = threading.active_count()
    with RouteSocket.open(space.fd) as route:
        assert [link.name for link in route.links()] == ["lo"]
        assert inode() == before
        assert threading.active_count() == threads
    with RouteSocket.open() as here:
        assert here.link_index("lo") == 1


def test_opening_and_closing_leaks_no_descriptor(space: Namespace) -> None:
    before = descriptors()
    for _ in range(200):
        with RouteSocket.open(space.fd) as route:
            route.links()
    assert descriptors() == before
    route.close()
    assert route.fileno() == -1


def test_a_descriptor_that_is_no_namespace(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file, pytest.raises(KernelError, match="open a netlink socket"):
        RouteSocket.open(file.fileno())
    with pytest.raises(KernelError, match="Bad file descriptor"):
        RouteSocket.open(10_000)


def test_a_pair_is_made_where_it_was_asked_for(route: RouteSocket) -> None:
    with Namespace.create("far") as far, RouteSocket.open(far.fd) as far_route:
        route.add_veth(
            "near0", "far0", peer_netns_fd=far.fd, index=7, peer_index=9, mac=MACS[0], peer_mac=MACS[1], mtu=1400
        )
        assert route.links()[1:] == [LinkEntry(7, "near0", "veth", MACS[0], 1400, False)]
        assert far_route.links()[1:] == [LinkEntry(9, "far0", "veth", MACS[1], 1400, False)]
        route.set_up(7)
        assert route.links()[1].up
        route.set_down(7)
        assert not route.links()[1].up
        assert far_route.link_index("far0") == 9
        route.delete_link(7)
        assert len(far_route.links()) == 1


def test_both_ends_in_other_namespaces(route: RouteSocket) -> None:
    """The wire never sees them: a third namespace's socket makes both ends in place."""
    with Namespace.create("a") as a, Namespace.create("b") as b:
        route.add_veth("x", "x", netns_fd=a.fd, peer_netns_fd=b.fd)
        assert [link.name for link in route.links()] == ["lo"]
        for space in (a, b):
            with RouteSocket.open(space.fd) as inside:
                assert [link.name for link in inside.links()] == ["lo", "x"]


class Wired:
    """Two hosts, a namespace between them that passes everything on, in three batches."""

    def __init__(self, stack: ExitStack) -> None:
        self.spaces = [stack.enter_context(Namespace.create(name)) for name in ("wire", "a", "b")]
        wire, *hosts = (stack.enter_context(RouteSocket.open(space.fd)) for space in self.spaces)
        self.wire = wire
        with wire.batch():
            for number, space in enumerate(self.spaces[1:]):
                wire.add_veth(
                    f"to{number}", "eth0", peer_netns_fd=space.fd, index=2 + number, peer_index=2,
                    peer_mac=MACS[number], gso_max_segs=1,
                )  # fmt: skip
                wire.set_up(2 + number)
            wire.redirect(2, 3)
            wire.redirect(3, 2)
        for number, host in enumerate(hosts):
            with host.batch():
                host.set_up(2)
                host.add_address(2, f"10.9.0.{1 + number}", 30)
                host.add_neighbour(2, f"10.9.0.{2 - number}", MACS[1 - number])
                host.add_route(2, "192.0.2.0", 24, f"10.9.0.{2 - number}")
                host.add_route(2, "198.51.100.0", 24)

    def udp(self, number: int) -> socket.socket:
        made: socket.socket = self.spaces[1 + number].call(
            lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        )
        made.settimeout(30)
        made.bind((f"10.9.0.{1 + number}", 6000))
        return made


def test_packets_cross_a_redirect_both_ways() -> None:
    with ExitStack() as stack:
        wired = Wired(stack)
        a, b = (stack.enter_context(wired.udp(number)) for number in (0, 1))
        for number in range(50):
            a.sendto(f"to b {number}".encode(), ("10.9.0.2", 6000))
            assert b.recv(100) == f"to b {number}".encode()
            b.sendto(f"to a {number}".encode(), ("10.9.0.1", 6000))
            assert a.recv(100) == f"to a {number}".encode()
        # A route decides the source; the packets to a stranger's address cross the wire too.
        b.connect(("192.0.2.7", 1))
        assert b.getsockname()[0] == "10.9.0.2"


def test_a_wire_shows_its_qdiscs() -> None:
    with ExitStack() as stack:
        wire = Wired(stack).wire
        kinds = {(entry.kind, entry.handle) for entry in wire.qdisc_dump(2)}
        assert ("ingress", INGRESS_HANDLE) in kinds
        assert wire.qdisc_dump(99) == []


def test_a_batch_goes_on_after_a_refusal_and_says_so(route: RouteSocket) -> None:
    with pytest.raises(KernelError, match="cannot bring interface 77 up") as caught, route.batch():
        route.set_up(77)
        route.add_veth("a", "b")
        route.set_up(78)
        route.add_veth("a", "c")
    assert caught.value.__notes__[-1:] == ["2 more requests of the same batch were refused"]
    assert [link.name for link in route.links()][1:] in (["b", "a"], ["a", "b"])


def test_a_batch_whose_body_fails_sends_nothing(route: RouteSocket) -> None:
    with pytest.raises(ZeroDivisionError), route.batch():
        route.add_veth("a", "b")
        raise ZeroDivisionError
    assert len(route.links()) == 1
    route.add_veth("a", "b")
    assert len(route.links()) == 3


def test_a_question_inside_a_batch_sees_what_came_before(route: RouteSocket) -> None:
    with route.batch():
        route.add_veth("a", "b", index=5, peer_index=6)
        assert route.link_index("a") == 5


def test_a_batch_inside_a_batch_is_part_of_it(route: RouteSocket) -> None:
    with pytest.raises(ZeroDivisionError), route.batch():
        with route.batch():
            route.add_veth("a", "b")
        raise ZeroDivisionError
    assert len(route.links()) == 1


def test_a_batch_of_any_size(route: RouteSocket) -> None:
    with route.batch():
        for number in range(130):
            route.add_veth(f"a{number}", f"b{number}")
    assert len(route.links()) == 261


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Change threads at nearly every step of Python's."""
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval_s)


def test_threads_that_share_a_socket_get_their_own_answers(route: RouteSocket, hasty_threads: None) -> None:
    """Each refusal reaches who asked for it, and each answer; a batch holds its own thread's requests alone."""
    problems: list[str] = []
    begun = threading.Barrier(5)

    def work(act: Callable[[int], str]) -> None:
        begun.wait()
        for number in range(1500):
            try:
                problem = act(number)
            except KernelError as error:
                problem = f"a stranger's refusal: {error}"
            if problem:
                problems.append(problem)

    def set_up(number: int) -> str:
        route.set_up(1)
        return ""

    def be_refused(number: int) -> str:
        index = 1000 + number
        try:
            route.set_up(index)
        except KernelError as error:
            return "" if f"interface {index} up" in str(error) else f"{index} got {error}"
        return f"{index} was not refused"

    def ask(number: int) -> str:
        return "" if route.link_index("lo") == 1 else "lo is not 1"

    def in_a_batch(number: int) -> str:
        try:
            with route.batch():
                route.set_up(1)
                route.set_up(9000 + number)
                route.set_up(1)
        except KernelError as error:
            return "" if f"interface {9000 + number} up" in str(error) else f"batch {number} got {error}"
        return f"batch {number} was not refused"

    acts = (set_up, be_refused, ask, in_a_batch, in_a_batch)
    threads = [threading.Thread(target=work, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_a_batch_is_its_threads_own(route: RouteSocket) -> None:
    """A request of another thread neither waits for a batch nor goes with it."""
    with pytest.raises(ZeroDivisionError), route.batch():
        route.add_veth("a", "b")
        other = threading.Thread(target=lambda: route.add_veth("c", "d"))
        other.start()
        other.join()
        raise ZeroDivisionError
    assert {link.name for link in route.links()} == {"lo", "c", "d"}


@pytest.mark.parametrize(
    ("attempt", "kind", "message"),
    [
        (lambda r: r.link_index("nix"), KernelError, "cannot find the interface nix: No such device"),
        (lambda r: r.set_up(77), KernelError, "cannot bring interface 77 up"),
        (lambda r: r.add_veth("lo", "b"), KernelError, "cannot add the veth pair lo - b"),
        (lambda r: r.add_address(77, "10.0.0.1", 24), KernelError, "cannot add the address 10.0.0.1/24"),
        (lambda r: r.add_neighbour(77, "10.0.0.1", MACS[0]), KernelError, "cannot add the neighbour 10.0.0.1"),
        (lambda r: r.add_route(1, "10.0.0.0", 8, "192.0.2.1"), KernelError, "cannot add the route to 10.0.0.0/8"),
        (lambda r: r.qdisc_add(1, 0x10000, ROOT, "nosuch", b""), FeatureMissing, "cannot add a nosuch qdisc"),
        (lambda r: r.qdisc_delete(1, 0x10000, ROOT), KernelError, "cannot delete the qdisc 1:"),
        (lambda r: r.qdisc_read(1, 0x10000, ROOT), KernelError, "cannot read the qdisc 1:"),
    ],
)
def test_refusals_say_what_was_tried(
    route: RouteSocket, attempt: object, kind: type[KernelError], message: str
) -> None:
    with pytest.raises(kind) as caught:
        attempt(route)  # type: ignore[operator]
    assert message in str(caught.value)
    assert caught.value.errno


def test_the_kernels_own_words(route: RouteSocket) -> None:
    route.add_veth("a", "b", index=2, peer_index=3)
    route.redirect(2, 3)
    with pytest.raises(KernelError, match="Exclusivity flag on, cannot modify \\(EEXIST\\)") as caught:
        route.redirect(2, 3)
    assert "taken" in caught.value.hint


def test_offloads_are_off_and_stay_off(route: RouteSocket) -> None:
    route.add_veth("a", "b")
    assert read_offloads(route, "a").gso
    for name in ("a", "b"):
        switch_offloads_off(route, name)
        assert read_offloads(route, name) == Offloads(tso=False, gso=False, gro=False)


@pytest.mark.parametrize("name", ["nix", "a_name_of_16_chr", "x" * 100])
def test_offloads_of_an_interface_that_is_not_there(route: RouteSocket, name: str) -> None:
    with pytest.raises(KernelError, match="cannot read the offloads of"):
        read_offloads(route, name)
    with pytest.raises(KernelError, match="cannot switch off the offloads of"):
        switch_offloads_off(route, name)


def test_the_probe_tells_what_this_kernel_has() -> None:
    features = probe_features()
    assert features.release == os.uname().release
    assert features.veth
    assert ("netem" in features.missing()) == (not features.netem)
    if features.netem and features.redirect:
        require_netem(features)
    else:
        with pytest.raises(FeatureMissing, match="it lacks") as caught:
            require_netem(features)
        assert "--on guest" in caught.value.hint
    if not features.netem:
        assert not (features.seed or features.nanoseconds or features.rate64 or features.slots)
