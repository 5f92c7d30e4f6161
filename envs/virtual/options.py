"""NetworkOptions: how a task is controlled over a virtual network; everything but the network itself.

The same words as the services' (``EnvConfig``), so that what was trained can be deployed as it was.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from netlab.control.actuator import MAX_AHEAD_TICKS, Actuator
from netlab.control.actuators import make_actuator
from netlab.control.fallback import Fallback
from netlab.control.feature_spec import FeatureSpec
from netlab.envs.clash import Clash, Combination, Words, refuse_clashes
from netlab.envs.make_fallback import make_fallback
from netlab.envs.task import MAX_RATE_HZ
from netlab.errors import SpecError
from netlab.messages import ADAPTIVE_HORIZON, ActuatorName

__all__ = ["NetworkOptions"]

_MAX_HOLD_TICKS = 1_000_000

_WORDS = {
    Clash.NO_HORIZON: Words(
        "horizon",
        "give a number of ticks (netlab.traces.horizon.horizon_ticks knows the fitting one), or 'adaptive'",
    ),
    Clash.HORIZON: Words("horizon", "actuator='scheduled', or no horizon"),
    Clash.FALLBACK: Words("fallback", "fallback='neutral'"),
    Clash.HOLD_LIMIT: Words("hold_limit_ticks", "fallback='hold', or no hold_limit_ticks"),
}


class NetworkOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a task is controlled.

    Attributes:
        rate_hz: Ticks a second; the task's own where None.
        transport: ``datagram``, or ``stream``: one TCP connection (docs/stream-model.md).
        actuator: ``newest``, ``scheduled``, ``planned`` or ``stop-and-wait``.
        horizon: D of ``scheduled`` or ``planned`` in ticks; ``adaptive`` follows what the edge
            measures, anew in each episode.
        fallback: ``neutral`` or ``hold``.
        hold_limit_ticks: The most ticks in a row that ``hold`` holds; None is 10.
        link: Name of the link, which is in its seeds.
        features: What is made of a question.
    """

    rate_hz: Annotated[float, Meta(gt=0, le=MAX_RATE_HZ)] | None = None
    transport: Literal["datagram", "stream"] = "datagram"
    actuator: ActuatorName = "newest"
    horizon: Annotated[int, Meta(ge=1, le=MAX_AHEAD_TICKS)] | Literal["adaptive"] | None = None
    fallback: Literal["neutral", "hold"] = "neutral"
    hold_limit_ticks: Annotated[int, Meta(ge=1, le=_MAX_HOLD_TICKS)] | None = None
    link: Annotated[str, Meta(min_length=1, max_length=100)] = "edge-agent"
    features: FeatureSpec = FeatureSpec()

    def check(self) -> None:
        """Refuse what contradicts itself, has no effect, or is not there.

        Raises:
            SpecError: Names the field.
        """
        try:
            msgspec.convert(msgspec.to_builtins(self), NetworkOptions)
        except msgspec.ValidationError as error:
            hint = "docs/virtual-network.md has the options and what they may be"
            raise SpecError(str(error), key="network options", hint=hint) from error
        asked = Combination(
            actuator=self.actuator,
            fallback=self.fallback,
            horizon=self.horizon,
            hold_limit_ticks=self.hold_limit_ticks,
        )
        refuse_clashes(asked, _WORDS)
        if self.actuator == "planned" and self.features.actions:
            raise SpecError(
                "planned asks about ticks again that were decided before: features cannot remember decisions",
                key="features.actions",
                hint="features without actions, or actuator='scheduled'",
            )

    @property
    def horizon_ticks(self) -> int:
        """D as both halves are told it: a number, or ``ADAPTIVE_HORIZON``; 1 where there is none."""
        return ADAPTIVE_HORIZON if self.horizon == "adaptive" else self.horizon or 1

    def make_actuator(self) -> Actuator:
        """Return a fresh actuator."""
        return make_actuator(self.actuator, self.horizon_ticks)

    def make_fallback(self) -> Fallback:
        """Return a fresh fallback."""
        return make_fallback(self.fallback, self.hold_limit_ticks)
