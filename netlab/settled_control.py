"""settle_control: how a policy is played, by one rule for every command that plays one.

::

    asked for?  --yes--> that
      no: what the policy was made for; D is ``settled_horizon``'s, the fallback the actuator's only one, if it has
          one

What contradicts itself is refused here, in the words of the command line. Roof.
"""

from __future__ import annotations

from msgspec import Struct

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.envs.clash import Clash, Combination, Words, refuse_clashes
from netlab.errors import SpecError
from netlab.messages import ActuatorName, FallbackName
from netlab.scoring.entrant import Entrant
from netlab.settled_horizon import settled_horizon
from netlab.traces.pair import ProfilePair

__all__ = ["AskedControl", "SettledControl", "settle_control"]


class AskedControl(Struct, frozen=True, kw_only=True):
    """How a policy is asked to be played; None leaves it to the policy.

    Attributes:
        actuator: What plays its actions.
        horizon_ticks: D of ``scheduled`` or ``planned``, or ``ADAPTIVE_HORIZON``.
        fallback: What a tick without an action plays.
    """

    actuator: ActuatorName | None = None
    horizon_ticks: int | None = None
    fallback: FallbackName | None = None


class SettledControl(Struct, frozen=True, kw_only=True):
    """How a policy is played.

    Attributes:
        actuator: What plays its actions.
        horizon_ticks: D, or ``ADAPTIVE_HORIZON``; None where the actuator has none.
        fallback: What a tick without an action plays.
    """

    actuator: ActuatorName
    horizon_ticks: int | None
    fallback: FallbackName


def settle_control(
    entrant: Entrant, asked: AskedControl, pair: ProfilePair | None, rate_hz: float
) -> SettledControl:
    """Return how a policy is played.

    Args:
        entrant: The policy.
        asked: What is not to be as the policy was made.
        pair: The network, as ``settled_horizon`` takes it.
        rate_hz: Ticks a second.

    Raises:
        SpecError: What was asked for contradicts itself, or the policy cannot be played so.
        ProfileError: D is to be fitted to the network, and none fits.
    """
    actuator = asked.actuator or entrant.actuator
    traits = ACTUATOR_TRAITS[actuator]
    whose = "" if asked.actuator else f"; {actuator} is what the policy was made for"
    words = {
        Clash.HORIZON: Words("--horizon", f"--actuator scheduled or planned, or no --horizon{whose}"),
        Clash.FALLBACK: Words("--fallback", "--fallback neutral"),
    }
    # D is found out below, and so is a fallback that nobody asks for.
    refuse_clashes(Combination(actuator=actuator, fallback=asked.fallback, horizon=asked.horizon_ticks), words)
    problem = entrant.recipe.problem_with(actuator)
    if problem:
        hint = "--actuator scheduled, or a policy that sees the predicted state alone"
        raise SpecError(problem, key="--actuator", hint=hint)
    horizon_ticks = None
    if traits.has_horizon:
        horizon_ticks = settled_horizon(asked.horizon_ticks, entrant.recipe.horizon_ticks, pair, rate_hz)
    # Where a person asks for an actuator with one fallback, what the card says of fallbacks is of no use.
    fallback = asked.fallback or traits.only_fallback or entrant.fallback
    return SettledControl(actuator=actuator, horizon_ticks=horizon_ticks, fallback=fallback)
