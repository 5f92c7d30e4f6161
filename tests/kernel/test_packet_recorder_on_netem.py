"""The packet log of real netem: what it says is what the model says of the same state and seed."""

from __future__ import annotations

import socket
import time

import pytest

from netlab.lab import Lab
from netlab.lab_exec import run_exec
from netlab.namespaces.features import kernel_features
from netlab.traces.model.link_model import LinkModel
from netlab.traces.packets.packet_log import PacketLog
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import U32_MAX, QdiscState

PACKETS = 400
LENGTH_BYTES = 14 + 20 + 8 + 60
PERIOD_S = 0.002
STATES = {
    "loss": QdiscState(latency_ns=3_000_000, loss=U32_MAX // 5, seed=11, limit_packets=10_000),
    "duplicate": QdiscState(latency_ns=3_000_000, duplicate=U32_MAX // 10, seed=12, limit_packets=10_000),
    "corrupt": QdiscState(latency_ns=3_000_000, corrupt=U32_MAX // 10, seed=13, limit_packets=10_000),
    "much": QdiscState(
        latency_ns=5_000_000,
        jitter_ns=2_000_000,
        loss=U32_MAX // 10,
        duplicate=U32_MAX // 10,
        seed=14,
        limit_packets=10_000,
    ),
    "everything": QdiscState(
        latency_ns=5_000_000,
        jitter_ns=2_000_000,
        loss=U32_MAX // 10,
        duplicate=U32_MAX // 10,
        corrupt=U32_MAX // 20,
        seed=14,
        limit_packets=10_000,
    ),
}


def model_fates(state: QdiscState) -> list[list[str]]:
    """Return what the log must say of each packet, its further copies included."""
    model = LinkModel(state)
    fates = []
    for number in range(PACKETS):
        copies = sorted(copy.corrupted for copy in model.enqueue(number * 10**9, LENGTH_BYTES).copies)
        first = ["corrupted" if corrupted else "delivered" for corrupted in copies[:1]] or ["lost"]
        fates.append(first + ["duplicate-corrupted" if corrupted else "duplicate" for corrupted in copies[1:]])
    return fates


REFUSED = pytest.mark.real_time("a link that corrupts is refused in virtual time")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=REFUSED) if state.corrupt else name for name, state in STATES.items()]
)
def test_the_log_of_netem_says_what_the_model_says(name: str) -> None:
    if not kernel_features().seed:
        pytest.skip("this kernel's netem has no seed")
    state = STATES[name]
    with Lab() as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        link = lab.add_link(edge, agent)
        link.apply(state, "forward")
        recording = lab.record()
        recording.begin()
        with edge.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
            for number in range(PACKETS):
                sock.sendto(number.to_bytes(60, "big"), (agent.address, 7))
                time.sleep(PERIOD_S)
        time.sleep(0.1)
        log = recording.finish()
    assert "incomplete" not in log.header
    forward = [record for record in log.records if record.direction == "forward"]
    found: list[list[str]] = []
    for record in forward:
        if record.is_further_copy:
            found[-1].append(record.fate)
        else:
            found.append([record.fate])
    assert found == model_fates(state)
    whole = [record.delay_ns for record in forward if record.fate == "delivered"]
    assert all(delay is not None and delay >= state.latency_ns - state.jitter_ns for delay in whole)


def test_links_put_afresh_begin_with_their_next_seeds() -> None:
    if not kernel_features().seed:
        pytest.skip("this kernel's netem has no seed")
    with Lab(seed=3) as lab:
        lab.add_host("edge")
        lab.add_host("agent")
        link = lab.add_link("edge", "agent", "wifi-normal")
        before = link.read()
        lab.restart_links()
        after = link.read()
    assert before.forward is not None and after.forward is not None
    assert before.back is not None and after.back is not None
    assert after.forward == before.forward.replace(seed=after.forward.seed)
    seeds = {one.seed for one in (before.forward, before.back, after.forward, after.back)}
    assert len(seeds) == 4


def test_exec_records_the_packets_of_its_command() -> None:
    logs: list[PacketLog] = []
    command = ["sh", "-c", "ping -c 3 -i 0.05 -q $NETLAB_PEER >/dev/null"]
    assert run_exec(command, LinkProfile(delay_s=0.02), record=logs.append) == 0
    (log,) = logs
    assert [one.direction for one in log.records].count("forward") == 3
    assert {(one.link, one.fate) for one in log.records} == {("exec", "delivered")}
    assert all(one.delay_ns is not None and one.delay_ns >= 20_000_000 for one in log.records)
