"""How often conformance fails a link that is as asked: the level that it promises, counted.

::

    asked --LinkModels, seeds of the bench--> 4,000 flows a kind --judge--> those that fail

Four kinds of links whose statistics hang together in different ways. Nothing is allowed for beside chance, so a
failure is one by chance alone. Bounds are computed once a kind, as for one measured link, and are themselves by
chance a little wide or narrow: the share of a kind varies by half of itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from netlab.bench.figure import Figure
from netlab.traces.conformance.asked import Asked
from netlab.traces.conformance.expectation import DEFAULT_LEVEL, expect
from netlab.traces.conformance.judge import judge_flow
from netlab.traces.conformance.simulation import simulate
from netlab.traces.loss import GilbertElliott
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step
from netlab.traces.seed import link_seed

__all__ = ["verify_level"]

FLOWS = 4000
PACKETS = 500
RATE_HZ = 200.0
FRAME_BYTES = 242
MOST = 2.0
"""Times the level: the share of four kinds together spreads by a quarter of it."""
KINDS: dict[str, LinkProfile | Schedule] = {
    "independent losses": LinkProfile(delay_s=0.03, jitter_s=0.005, loss=0.02),
    "bursts with a rate": LinkProfile(
        delay_s=0.02, jitter_s=0.002, loss=GilbertElliott.from_mean(0.05, 3.0), rate_bps=500e3
    ),
    "duplicates with reordering": LinkProfile(
        delay_s=0.02, jitter_s=0.004, loss=0.01, duplicate_ratio=0.02, ordered=False
    ),
    "a schedule": Schedule(
        (Step(0.0, LinkProfile(delay_s=0.01, jitter_s=0.002)), Step(0.4, LinkProfile(delay_s=0.04, loss=0.05))),
        duration_s=0.9,
        loop=True,
    ),
}


def verify_level(say: Callable[[str], None]) -> Figure:
    """Judge 4,000 flows of each of four links that are as asked."""
    sent_s = np.arange(PACKETS) / RATE_HZ
    failed = {}
    for name, profile in KINDS.items():
        asked = Asked.of(profile)
        expected = expect(asked, sent_s, FRAME_BYTES)
        seeds = [link_seed(number, f"verify-level {name}", "forward", 0) for number in range(FLOWS)]
        flows = simulate(asked, sent_s, FRAME_BYTES, seeds)
        failed[name] = sum(not judge_flow(expected, flow).holds for flow in flows)
        say(f"{name}: {failed[name]} of {FLOWS} fail")
    n = len(KINDS) * FLOWS
    share = sum(failed.values()) / n
    return Figure(
        name="verify-level",
        value=100.0 * share,
        unit="% of flows that are as asked fail, one direction",
        target=f"at most {100.0 * MOST * DEFAULT_LEVEL:g} %, promised {100.0 * DEFAULT_LEVEL:g} %",
        holds=share <= MOST * DEFAULT_LEVEL,
        n=n,
        spread="; ".join(f"{name}: {count} of {FLOWS}" for name, count in failed.items()),
        note=f"{PACKETS} packets a flow at {RATE_HZ:g} a second; delivered by the model with other seeds",
    )
