"""NetworkOptions: how a task is controlled over a virtual network; everything but the network itself.

The same words as the services' (``EnvConfig``), so that what was trained can be deployed as it was.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.control.actuator import Actuator
from netlab.control.actuators import make_actuator
from netlab.control.fallback import Fallback
from netlab.control.feature_spec import FeatureSpec
from netlab.envs.bound import check_types, take_numpy_numbers
from netlab.envs.clash import Clash, Combination, Words, refuse_clashes
from netlab.envs.make_fallback import make_fallback
from netlab.errors import SpecError
from netlab.messages import (
    MAX_RATE_HZ,
    MIN_RATE_HZ,
    ActuatorName,
    FallbackName,
    HorizonWord,
    horizon_number,
)

__all__ = ["NetworkOptions", "checked_options"]

_MAX_HOLD_TICKS = 1_000_000

_WORDS = {
    Clash.NO_HORIZON: Words(
        "horizon",
        "give a number of ticks (netlab.traces.horizon.horizon_ticks knows the fitting one), or 'adaptive'",
    ),
    Clash.HORIZON: Words("horizon", "actuator='scheduled' or 'planned', or no horizon"),
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

    rate_hz: Annotated[float, Meta(ge=MIN_RATE_HZ, le=MAX_RATE_HZ)] | None = None
    transport: Literal["datagram", "stream"] = "datagram"
    actuator: ActuatorName = "newest"
    horizon: HorizonWord | None = None
    fallback: FallbackName = "neutral"
    hold_limit_ticks: Annotated[int, Meta(ge=1, le=_MAX_HOLD_TICKS)] | None = None
    link: Annotated[str, Meta(min_length=1, max_length=100)] = "edge-agent"
    features: FeatureSpec = FeatureSpec()

    def __post_init__(self) -> None:
        take_numpy_numbers(self)

    def check(self) -> None:
        """Refuse what contradicts itself, has no effect, or is not there.

        Raises:
            SpecError: Names the field.
        """
        if not isinstance(self.features, FeatureSpec):
            what = type(self.features).__name__
            raise SpecError(f"{what}: must be a FeatureSpec", key="features", hint="features=FeatureSpec(stack=3)")
        check_types(self, "network options", "docs/virtual-network.md has the options and what they may be")
        asked = Combination(
            actuator=self.actuator,
            fallback=self.fallback,
            horizon=self.horizon,
            hold_limit_ticks=self.hold_limit_ticks,
        )
        refuse_clashes(asked, _WORDS)
        if ACTUATOR_TRAITS[self.actuator].asks_again and self.features.actions:
            problem = "asks about ticks again that were decided before: features cannot remember decisions"
            raise SpecError(
                f"{self.actuator} {problem}",
                key="features.actions",
                hint="features without actions, or actuator='scheduled'",
            )

    @property
    def horizon_ticks(self) -> int:
        """D as both halves are told it: a number, or ``ADAPTIVE_HORIZON``; 1 where there is none."""
        return 1 if self.horizon is None else horizon_number(self.horizon)

    def make_actuator(self) -> Actuator:
        """Return a fresh actuator."""
        return make_actuator(self.actuator, self.horizon_ticks)

    def make_fallback(self) -> Fallback:
        """Return a fresh fallback."""
        return make_fallback(self.fallback, self.hold_limit_ticks)


def checked_options(options: object) -> NetworkOptions:
    """Return options that an environment can be made with.

    Raises:
        SpecError: They are none, or contradict one another.
    """
    if not isinstance(options, NetworkOptions):
        hint = "NetworkOptions(...) of netlab.envs.virtual.options, or left out"
        raise SpecError(f"{type(options).__name__}: must be NetworkOptions", key="options", hint=hint)
    options.check()
    return options
