"""What is sent where nobody says how much: at the rate a profile was fitted for; in virtual time a whole pass.

Says as well what a person must know of a plan that is another: that it sees a part, or loads the link otherwise.
"""

from __future__ import annotations

import math

from netlab.probe.probe_plan import ProbePlan
from netlab.traces.pair import ProfilePair
from netlab.traces.schedule import Schedule

__all__ = ["DEFAULT_COUNT", "DEFAULT_RATE_HZ", "LEAST_COUNT", "default_count", "default_rate_hz", "plan_warnings"]

DEFAULT_COUNT = 2000
DEFAULT_RATE_HZ = 100.0
LEAST_COUNT = 30
"""Of fewer, the outer quantiles are the outermost packets, and a loss of some per cent is mostly none."""
MOST_COUNT = 50_000
"""A minute of a processor, about, in virtual time."""
_WHOLE = 0.999
_SAME_RATE = 0.01


def default_rate_hz(pair: ProfilePair) -> float:
    """Return how many packets a second to send each way: those that a fitted profile is for."""
    return _fitted_hz(pair) or DEFAULT_RATE_HZ


def default_count(pair: ProfilePair, rate_hz: float, *, virtual: bool) -> int:
    """Return how many packets to send each way.

    Args:
        pair: What is asked.
        rate_hz: Packets a second.
        virtual: Whether waiting costs nothing: then a pass of the longest schedule is measured whole, unless it
            takes more packets than are sent at most.
    """
    if not virtual:
        return DEFAULT_COUNT
    return min(max(DEFAULT_COUNT, math.ceil(_pass_s(pair) * rate_hz)), MOST_COUNT)


def plan_warnings(pair: ProfilePair, plan: ProbePlan) -> list[str]:
    """Return what a person must know of flows through such a link before trusting the verdict, a line each."""
    warnings = []
    if plan.count < LEAST_COUNT:
        warnings.append(f"{plan.count} packets are too few to tell: a verdict takes {LEAST_COUNT} at least")
    pass_s, fitted_hz = _pass_s(pair), _fitted_hz(pair)
    if plan.duration_s < pass_s * _WHOLE:
        warnings.append(
            f"the flows take {plan.duration_s:g} s of a pass of {pass_s:g} s: nothing is said of the rest of the "
            f"schedule; --count {math.ceil(pass_s * plan.rate_hz)} measures all of it"
        )
    if fitted_hz is not None and abs(plan.rate_hz / fitted_hz - 1.0) > _SAME_RATE:
        warnings.append(
            f"{plan.rate_hz:g} packets a second, and the profile was fitted for {fitted_hz:g}: what order adds to "
            "delays, and how many packets an outage takes, will be other than in its data"
        )
    return warnings


def _pass_s(pair: ProfilePair) -> float:
    return max((one.duration_s for one in (pair.forward, pair.back) if isinstance(one, Schedule)), default=0.0)


def _fitted_hz(pair: ProfilePair) -> float | None:
    return pair.provenance.packet_rate_hz if pair.provenance is not None else None
