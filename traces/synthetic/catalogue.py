"""The models of networks that schedules are generated from, by name.

::

    "handover", {"slot": "15s"}, Timing(seed=7, duration_s=300) --generate--> ProfilePair of two Schedules
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol

from msgspec import Struct

from netlab.did_you_mean import did_you_mean
from netlab.errors import ProfileError
from netlab.traces.pair import ProfilePair
from netlab.traces.provenance import Provenance
from netlab.traces.quantity import shown
from netlab.traces.schedule import Schedule
from netlab.traces.synthetic.handover import Handover
from netlab.traces.synthetic.jamming import Jamming
from netlab.traces.synthetic.markov_levels import MarkovLevels
from netlab.traces.synthetic.parameter import SEPARATOR, Parameter, parameters_of, read_parameters
from netlab.traces.synthetic.random_walk import RandomWalk
from netlab.traces.synthetic.timing import Timing
from netlab.units import format_duration

__all__ = ["MODELS", "GivesSchedules", "Model", "generate"]

_WORDS = 280
"""Characters of a line of a provenance, with room for what stands before them."""


class GivesSchedules(Protocol):
    """A model with its parameters."""

    def schedules(self, timing: Timing) -> tuple[Schedule, Schedule]:
        """Return both directions.

        Raises:
            ProfileError: Its parameters and the timing give no schedule.
        """
        ...


class Model(NamedTuple):
    """A model of a network.

    Attributes:
        about: What it is, in a line.
        kind: Its parameters, with units and defaults: a Struct's fields.
    """

    about: str
    kind: Callable[..., GivesSchedules]

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Its parameters by the keys that a person writes."""
        return parameters_of(self._struct)

    def read(self, texts: Mapping[str, str]) -> GivesSchedules:
        """Return the model with the parameters that texts by key mean, else the defaults.

        Raises:
            ProfileError: No such parameter, or values that contradict one another.
        """
        return self.kind(**read_parameters(self._struct, texts))

    @property
    def _struct(self) -> type[Struct]:
        assert isinstance(self.kind, type) and issubclass(self.kind, Struct)
        return self.kind


MODELS: dict[str, Model] = {
    "random-walk": Model("a delay that wanders, each direction by itself", RandomWalk),
    "markov-levels": Model(
        "stays in states, each with delay, spread, loss and rate: cellular, Wi-Fi", MarkovLevels
    ),
    "handover": Model("a new delay every slot, an outage and a peak in between: satellite", Handover),
    "jamming": Model("windows in which all or most is lost, periodic or random", Jamming),
}


def generate(name: str, texts: Mapping[str, str], timing: Timing) -> ProfilePair:
    """Return a pair of schedules that a model gives; the same seed gives the same pair for ever.

    Args:
        name: Of the model.
        texts: Parameters that are not to be the defaults, by key, as a person writes them.
        timing: Seed, duration, step and loop.

    Raises:
        ProfileError: No such model or parameter, or values that contradict one another.
    """
    if name not in MODELS:
        hint = did_you_mean(name, MODELS) or f"there are {', '.join(MODELS)}"
        raise ProfileError(f"{shown(name)}: no such model", hint=hint)
    try:
        model = MODELS[name].read(texts)
        forward, back = model.schedules(timing)
    except ProfileError as error:
        raise ProfileError(f"{name}: {error.message}", hint=error.hint) from None
    length = f"{format_duration(timing.duration_s)}{', then again' if timing.loop else ''}"
    return ProfilePair(
        name=name,
        forward=forward,
        back=back,
        description=f"generated: {MODELS[name].about}; {length}",
        provenance=_provenance(name, model, timing),
    )


def _provenance(name: str, model: GivesSchedules, timing: Timing) -> Provenance:
    """Return all that it takes to make the schedules again, as it would be typed, in lines that fit."""
    words = f"duration={format_duration(timing.duration_s)} step={format_duration(timing.step_s)} "
    words += f"loop={'true' if timing.loop else 'false'}"
    lines = list(_lines(f"{words} {written_parameters(name, model)}"))
    return Provenance(
        method=f"generator {name}: {lines[0]}",
        assumptions=(
            *(f"parameters, continued: {line}" for line in lines[1:]),
            "a model's schedule: nothing of it was measured",
        ),
        seed=timing.seed,
    )


def written_parameters(name: str, model: GivesSchedules) -> str:
    """Return a model's parameters as a person writes them: ``KEY=VALUE``, apart by spaces."""
    return " ".join(
        f"{key}={parameter._replace(default=getattr(model, parameter.field)).default_text}"
        for key, parameter in MODELS[name].parameters.items()
    )


def _lines(text: str) -> Iterator[str]:
    """Cut a text where a parameter ends, or behind the ``/`` of a list that is too long for a line."""
    most = _WORDS - max(len("parameters, continued: "), len("generator markov-levels: "))
    while len(text) > most:
        at = text.rfind(" ", 0, most + 1)
        if at > 0:
            yield text[:at]
            text = text[at + 1 :]
        else:
            at = text.rfind(SEPARATOR, 0, most) + 1
            yield text[:at]
            text = text[at:]
    yield text
