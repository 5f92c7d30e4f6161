"""One lab seed, two wirings: the kernel's netem and a relay lose and double the same packets."""

from __future__ import annotations

import socket
import time

import pytest

from netlab.lab import Lab
from netlab.lab_impairment import Impairment
from netlab.namespaces.host import Host
from netlab.namespaces.kernel_wire import KernelWiring
from netlab.namespaces.relay.wiring import RelayWiring
from netlab.namespaces.wire import Wiring
from netlab.traces.qdisc_state import QdiscState

PORT = 7
PACKETS = 400
ALWAYS = 2**32 - 1


def udp(host: Host, port: int = 0) -> socket.socket:
    sock = host.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
    sock.bind((host.address, port))
    return sock


def arrivals(wiring: Wiring, impairment: Impairment) -> list[int]:
    """Send numbered packets through a fresh lab; return the numbers in the order they arrive."""
    arrived: list[int] = []
    with Lab(seed=77, wiring=wiring) as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        lab.add_link(edge, agent, impairment)
        with udp(edge) as one, udp(agent, PORT) as other:
            for number in range(PACKETS):
                one.sendto(number.to_bytes(4, "big"), (agent.address, PORT))
                time.sleep(0.0005)
            other.settimeout(1.0)
            with pytest.raises(TimeoutError):
                while True:
                    arrived.append(int.from_bytes(other.recv(16), "big"))
    return arrived


@pytest.mark.parametrize(
    "impairment",
    [
        pytest.param("delay=5ms,loss=10%", id="loss-ordered"),
        pytest.param("wifi-degraded", id="preset"),
        pytest.param(
            QdiscState(latency_ns=5_000_000, loss=ALWAYS // 9, duplicate=ALWAYS // 7, seed=8),
            id="loss-and-duplicates",
        ),
    ],
)
def test_same_packets_arrive(impairment: Impairment) -> None:
    by_kernel, by_relay = arrivals(KernelWiring(), impairment), arrivals(RelayWiring(), impairment)
    assert 0 < len(by_kernel) != PACKETS
    # Which of two overtakes the other hangs on when exactly they were sent, what arrives does not.
    assert sorted(by_relay) == sorted(by_kernel)
