"""Arrivals that tie with departures: lateness decides what a full queue drops and who overtakes; pure."""

from __future__ import annotations

import numpy as np
import pytest

from netlab.traces.conformance.allowance import Allowance, default_allowance
from netlab.traces.conformance.asked import Asked
from netlab.traces.conformance.expectation import expect
from netlab.traces.conformance.flow import Flow
from netlab.traces.conformance.judge import judge_flow
from netlab.traces.conformance.lateness import MANNERS, late_flows
from netlab.traces.conformance.report import DirectionConformance
from netlab.traces.model.link_models import LinkModels
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import link_seed

FRAME_BYTES = 242
SEED = link_seed(3, "ties", "forward", 0)


def state_of(profile: str) -> QdiscState:
    forward = parse_preset(profile).forward
    assert isinstance(forward, LinkProfile)
    return forward.to_qdisc_state(SEED)


def deliver(profile: str, sent_s: np.ndarray, enters_s: np.ndarray, leaves_s: np.ndarray) -> Flow:
    """Send packets that enter later than stamped and leave later than due, up to what the arrays say."""
    link = LinkModels([state_of(profile)])
    delay_s, copies = np.full(sent_s.size, np.nan), np.zeros(sent_s.size, dtype=np.int8)
    for number, at_s in enumerate(sent_s + enters_s):
        now = np.array([round(at_s * 1e9)])
        late = np.array([round(leaves_s[number] * 1e9)])
        fate = link.enqueue(now, FRAME_BYTES, copy_now_ns=now - late)
        if fate.original.queued[0]:
            copies[number] = 1
            delay_s[number] = fate.original.leave_ns[0] / 1e9 + leaves_s[number] - sent_s[number]
    return Flow(sent_s, delay_s, copies, FRAME_BYTES)


def judged(profile: str, flow: Flow, allowed: Allowance) -> DirectionConformance:
    asked = Asked.of(state_of(profile))
    return judge_flow(expect(asked, flow.sent_s, FRAME_BYTES, allowed=allowed), flow)


@pytest.mark.parametrize("virtual", [True, False])
@pytest.mark.parametrize("how", ["on time", "a little", "half", "all", "some", "entering"])
@pytest.mark.parametrize(
    ("profile", "rate_hz"),
    [
        ("delay=10ms,limit=1", 100.0),
        ("delay=100ms,limit=5", 100.0),
        ("delay=20ms,limit=2", 100.0),
        ("rate=10kbit,limit=5", 100.0),
        ("rate=1mbit,limit=5", 1000.0),
    ],
)
def test_whichever_way_ties_fall_a_link_as_asked_passes(
    profile: str, rate_hz: float, how: str, virtual: bool
) -> None:
    """n = 500; lateness of every kind, at most two thirds of what is allowed with the steps of the clock."""
    allowed = default_allowance(virtual=virtual)
    rng = np.random.default_rng(4)
    n, most_s = 500, allowed.later_s * 0.6
    sent_s, nothing = np.arange(n) / rate_hz, np.zeros(n)
    enters_s, leaves_s = {
        "on time": (nothing, nothing),
        "a little": (nothing, nothing + most_s / 50),
        "half": (nothing, most_s * rng.integers(0, 2, n)),
        "all": (nothing, nothing + most_s),
        "some": (nothing, most_s * rng.random(n)),
        "entering": (most_s / 4 * rng.random(n), most_s / 2 * rng.random(n)),
    }[how]
    report = judged(profile, deliver(profile, sent_s, enters_s, leaves_s), allowed)
    assert report.holds, report.failed


@pytest.mark.parametrize("virtual", [True, False])
def test_whichever_way_ties_fall_a_reordered_packet_is_as_asked(virtual: bool) -> None:
    """Half of n = 500 skip 10 ms, at the moment at which the one before them is due."""
    allowed = default_allowance(virtual=virtual)
    sent_s = np.arange(500) / 100.0
    link = LinkModels([state_of("delay=10ms,reorder=50%")])
    fates = link.enqueue_batch(np.round(sent_s * 1e9).astype(np.int64), FRAME_BYTES)
    delay_s = fates.original.leave_ns[:, 0] / 1e9 - sent_s
    shares = []
    for late_s in (np.zeros(500), np.where(delay_s > 0.001, 0.6 * allowed.later_s, 0.0)):
        flow = Flow(sent_s, delay_s + late_s, np.ones(500, dtype=np.int8), FRAME_BYTES)
        report = judged("delay=10ms,reorder=50%", flow, allowed)
        assert report.holds, report.failed
        reordered = next(one for one in report.statistics if one.name == "reordered")
        assert reordered.low is not None and reordered.high is not None
        assert 0.0 <= reordered.low <= reordered.high <= 1.0
        shares.append(reordered.delivered)
    assert shares[0] == 0.0 and shares[1] is not None and shares[1] > 0.2, "the tie decides"


@pytest.mark.parametrize(
    ("profile", "delivered"),
    [
        ("delay=10ms,limit=1", "delay=10ms,limit=1,loss=70%"),
        ("delay=15ms,limit=1", "delay=15ms,limit=1000"),
        ("delay=100ms,limit=5", "delay=100ms,limit=3"),
        ("rate=10kbit,limit=5", "rate=10kbit,limit=8"),
        ("rate=100kbit,limit=20", "rate=100kbit,limit=18"),
    ],
)
def test_a_limit_that_is_another_is_still_found_out(profile: str, delivered: str) -> None:
    sent_s = np.arange(500) / 100.0
    flow = deliver(delivered, sent_s, np.zeros(500), np.zeros(500))
    assert not judged(profile, flow, default_allowance(virtual=True)).holds


def test_late_duplicates_take_no_less_than_the_delay() -> None:
    """A full queue of two, n = 200: without the lateness whatever arrives takes 20 ms, original or duplicate."""
    asked = Asked.of(state_of("delay=20ms,duplicate=50%,limit=2"))
    sent_s = np.arange(200) / 100.0
    manners = late_flows(asked, sent_s, FRAME_BYTES, 1e-3, [link_seed(1, "late", "forward", 0)], lambda: None)
    assert len(manners) == len(MANNERS)
    for (flow,) in manners:
        assert np.allclose(flow.delays_s, 0.02, atol=1e-9)
    assert len({int(flow.arrived.sum()) for (flow,) in manners}) > 1, "lateness decides who finds room"


def test_an_ordered_link_may_not_reorder_however_late() -> None:
    sent_s = np.arange(500) / 100.0
    flow = deliver("delay=15ms,jitter=5ms", sent_s, np.zeros(500), np.zeros(500))
    asked = Asked.of(state_of("delay=15ms,jitter=5ms"))
    expected = expect(asked, flow.sent_s, FRAME_BYTES, allowed=default_allowance(virtual=False))
    assert expected.order_open == (0, 0) and expected.late == ()
