"""A shared medium: one rate and one queue for several links, before what each does by itself."""

from __future__ import annotations

import random
import socket
import statistics
import struct
import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from netlab.errors import KernelError, ProfileError, SpecError
from netlab.lab import Lab
from netlab.lab_links import LinkOrder
from netlab.namespaces.host import Host
from netlab.namespaces.kernel_wire import KernelWire
from netlab.traces.profile import LinkProfile
from netlab.traces.seed import link_seed

PORT = 7
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
HEADERS_BYTES = 14 + 20 + 8
"""What netem counts beside a datagram's payload: Ethernet, IPv4 and UDP."""


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(seed=5) as opened:
        yield opened


def _star(lab: Lab, count: int, impairment: object = None, medium: str = "ap") -> tuple[Host, list[Host]]:
    hub = lab.add_host("hub")
    robots = [lab.add_host(f"robot{number}") for number in range(count)]
    lab.add_links([LinkOrder(robot, hub, impairment, medium=medium) for robot in robots])  # type: ignore[arg-type]
    return hub, robots


def _udp(host: Host, timeout_s: float = 30.0) -> socket.socket:
    sock = host.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    # Beyond the machine's usual limits: what is lost is lost in the medium.
    sock.settimeout(timeout_s)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 23)
    sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 23)
    sock.bind(("0.0.0.0", PORT))
    return sock


def _seconds_to(sender: socket.socket, receiver: socket.socket, address: str) -> float:
    """Send one small datagram and return how long it took."""
    began_s = time.perf_counter()
    sender.sendto(b"x", (address, PORT))
    receiver.recv(2000)
    return time.perf_counter() - began_s


def _burst(sender: socket.socket, address: str, count: int, size_bytes: int) -> None:
    for _ in range(count):
        sender.sendto(bytes(size_bytes), (address, PORT))


def test_every_pair_reaches_each_other_and_nobody_else(lab: Lab) -> None:
    lab.add_medium("ap", rate_bps=1e9)
    hub, robots = _star(lab, 300)
    with _udp(hub) as centre:
        for number, robot in enumerate(robots):
            if number % 37 and number < 250:
                continue  # numbers beyond 255 share buckets with the first
            with _udp(robot) as one:
                one.sendto(robot.name.encode(), (robot.address_of("hub"), PORT))
                data, sender = centre.recvfrom(100)
                assert (data, sender[0]) == (robot.name.encode(), robot.address)
                centre.sendto(b"back", sender)
                assert one.recv(100) == b"back"
        centre.setblocking(False)
        with pytest.raises(BlockingIOError):
            centre.recv(100)


def test_load_on_one_link_delays_another_by_the_queue(lab: Lab) -> None:
    queue, size_bytes = 100, 1000
    rate_bps = 8e5  # a packet of 1000 bytes in 10 ms
    lab.add_medium("ap", rate_bps=rate_bps, queue_packets=queue)
    hub, robots = _star(lab, 3)
    outside = lab.add_host("outside")
    lab.add_link(outside, hub)
    with _udp(hub, 5) as centre, _udp(robots[0]) as busy, _udp(robots[1], 5) as quiet, _udp(outside) as other:
        # The best of three each time: a busy machine makes others late.
        assert min(_seconds_to(quiet, centre, robots[1].address_of("hub")) for _ in range(3)) < 0.1
        load = 60
        expected_s = load * size_bytes * 8 / rate_bps
        waited_s = []
        for _ in range(3):
            began_s = time.perf_counter()
            _burst(busy, robots[0].address_of("hub"), load, size_bytes - HEADERS_BYTES)
            # Half duplex: what the hub sends to a quiet robot waits behind what another robot sends to the hub.
            _seconds_to(centre, quiet, hub.address_of("robot1"))
            waited_s.append(time.perf_counter() - began_s)
            if waited_s[-1] < expected_s + 0.15:
                break
        print(f"waited {waited_s} s, expected {expected_s:.3f} s")
        assert expected_s - 0.05 <= min(waited_s) < expected_s + 0.15
        _burst(busy, robots[0].address_of("hub"), load, size_bytes - HEADERS_BYTES)
        assert min(_seconds_to(centre, other, hub.address_of("outside")) for _ in range(3)) < 0.1


