"""The prober over real netem: what it measures is what the link was asked for, by its own clock of both ends."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pytest

from netlab.lab import Lab
from netlab.namespaces.host import Host
from netlab.probe.probe_summary import ProbeSummary
from netlab.traces.loss import GilbertElliott
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.trace import ClockVerdict, Trace
from netlab.traces.trace_file import parse_trace
from netlab.traces.trace_source import TraceSource
from netlab.wire.key import Key

PORT = 7448
MAX_BYTES = 1 << 20
LATE_S = 0.003
"""A guest kernel's timers, and a busy machine: how much later than asked half of all packets may come."""


class Measured(NamedTuple):
    forward: Trace
    back: Trace | None
    round_trip: Trace | None
    summary: ProbeSummary


def netlab(*words: object) -> list[str]:
    return [sys.executable, "-P", "-m", "netlab", *(str(word) for word in words)]


@contextlib.contextmanager
def probed_lab(
    pair: ProfilePair | LinkProfile, folder: Path, *, mtu: int = 1500
) -> Iterator[tuple[Host, Host, Path]]:
    key = folder / "key"
    Key.new().write(key)
    with Lab(seed=3) as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        lab.add_link(edge, agent, pair, mtu=mtu)
        agent.start(netlab("probe", "serve", "--bind", f"{agent.address}:{PORT}", "--key-file", key))
        yield edge, agent, key


def measure(edge: Host, agent: Host, key: Path, *words: object, one_clock: bool = True) -> Measured:
    folder = key.parent
    clock = ["--one-clock"] if one_clock else []
    command = netlab(
        "probe", "run", f"{agent.address}:{PORT}", "--key-file", key, "-o", folder / "path",
        "--connect-wait", "60s", "--json-file", folder / "summary.json", *clock, *words,
    )  # fmt: skip
    process = edge.start(command)
    assert process.wait(120.0) == 0, process
    names = (".forward.csv", ".back.csv", ".csv")
    traces = [read(path) if (path := folder / f"path{name}").exists() else None for name in names]
    assert traces[0] is not None
    summary = msgspec.json.decode((folder / "summary.json").read_bytes(), type=ProbeSummary)
    return Measured(traces[0], traces[1], traces[2], summary)


def read(path: Path) -> Trace:
    """Read a trace; a guest has no room to prepare for the largest."""
    return parse_trace(TraceSource(path, MAX_BYTES))


def expect_share(hits: int, n: int, share: float) -> None:
    """A binomial count within 5 standard deviations: chance below 1 in a million."""
    sd = math.sqrt(n * share * (1 - share))
    print(f"{hits} of {n}, asked {share}, sd {sd:.1f}")
    assert abs(hits - n * share) <= 5 * sd


def test_each_direction_has_its_own_delay(tmp_path: Path) -> None:
    pair = ProfilePair("uneven", LinkProfile(delay_s=0.030), LinkProfile(delay_s=0.010))
    with probed_lab(pair, tmp_path) as (edge, agent, key):
        measured = measure(edge, agent, key, "--rate", 200, "--count", 400, "--wait", "200ms")
    assert measured.back is not None
    assert measured.round_trip is not None
    assert measured.summary.clocks.verdict is ClockVerdict.ONE_CLOCK
    for trace, asked_s in ((measured.forward, 0.030), (measured.back, 0.010), (measured.round_trip, 0.040)):
        assert trace.n == 400
        assert trace.loss_ratio == 0.0
        late_s = trace.delays_s - asked_s
        print(trace.path, "late by us:", np.round(np.quantile(late_s, (0, 0.5, 0.99)) * 1e6, 1))
        assert late_s.min() >= 0.0
        assert np.median(late_s) < LATE_S


@pytest.mark.virtual_time("where nothing but the link takes time, the error is the prober's own")
def test_the_error_is_microseconds_where_computing_is_free(tmp_path: Path) -> None:
    with probed_lab(LinkProfile(delay_s=0.025), tmp_path) as (edge, agent, key):
        measured = measure(edge, agent, key, "--rate", 500, "--count", 500, "--wait", "100ms")
    for trace in (measured.forward, measured.back):
        assert trace is not None
        late_s = trace.delays_s - 0.025
        print("late by us:", np.round(np.quantile(late_s, (0, 0.5, 1)) * 1e6, 2))
        assert late_s.min() >= 0.0
        assert late_s.max() < 20e-6


def test_losses_are_told_apart_by_direction(tmp_path: Path) -> None:
    pair = ProfilePair("lossy", LinkProfile(delay_s=0.005, loss=0.1), LinkProfile(delay_s=0.005, loss=0.02))
    with probed_lab(pair, tmp_path) as (edge, agent, key):
        measured = measure(edge, agent, key, "--rate", 1000, "--count", 4000, "--wait", "500ms")
    forward, back = measured.forward, measured.back
    assert back is not None
    assert measured.summary.has_log
    assert (forward.lost >= 0).all()
    lost = int(forward.lost.sum())
    expect_share(lost, 4000, 0.1)
    assert back.n == 4000 - lost
    expect_share(int(back.lost.sum()), back.n, 0.02)
    assert measured.round_trip is not None
    assert int(measured.round_trip.lost.sum()) == lost + int(back.lost.sum())


