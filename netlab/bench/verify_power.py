"""Does conformance tell: it passes what is asked, and fails a mean, a loss and bursts that are slightly other.

::

    asked --LinkModels, seeds 0 .. 99 of the bench--> 100 flows --judge--> false alarms
    asked but for one thing ------------------------> 100 flows --judge--> caught

What delivers is the exact model, with seeds that the bounds have not seen. Bounds and allowance are those of
``netlab verify`` in virtual time, for one direction at half of its level. Beside it, where there is a guest with
virtual time, each of the five is delivered once by real netem, ``netlab verify DELIVERED --traces``, and judged by
the times at which it was sent: that verdict counts as well, and where it is missing the figure says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from netlab.bench.figure import Figure
from netlab.bench.verify_netem import deliver_on_netem
from netlab.errors import LabError
from netlab.traces.conformance.allowance import default_allowance
from netlab.traces.conformance.asked import Asked
from netlab.traces.conformance.expectation import Expectation, expect
from netlab.traces.conformance.judge import judge_flow
from netlab.traces.conformance.simulation import simulate
from netlab.traces.loss import GilbertElliott
from netlab.traces.presets import PRESETS
from netlab.traces.profile import LinkProfile
from netlab.traces.seed import link_seed

__all__ = ["verify_power"]

PACKETS = 10_000
RATE_HZ = 100.0
FRAME_BYTES = 242
SEEDS = 100
MOST_ALARMS, LEAST_CAUGHT = 5, 95
NETEM_SEED = 1
NETWORK = "wifi-normal"
LOSS_RATIO, BURST_PACKETS = 0.02, 3.0


class _OnNetem(NamedTuple):
    """The verdict on one flow through real netem.

    Attributes:
        holds: Whether it is as asked; None where it was not measured.
        text: The same in words.
    """

    holds: bool | None
    text: str


class _Case(NamedTuple):
    """What is delivered, and how it was judged.

    Attributes:
        name: What differs.
        is_asked: Whether it is what was asked.
        failed: Flows that failed.
        reasons: The statistic that failed most often.
        netem: How one flow through real netem was judged.
    """

    name: str
    is_asked: bool
    failed: int
    reasons: str
    netem: _OnNetem

    @property
    def holds(self) -> bool:
        """Whether it was judged well enough, on netem as well where there is one."""
        if self.netem.holds is not None and self.netem.holds != self.is_asked:
            return False
        return self.failed <= MOST_ALARMS if self.is_asked else self.failed >= LEAST_CAUGHT


def verify_power(say: Callable[[str], None]) -> Figure:
    """Judge 100 flows of what was asked, and 100 of each of three that differ slightly."""
    wifi = PRESETS[NETWORK].forward
    assert isinstance(wifi, LinkProfile)  # not a schedule
    assert isinstance(wifi.loss, float)
    bursts = wifi.replace(loss=GilbertElliott.from_mean(LOSS_RATIO, BURST_PACKETS))
    longer = GilbertElliott.from_mean(LOSS_RATIO, 2.0 * BURST_PACKETS)
    cases = _judge(
        wifi,
        {
            f"{NETWORK} as asked": wifi,
            "mean +5 %": wifi.replace(delay_s=wifi.delay_s * 1.05),
            "loss +1 point": wifi.replace(loss=wifi.loss + 0.01),
        },
        say,
    ) + _judge(
        bursts,
        {f"bursts of {BURST_PACKETS:g} as asked": bursts, "bursts doubled": bursts.replace(loss=longer)},
        say,
    )
    alarms = max(case.failed for case in cases if case.is_asked)
    caught = min(case.failed for case in cases if not case.is_asked)
    measured = [case for case in cases if case.netem.holds is not None]
    right = sum(case.netem.holds == case.is_asked for case in measured)
    missing = len(cases) - len(measured)
    on_netem = f"netem right in {right} of {len(measured)}" + (f", {missing} not measured" if missing else "")
    return Figure(
        name="verify-power",
        value=float(caught),
        unit=f"of {SEEDS} caught at least, false alarms at most {alarms} of {SEEDS}, {on_netem}",
        target=f"at least {LEAST_CAUGHT} of each caught, at most {MOST_ALARMS} false alarms, netem right in all",
        holds=all(case.holds for case in cases),
        n=len(cases) * SEEDS + len(measured),
        spread="; ".join(f"{case.name}: {case.failed} of {SEEDS} failed{case.reasons}" for case in cases),
        note=f"{PACKETS} packets a flow at {RATE_HZ:g} a second; delivered by the model with other seeds; one "
        f"each by netem in virtual time: {', '.join(case.netem.text for case in cases)}",
    )


def _judge(asked: LinkProfile, delivered: dict[str, LinkProfile], say: Callable[[str], None]) -> list[_Case]:
    """Judge flows of several profiles by one of them, the first."""
    sent_s = np.arange(PACKETS) / RATE_HZ
    say(f"simulating what is to be expected of {next(iter(delivered))}")
    expected = expect(Asked.of(asked), sent_s, FRAME_BYTES, allowed=default_allowance(virtual=True))
    return [_judge_case(name, profile, asked, expected, say) for name, profile in delivered.items()]


def _judge_case(
    name: str, profile: LinkProfile, asked: LinkProfile, expected: Expectation, say: Callable[[str], None]
) -> _Case:
    seeds = [link_seed(seed, f"verify-power {name}", "forward", 0) for seed in range(SEEDS)]
    reports = [
        judge_flow(expected, flow) for flow in simulate(Asked.of(profile), expected.sent_s, FRAME_BYTES, seeds)
    ]
    reasons = [reason for report in reports for reason in report.failed]
    failed = sum(not report.holds for report in reports)
    say(f"{name}: {failed} of {SEEDS} fail")
    most = max(dict.fromkeys(reasons), key=reasons.count) if reasons else ""
    text = f" ({most} {reasons.count(most)})" if most else ""
    netem = _judge_netem(name, profile, asked)
    say(f"on netem: {netem.text}")
    return _Case(name, profile is asked, failed, text, netem)


def _judge_netem(name: str, profile: LinkProfile, asked: LinkProfile) -> _OnNetem:
    """Judge one flow through real netem by the times at which it was sent; say how, or why there is none."""
    try:
        flow = deliver_on_netem(profile, PACKETS, RATE_HZ, FRAME_BYTES, NETEM_SEED)
    except LabError as error:
        return _OnNetem(None, f"{name} not measured ({error.message.splitlines()[-1].strip()})")
    expected = expect(Asked.of(asked), flow.sent_s, FRAME_BYTES, allowed=default_allowance(virtual=True))
    report = judge_flow(expected, flow)
    return _OnNetem(
        report.holds, f"{name} " + ("passes" if report.holds else f"fails ({', '.join(report.failed)})")
    )
