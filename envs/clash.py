"""Clash: what may not go with an actuator, in one place for all who ask for one.

::

    EnvConfig, NetworkOptions, EpisodeSpec, RunRequest --refuse_clashes--> SpecError, in the asker's own words

Knows what contradicts itself; what a field is called there and how it is mended the caller says. Loads msgspec
alone.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from os import PathLike

from msgspec import Struct

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.errors import SpecError
from netlab.messages import ActuatorName

__all__ = ["Clash", "Combination", "Words", "refuse_clashes"]


class Clash(enum.Enum):
    """What does not go together."""

    NO_HORIZON = "an actuator that needs a D, and none"
    HORIZON = "a D, and an actuator without one"
    FALLBACK = "an actuator that plays each decision once, and a fallback that plays other actions"
    HOLD_LIMIT = "how long to hold, and a fallback that holds nothing"


class Words(Struct, frozen=True):
    """How the caller speaks of a clash.

    Attributes:
        key: The field to be changed.
        hint: To what.
    """

    key: str
    hint: str


class Combination(Struct, frozen=True, kw_only=True):
    """How a task is asked to be controlled.

    Attributes:
        actuator: Its name.
        fallback: Its name; None where it is chosen later, to fit the actuator.
        horizon: D, as it was asked for; None for none.
        hold_limit_ticks: The most ticks in a row that ``hold`` holds; None for its default.
    """

    actuator: ActuatorName
    fallback: str | None = "neutral"
    horizon: int | str | None = None
    hold_limit_ticks: int | None = None

    def clashes(self) -> dict[Clash, str]:
        """Return what does not go together, and a sentence on each."""
        actuator, fallback = self.actuator, self.fallback
        traits = ACTUATOR_TRAITS[actuator]
        found = {}
        if traits.has_horizon and self.horizon is None:
            found[Clash.NO_HORIZON] = f"the {actuator} actuator needs a horizon"
        if not traits.has_horizon and self.horizon is not None:
            found[Clash.HORIZON] = f"{self.horizon}: the {actuator} actuator has no horizon"
        if traits.only_fallback is not None and fallback not in (None, traits.only_fallback):
            found[Clash.FALLBACK] = (
                f"{fallback!r}: {actuator} plays each decision once, this fallback would add others"
            )
        if fallback != "hold" and self.hold_limit_ticks is not None:
            found[Clash.HOLD_LIMIT] = f"{self.hold_limit_ticks}: the {fallback} fallback holds nothing"
        return found


def refuse_clashes(asked: Combination, words: Mapping[Clash, Words], path: str | PathLike[str] = "") -> None:
    """Refuse what contradicts itself or would have no effect.

    Args:
        asked: For what.
        words: How to say it; a clash that is not in it is none here, as a D that is found out later.
        path: The file that asks; empty for none.

    Raises:
        SpecError: Names the field, and in its hint what to do.
    """
    for clash, problem in asked.clashes().items():
        if clash in words:
            raise SpecError(problem, path, words[clash].key, words[clash].hint)
