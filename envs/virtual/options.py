"""NetworkOptions: how a task is controlled over a virtual network; everything but the network itself.

The same words as the services' (``EnvConfig``), so that what was trained can be deployed as it was.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from netlab.control.actuator import MAX_AHEAD_TICKS, Actuator
from netlab.control.actuators import make_actuator
from netlab.control.fallback import Fallback, Hold, Neutral
from netlab.control.feature_spec import FeatureSpec
from netlab.envs.config import DEFAULT_HOLD_LIMIT_TICKS
from netlab.errors import SpecError
from netlab.messages import ADAPTIVE_HORIZON, ActuatorName

__all__ = ["NetworkOptions"]

_MAX_HOLD_TICKS = 1_000_000


class NetworkOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a task is controlled.

    Attributes:
        rate_hz: Ticks a second; the task's own where None.
        transport: ``datagram``, or ``stream``: one TCP connection (docs/stream-model.md).
        actuator: ``newest``, ``scheduled`` or ``stop-and-wait``.
        horizon: D of ``scheduled`` in ticks; ``adaptive`` follows what the edge measures, anew in each episode.
        fallback: ``neutral`` or ``hold``.
        hold_limit_ticks: The most ticks in a row that ``hold`` holds; None is 10.
        link: Name of the link, which is in its seeds.
        features: What is made of a question.
    """

    rate_hz: Annotated[float, Meta(gt=0, le=100_000)] | None = None
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
        self._check_horizon()
        self._check_fallback()

    def _check_horizon(self) -> None:
        if self.actuator == "scheduled" and self.horizon is None:
            raise SpecError(
                "the scheduled actuator needs a horizon",
                key="horizon",
                hint="give a number of ticks, of which netlab.traces.horizon.horizon_ticks knows the fitting one, "
                "or 'adaptive'",
            )
        if self.actuator != "scheduled" and self.horizon is not None:
            raise SpecError(
                f"{self.horizon!r}: the {self.actuator} actuator has no horizon",
                key="horizon",
                hint="actuator='scheduled', or no horizon",
            )

    def _check_fallback(self) -> None:
        if self.actuator == "stop-and-wait" and self.fallback != "neutral":
            raise SpecError(
                f"{self.fallback!r}: stop-and-wait plays each decision once; this would play an action twice",
                key="fallback",
                hint="fallback='neutral'",
            )
        if self.fallback != "hold" and self.hold_limit_ticks is not None:
            raise SpecError(
                f"{self.hold_limit_ticks}: the {self.fallback} fallback holds nothing",
                key="hold_limit_ticks",
                hint="fallback='hold', or no hold_limit_ticks",
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
        if self.fallback == "neutral":
            return Neutral()
        return Hold(DEFAULT_HOLD_LIMIT_TICKS if self.hold_limit_ticks is None else self.hold_limit_ticks)