def test_the_queue_is_as_long_as_asked_for(lab: Lab) -> None:
    medium = lab.add_medium("ap", rate_bps=8e6, queue_packets=50)
    hub, robots = _star(lab, 2)
    with _udp(hub, 1) as centre, _udp(robots[0]) as one, _udp(robots[1]) as two:
        for number in range(100):
            for sender, robot in ((one, robots[0]), (two, robots[1])):
                sender.sendto(struct.pack("!I", number) + bytes(954), (robot.address_of("hub"), PORT))
        arrived = 0
        try:
            while True:
                centre.recv(2000)
                arrived += 1
        except TimeoutError:
            pass
    counters = medium.impairer.counters()
    # 50 wait; some left while 200 were being sent, 1 ms each.
    assert 50 <= arrived < 150
    assert counters.sent_packets == arrived
    assert counters.dropped == 200 - arrived


def test_equal_senders_get_equal_shares(lab: Lab) -> None:
    senders, seconds = 4, 4.0
    rate_bps, size_bytes = 4e6, 500  # 1,000 packets a second for all
    lab.add_medium("ap", rate_bps=rate_bps, queue_packets=50)
    hub, robots = _star(lab, senders)
    sockets = [_udp(robot) for robot in robots]
    addresses = [robot.address_of("hub") for robot in robots]
    try:
        with _udp(hub, 0.5) as centre:
            counts = _received_while(centre, lambda: _send_poisson(sockets, addresses, 1600, seconds, size_bytes))
    finally:
        for one in sockets:
            one.close()
    total = sum(counts.values())
    shares = [counts[robot.address] / total for robot in robots]
    expected = 1 / senders
    # Independent arrivals, 1.6 times what the medium carries: a share is binomial with n = total, p = 1/4, and
    # 5 standard deviations are left by chance once in a million (drops come in runs: twice that is allowed).
    bound = 2 * 5 * (expected * (1 - expected) / total) ** 0.5
    print(f"n = {total}, shares {[round(share, 4) for share in shares]}, bound {bound:.4f}")
    assert all(abs(share - expected) < bound for share in shares)
    carried_bps = total * size_bytes * 8 / seconds
    assert 0.7 * rate_bps < carried_bps < 1.1 * rate_bps  # less where a busy machine sends nothing for a while


def _send_poisson(
    sockets: Sequence[socket.socket], addresses: Sequence[str], packets_per_s: float, seconds: float, size: int
) -> None:
    """Send from senders drawn at random, at random times."""
    draw = random.Random(11)
    at_s = began_s = time.perf_counter()
    while at_s < began_s + seconds:
        at_s += draw.expovariate(packets_per_s)
        wait_s = at_s - time.perf_counter()
        if wait_s > 0:
            time.sleep(wait_s)
        number = draw.randrange(len(sockets))
        sockets[number].sendto(bytes(size - HEADERS_BYTES), (addresses[number], PORT))


def _received_while(centre: socket.socket, send: object) -> dict[str, int]:
    """Count what arrives by sender until nothing has for half a second."""
    thread = threading.Thread(target=send)  # type: ignore[arg-type]
    thread.start()
    counts: dict[str, int] = {}
    while True:
        try:
            sender = centre.recvfrom(2000)[1][0]
        except TimeoutError:
            if not thread.is_alive():
                break
            continue
        counts[sender] = counts.get(sender, 0) + 1
    thread.join()
    return counts


def test_own_delay_and_loss_still_hold(lab: Lab) -> None:
    lab.add_medium("ap", rate_bps=1e8)
    hub, robots = _star(lab, 2, LinkProfile(delay_s=0.05))
    lossy = lab.add_host("lossy")
    lab.add_link(lossy, hub, LinkProfile(loss=0.2), medium="ap")
    with _udp(hub, 1) as centre, _udp(robots[0]) as one, _udp(lossy) as two:
        times_s = [_seconds_to(one, centre, robots[0].address_of("hub")) for _ in range(20)]
        assert min(times_s) >= 0.05
        assert statistics.median(times_s) < 0.1
        for number in range(1000):
            two.sendto(struct.pack("!I", number), (lossy.address_of("hub"), PORT))
            if number % 50 == 0:
                time.sleep(0.01)
        arrived = 0
        try:
            while True:
                centre.recv(100)
                arrived += 1
        except TimeoutError:
            pass
    # n = 1000, p = 0.2: 99.9999 % of the time within 200 +- 62.
    assert 738 <= arrived <= 862