def test_duplicates_are_counted_where_they_arise(tmp_path: Path) -> None:
    pair = ProfilePair("doubling", LinkProfile(delay_s=0.002, duplicate_ratio=0.05), LinkProfile(delay_s=0.002))
    with probed_lab(pair, tmp_path) as (edge, agent, key):
        measured = measure(edge, agent, key, "--rate", 500, "--count", 2000, "--wait", "200ms")
    doubled = int((measured.forward.copies == 2).sum())
    expect_share(doubled, 2000, 0.05)
    assert measured.forward.copies.max() == 2
    assert measured.back is not None
    # Each copy is answered: more replies than probes, and none of them doubled.
    assert measured.back.n == 2000 + doubled
    assert (measured.back.copies == 1).all()


def test_reordering_is_counted_one_way(tmp_path: Path) -> None:
    pair = ProfilePair("skipping", LinkProfile(delay_s=0.02, reorder_ratio=0.1), LinkProfile(delay_s=0.001))
    with probed_lab(pair, tmp_path) as (edge, agent, key):
        # 20 ms are no whole number of its periods: no two packets arrive at one moment, whose order is anybody's.
        measured = measure(edge, agent, key, "--rate", 480, "--count", 2000, "--wait", "200ms", "--one-way")
    assert measured.back is None
    # One in ten skips 20 ms and overtakes up to nine before it: these are the packets that come late.
    skipped = int((measured.forward.delay_s < 0.010).sum())
    expect_share(skipped, 2000, 0.1)
    reordered = measured.summary.paths[0].reordered
    delays_s = measured.forward.delay_s
    arrivals_s = measured.forward.t_s + delays_s
    overtaken = int((np.minimum.accumulate(arrivals_s[::-1])[::-1][1:] < arrivals_s[:-1]).sum())
    assert reordered == overtaken > 2 * skipped


def test_bursts_come_through_as_they_are(tmp_path: Path) -> None:
    chain = GilbertElliott(p=0.01, r=0.2)
    with probed_lab(LinkProfile(delay_s=0.005, loss=chain), tmp_path) as (edge, agent, key):
        measured = measure(edge, agent, key, "--rate", 1000, "--count", 5000, "--wait", "300ms", "--one-way")
    lost = measured.forward.lost
    n_runs = int((np.diff(lost, prepend=0) == 1).sum())
    mean_run = lost.sum() / n_runs
    print(f"{lost.sum()} lost in {n_runs} runs, {mean_run:.2f} each")
    # About 48 runs, geometric with mean 5 and sd 4.5: 5 standard errors of their mean are 3.2. From one to the
    # next it is 105 packets with an sd of about 100, so that their number has an sd of about 7.
    assert abs(mean_run - 5.0) < 3.2
    assert abs(n_runs - 5000 / 105) < 5 * math.sqrt(5000 / 105)


def test_as_if_by_two_clocks_the_offset_is_next_to_none(tmp_path: Path) -> None:
    with probed_lab(LinkProfile(delay_s=0.020), tmp_path) as (edge, agent, key):
        measured = measure(edge, agent, key, "--rate", 200, "--count", 600, "--wait", "200ms", one_clock=False)
    clocks = measured.summary.clocks
    assert clocks.verdict in (ClockVerdict.IN_STEP, ClockVerdict.CORRECTED)
    assert clocks.offset_s is not None
    assert abs(clocks.offset_s) < LATE_S


def test_a_link_that_lets_nothing_through_is_said_to(tmp_path: Path) -> None:
    with probed_lab(LinkProfile(loss=1.0), tmp_path) as (edge, agent, key):
        command = netlab("probe", "run", f"{agent.address}:{PORT}", "--key-file", key, "--connect-wait", "2s")
        assert edge.start(command).wait(60.0) == 1


def test_a_probe_is_one_packet_or_none(tmp_path: Path) -> None:
    """A link of 1,400 bytes carries 1,372 of payload: one more would go in two packets."""
    with probed_lab(LinkProfile(delay_s=0.001), tmp_path, mtu=1400) as (edge, agent, key):
        measured = measure(edge, agent, key, "--size", "1372B", "--rate", 200, "--count", 50, "--wait", "100ms")
        assert measured.forward.loss_ratio == 0.0
        command = netlab("probe", "run", f"{agent.address}:{PORT}", "--key-file", key, "--size", "1373B")
        assert edge.start(command).wait(60.0) == 2
