"""Schedules on real links: every step in force near its deadline, read back, and logged."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from netlab.errors import KernelError, LabError
from netlab.lab import Lab
from netlab.namespaces.impairer import Change
from netlab.namespaces.netem_qdisc import NetemQdisc
from netlab.namespaces.staged_changes import PreparesTogether
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.schedule import Schedule, Step
from netlab.traces.seed import link_seed

STEP_S = 0.02
# Real time on a shared machine: a step may be late, it may not be lost. Half of them within a whole step.
LATE_MEDIAN_S = STEP_S


def _schedule(delays_ms: list[float], loop: bool = False) -> Schedule:
    steps = tuple(Step(index * STEP_S, LinkProfile(delay_s=ms / 1e3)) for index, ms in enumerate(delays_ms))
    return Schedule(steps, len(steps) * STEP_S, loop=loop)


def _wait_until(is_so: Callable[[], object], within_s: float = 30.0) -> None:
    deadline_s = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline_s, "it did not come to that"
        time.sleep(0.01)


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
        assert last.forward.seed == link_seed(9, "edge-agent", "forward", 50)  # the link was made with seed 0


def test_a_loop_goes_on_until_the_lab_closes() -> None:
    with Lab() as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        lab.add_link(edge, agent, _schedule([1.0, 2.0, 3.0], loop=True))
        player = lab.play()
        assert player is not None
        _wait_until(lambda: player.log and player.log[-1].step >= 15)
        lab.check()
    counts = player.counts
    assert counts.applied + counts.superseded >= 2 * 15
    assert counts.verified >= 2
    assert counts.failed == 0


def test_the_measured_series_plays() -> None:
    with Lab() as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        lab.add_link(edge, agent, "measured")
        player = lab.play()
        assert player is not None
        _wait_until(lambda: player.log and player.log[-1].step >= 10)
    steps = player.log
    assert player.counts.failed == 0
    assert all(abs(step.asked_s - step.step * 0.1) < 1e-9 for step in steps)
    for direction in ("forward", "back"):
        played = sorted(step.step for step in steps if step.track == f"edge-agent {direction}")
        assert played == list(range(len(played)))  # each in the log once, whatever became of it
        assert len(played) >= 10


def test_a_qdisc_that_vanishes_is_told_of() -> None:
    lab = Lab().open()
    edge, agent = lab.add_host("edge"), lab.add_host("agent")
    link = lab.add_link(edge, agent, _schedule([1.0, 2.0, 3.0], loop=True))
    player = lab.play()
    assert player is not None
    _wait_until(lambda: player.counts.applied >= 6)
    assert link.forward is not None
    link.wire.routes.qdisc_delete(link.forward.ifindex, link.forward.handle, 0xFFFFFFFF)
    _wait_until(lambda: player.counts.failed >= 3)
    with pytest.raises(KernelError):
        lab.check()
    failed = [step for step in player.log if step.outcome == "failed"]
    assert failed and all(step.track == "edge-agent forward" and step.error for step in failed)
    with pytest.raises(KernelError):
        lab.close()
    assert not player.is_playing()


def test_a_refusal_in_the_midst_of_a_message_that_was_ready_leaves_the_others() -> None:
    with Lab(seed=9) as lab:
        hub = lab.add_host("hub")
        links = [lab.add_link(hub, lab.add_host(f"h{number}"), LinkProfile(delay_s=0.01)) for number in range(3)]
        wire = links[0].wire
        assert isinstance(wire, PreparesTogether)
        qdiscs = [link.forward for link in links]
        assert all(isinstance(qdisc, NetemQdisc) for qdisc in qdiscs)
        first = qdiscs[0].asked.replace(latency_ns=20_000_000)  # type: ignore[union-attr]
        changes = [Change(qdisc, first.replace(seed=number)) for number, qdisc in enumerate(qdiscs)]  # type: ignore[arg-type]
        for change in changes:
            change.impairer.prepare(change.state)  # type: ignore[attr-defined]
        ready = wire.prepare_together(changes)
        assert ready is not None
        gone = qdiscs[1]
        assert isinstance(gone, NetemQdisc)
        wire.routes.qdisc_delete(gone.ifindex, gone.handle, 0xFFFFFFFF)  # type: ignore[attr-defined]
        before_s = time.monotonic()
        done = ready.carry_out(time.monotonic)
        assert before_s <= done.answered_s <= time.monotonic()
        assert [refusal is None for refusal in done.refusals] == [True, False, True]
        for number in (0, 2):
            qdisc = qdiscs[number]
            assert isinstance(qdisc, NetemQdisc)
            assert qdisc.asked == changes[number].state and qdisc.verify()
            assert qdisc.read().latency_ns == 20_000_000
        assert gone.asked is not None and gone.asked.latency_ns == 10_000_000, "as before: it was not taken"
        with pytest.raises(KernelError):
            gone.verify()


def test_no_seed_comes_twice_whoever_changes_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: dict[int, list[int | None]] = {}
    for name in ("add", "apply", "stage"):
        original = getattr(NetemQdisc, name)

        def noting(qdisc: NetemQdisc, state: QdiscState, original: Callable[..., object] = original) -> object:
            seeds.setdefault(qdisc.ifindex, []).append(state.seed)
            return original(qdisc, state)

        monkeypatch.setattr(NetemQdisc, name, noting)
    land = NetemQdisc.land

    def noting_landed(qdisc: NetemQdisc, accepted: bool) -> None:
        land(qdisc, accepted)
        if accepted and qdisc.asked is not None:
            seeds.setdefault(qdisc.ifindex, []).append(qdisc.asked.seed)

    monkeypatch.setattr(NetemQdisc, "land", noting_landed)
    with Lab(seed=9) as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        link = lab.add_link(edge, agent, _schedule([1.0, 2.0, 3.0], loop=True))
        for _ in range(2):
            player = lab.play()
            assert player is not None
            _wait_until(lambda player=player: player.log and player.log[-1].step >= 7)
            lab.stop_playing()
            link.apply(LinkProfile(delay_s=0.01))
    assert len(seeds) == 2
    for one in seeds.values():
        assert len(one) >= 1 + 2 * 2  # made, and in each turn played and changed by hand
        assert None not in one
        assert len(set(one)) == len(one)
    assert not set.intersection(*(set(one) for one in seeds.values()))


def test_play_can_be_stopped_and_begun_again() -> None:
    with Lab() as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        link = lab.add_link(edge, agent, _schedule([1.0, 2.0, 3.0], loop=True))
        lab.stop_playing()  # nothing plays yet
        first = lab.play()
        with pytest.raises(LabError, match="is being played") as caught:
            link.apply(LinkProfile())
        assert "stop_playing" in caught.value.hint
        with pytest.raises(LabError, match="being played already"):
            lab.play()
        for _ in range(2):
            lab.stop_playing()
            assert first is not None and not first.is_playing()
            link.apply(LinkProfile(delay_s=0.2))
            reading = link.read()
            assert reading.forward is not None and reading.forward.latency_ns == 200_000_000
        second = lab.play()
        assert second is not None and second is not first and second.is_playing()


def test_a_schedule_that_has_ended_by_itself_leaves_the_link_to_us() -> None:
    with Lab() as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        link = lab.add_link(edge, agent, _schedule([1.0, 2.0]))
        player = lab.play()
        assert player is not None and player.wait(20)
        link.apply(LinkProfile(delay_s=0.2))
        again = lab.play()
        assert again is not None and again is not player and again.wait(20)


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
