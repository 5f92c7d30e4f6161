"""The models of networks that schedules are generated from, by name.

::

    "handover", {"slot": "15s"}, Timing(seed=7, duration_s=300) --generate--> ProfilePair of two Schedules
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from netlab.did_you_mean import did_you_mean
from netlab.errors import ProfileError
from netlab.traces.pair import ProfilePair
from netlab.traces.provenance import Provenance
from netlab.traces.quantity import shown
from netlab.traces.synthetic.handover import Handover
from netlab.traces.synthetic.jamming import Jamming
from netlab.traces.synthetic.markov_levels import MarkovLevels
from netlab.traces.synthetic.parameter import parameters_of, read_parameters
from netlab.traces.synthetic.random_walk import RandomWalk
from netlab.traces.synthetic.timing import Timing
from netlab.units import format_duration

__all__ = ["MODELS", "AnyModel", "Model", "generate"]

AnyModel = RandomWalk | MarkovLevels | Handover | Jamming


class Model(NamedTuple):
    """A model of a network.

    Attributes:
        about: What it is, in a line.
        kind: Its parameters, with units and defaults; ``schedules(timing)`` makes both directions.
    """

    about: str
    kind: type[RandomWalk] | type[MarkovLevels] | type[Handover] | type[Jamming]


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
    kind = MODELS[name].kind
    try:
        model = kind(**read_parameters(kind, texts))  # type: ignore[arg-type]  # read by the fields' own types
        forward, back = model.schedules(timing)
    except ProfileError as error:
        raise ProfileError(f"{name}: {error.message}", hint=error.hint) from None
    length = f"{format_duration(timing.duration_s)}{', then again' if timing.loop else ''}"
    return ProfilePair(
        name=name,
        forward=forward,
        back=back,
        description=f"generated: {MODELS[name].about}; {length}",
        provenance=Provenance(
            method=f"generator {name}: {written_parameters(model)}"[:300],
            assumptions=("a model's schedule: nothing of it was measured",),
            seed=timing.seed,
        ),
    )


def written_parameters(model: Struct) -> str:
    """Return a model's parameters as a person writes them."""
    return " ".join(
        f"{key}={parameter._replace(default=getattr(model, parameter.field)).default_text}"
        for key, parameter in parameters_of(type(model)).items()
    )