def test_a_medium_changes_no_fate_of_a_link() -> None:
    patterns = []
    for medium in ("", "ap"):
        with Lab(seed=3) as lab:
            lab.add_medium("ap", rate_bps=1e9)
            hub, robots = _star(lab, 1, LinkProfile(loss=0.1), medium=medium)
            assert lab.links["robot0-hub"].read().forward.seed == link_seed(3, "robot0-hub", "forward", 0)  # type: ignore[union-attr]
            with _udp(hub, 0.5) as centre, _udp(robots[0]) as one:
                for number in range(400):
                    one.sendto(struct.pack("!I", number), (robots[0].address_of("hub"), PORT))
                    if number % 50 == 0:
                        time.sleep(0.01)
                arrived = []
                try:
                    while True:
                        arrived.append(struct.unpack("!I", centre.recv(100))[0])
                except TimeoutError:
                    patterns.append(arrived)
    assert patterns[0] == patterns[1]
    assert len(patterns[0]) < 400


def test_the_rate_changes_in_place_and_reads_back(lab: Lab) -> None:
    medium = lab.add_medium("ap", rate_bps=8e5, queue_packets=77)
    hub, robots = _star(lab, 1)
    link = lab.links["robot0-hub"]
    assert link.medium is medium
    assert lab.media == {"ap": medium}
    assert (medium.read().rate_bytes_per_s, medium.read().limit_packets) == (100_000, 77)
    with _udp(hub, 5) as centre, _udp(robots[0]) as one:
        _burst(one, robots[0].address_of("hub"), 20, 958)
        medium.apply(rate_bps=8e6)
        for _ in range(20):
            centre.recv(2000)  # none in the queue is lost
        began_s = time.perf_counter()
        _burst(one, robots[0].address_of("hub"), 50, 958)
        for _ in range(50):
            centre.recv(2000)
        took_s = time.perf_counter() - began_s
    assert 0.045 <= took_s < 0.4  # 50 packets of 1 ms; at the old rate half a second
    reading = lab.read()
    assert reading.media["ap"].rate_bytes_per_s == 1_000_000
    assert reading.media["ap"].limit_packets == 77
    assert reading.links == {"robot0-hub": (None, None)}
    medium.apply(queue_packets=5)
    assert (medium.rate_bps, medium.queue_packets) == (8e6, 5)
    with pytest.raises(ProfileError):
        medium.apply(rate_bps=0)
    assert medium.read().rate_bytes_per_s == 1_000_000


def test_a_link_that_fails_in_a_medium_leaves_it_as_it_was(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.add_medium("ap", rate_bps=1e8)
    hub, robots = _star(lab, 1)
    late = [lab.add_host(f"late{number}") for number in range(3)]
    orders = [LinkOrder(one, hub, medium="ap") for one in late]
    original = KernelWire.join

    def fail(*arguments: object) -> None:
        original(*arguments)  # type: ignore[arg-type]
        raise KernelError("do it", 105)

    with monkeypatch.context() as patch:
        patch.setattr(KernelWire, "join", fail)
        with pytest.raises(KernelError):
            lab.add_links(orders)
    assert list(lab.links) == ["robot0-hub"]
    lab.add_links(orders)
    with _udp(hub) as centre:
        for robot in (*robots, *late):
            with _udp(robot) as one:
                assert _seconds_to(one, centre, robot.address_of("hub")) < 1


def test_two_media_do_not_meet(lab: Lab) -> None:
    lab.add_medium("slow", rate_bps=8e4)
    lab.add_medium("fast", rate_bps=1e9)
    hub = lab.add_host("hub")
    one, two = lab.add_host("one"), lab.add_host("two")
    lab.add_links([LinkOrder(one, hub, medium="slow"), LinkOrder(two, hub, medium="fast")])
    with _udp(hub) as centre, _udp(one) as left, _udp(two) as right:
        _burst(left, one.address_of("hub"), 10, 958)  # a second
        assert _seconds_to(right, centre, two.address_of("hub")) < 0.5


def test_bad_media(lab: Lab) -> None:
    lab.add_medium("ap", rate_bps=1e6)
    lab.add_host("a")
    lab.add_host("b")
    with pytest.raises(SpecError, match="'ap' is a medium of this lab already"):
        lab.add_medium("ap", rate_bps=1e6)
    for rate_bps in (0, -1, float("nan"), "fast"):
        with pytest.raises(ProfileError, match="rate_bps"):
            lab.add_medium("other", rate_bps=rate_bps)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="'app' is no medium of lab") as caught:
        lab.add_link("a", "b", medium="app")
    assert caught.value.hint == "did you mean 'ap'?"
    assert list(lab.media) == ["ap"]
    lab.add_medium("other", rate_bps=1e6)
