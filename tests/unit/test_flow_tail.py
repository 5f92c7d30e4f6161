"""Tail: how long there is something to wait for; pure."""

from __future__ import annotations

import pytest

from netlab.errors import SpecError
from netlab.probe.probe_plan import ProbePlan
from netlab.traces.conformance.asked import Asked
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step
from netlab.verification.tail import MOST_S, Tail

PLAN = ProbePlan(count=400)
FRAME_BITS = 242 * 8


def tail(asked: LinkProfile | Schedule, plan: ProbePlan = PLAN) -> Tail:
    return Tail.of([Asked.of(asked)], plan)


def test_how_long_a_silence_is_waited_for_follows_from_the_delay() -> None:
    assert tail(LinkProfile(delay_s=2.0, jitter_s=0.5)).quiet_s > 4.0
    assert tail(LinkProfile(rate_bps=10e3)).quiet_s > 2 * FRAME_BITS / 10e3
    assert tail(LinkProfile()).quiet_s < 2.0
    assert tail(LinkProfile(delay_s=200.0)).quiet_s > 200.0
    assert tail(LinkProfile()).drain_s == pytest.approx(0.0, abs=1e-3)


def test_a_queue_is_waited_for_until_it_is_empty() -> None:
    """500 packets in 5 s, of which each is on the wire for 0.1936 s."""
    plan = ProbePlan(count=500)
    slow = parse_preset("rate=10kbit,limit=1000").forward
    assert isinstance(slow, LinkProfile)
    assert tail(slow, plan).drain_s == pytest.approx(500 * FRAME_BITS / 10e3 - 4.99)
    assert tail(slow.replace(duplicate_ratio=0.5), plan).drain_s == pytest.approx(1000 * FRAME_BITS / 10e3 - 4.99)


def test_a_queue_is_no_longer_than_its_limit() -> None:
    slow = parse_preset("rate=10kbit,limit=5").forward
    assert isinstance(slow, LinkProfile)
    assert tail(slow).drain_s == pytest.approx(5 * FRAME_BITS / 10e3)


def test_a_rate_that_is_not_reached_leaves_no_queue_but_for_its_packet() -> None:
    assert tail(LinkProfile(rate_bps=1e6)).drain_s == pytest.approx(FRAME_BITS / 1e6)


def test_a_slow_step_of_a_schedule_counts_for_the_packets_that_meet_it() -> None:
    """1 s at 10 kbit/s, 100 packets, then 2 s at which the queue of 18.36 s goes on."""
    steps = (Step(0.0, LinkProfile(rate_bps=10e3)), Step(1.0, LinkProfile(rate_bps=1e9)))
    found = tail(Schedule(steps, duration_s=3.0), ProbePlan(count=300))
    assert found.drain_s == pytest.approx(100 * FRAME_BITS / 10e3 - 2.99, abs=0.01)


def test_what_takes_too_long_is_refused_before_it_begins() -> None:
    with pytest.raises(SpecError, match="s after it is sent: must be at most 3600 s") as caught:
        tail(LinkProfile(rate_bps=100.0), ProbePlan(count=500))
    assert "--count" in caught.value.hint
    assert tail(LinkProfile(rate_bps=100.0), ProbePlan(count=150)).duration_s < MOST_S
