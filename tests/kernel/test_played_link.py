"""Schedules on real links: every step in force near its deadline, read back, and logged."""

from __future__ import annotations

import time

import pytest

from netlab.errors import KernelError, LabError
from netlab.lab import Lab
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step
from netlab.traces.seed import link_seed

STEP_S = 0.02
# Real time on a shared machine: a step may be late, it may not be lost.
LATE_MEDIAN_S = 0.005


def _schedule(delays_ms: list[float], loop: bool = False) -> Schedule:
    steps = tuple(Step(index * STEP_S, LinkProfile(delay_s=ms / 1e3)) for index, ms in enumerate(delays_ms))
    return Schedule(steps, len(steps) * STEP_S, loop=loop)


def test_every_step_is_applied_on_both_directions_and_logged() -> None:
    delays_ms = [float(10 + index) for index in range(50)]
    pair = ProfilePair("ramp", _schedule(delays_ms), _schedule(delays_ms[::-1]))
    with Lab(seed=9) as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        link = lab.add_link(edge, agent, pair)
        first = link.read()
        assert first.forward is not None and first.forward.latency_ns == 10_000_000
        player = lab.play()
        assert player is not None
        assert player.wait(20)
        player.stop()
        counts = player.counts
        print(counts)
        assert counts.applied + counts.superseded == 100
        assert counts.failed == 0
        assert counts.verified >= 2
        late_s = sorted(step.applied_s - step.asked_s for step in player.log if step.applied_s is not None)
        assert late_s[0] >= 0.0
        assert late_s[len(late_s) // 2] < LATE_MEDIAN_S
        for name in ("edge-agent forward", "edge-agent back"):
            steps = [step for step in player.log if step.track == name]
            assert sorted(step.step for step in steps) == list(range(50))
            assert all(abs(step.asked_s - step.step * STEP_S) < 1e-9 for step in steps)
        last = link.read()
        assert last.forward is not None and last.back is not None
        assert (last.forward.latency_ns, last.back.latency_ns) == (59_000_000, 10_000_000)
        assert last.forward.seed == link_seed(9, "edge-agent", "forward", 49)
        with pytest.raises(LabError, match="is being played"):
            link.apply(LinkProfile())
        with pytest.raises(LabError, match="being played already"):
            lab.play()


def test_a_loop_goes_on_until_the_lab_closes() -> None:
    with Lab() as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        lab.add_link(edge, agent, _schedule([1.0, 2.0, 3.0], loop=True))
        player = lab.play()
        assert player is not None
        time.sleep(0.5)
        lab.check()
    counts = player.counts
    assert counts.applied + counts.superseded >= 2 * 3 * 5
    assert counts.verified >= 2
    assert max(step.step for step in player.log) >= 15


def test_the_measured_series_plays() -> None:
    with Lab() as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        lab.add_link(edge, agent, "measured")
        player = lab.play()
        assert player is not None
        time.sleep(1.05)
    assert 20 <= player.counts.applied + player.counts.superseded <= 24


def test_a_qdisc_that_vanishes_is_told_of() -> None:
    lab = Lab().open()
    edge, agent = lab.add_host("edge"), lab.add_host("agent")
    link = lab.add_link(edge, agent, _schedule([1.0, 2.0, 3.0], loop=True))
    lab.play()
    time.sleep(0.1)
    assert link.forward is not None
    link.wire.routes.qdisc_delete(link.forward.ifindex, link.forward.handle, 0xFFFFFFFF)
    time.sleep(0.1)
    with pytest.raises(KernelError):
        lab.check()
    assert lab.player is not None
    failed = [step for step in lab.player.log if step.outcome == "failed"]
    assert failed and all(step.track == "edge-agent forward" and step.error for step in failed)
    with pytest.raises(KernelError):
        lab.close()
    assert lab.player.wait(0.1)


def test_two_links_in_one_player_change_together() -> None:
    with Lab() as lab:
        hosts = [lab.add_host(name) for name in ("a", "b", "c")]
        lab.add_link(hosts[0], hosts[1], _schedule([1.0, 2.0]))
        lab.add_link(hosts[1], hosts[2], _schedule([3.0, 4.0]))
        player = lab.play()
        assert player is not None
        assert player.wait(10)
        applied = {(step.track, step.step) for step in player.log}
        tracks = ("a-b forward", "a-b back", "b-c forward", "b-c back")
        assert applied == {(track, step) for track in tracks for step in (0, 1)}
