"""ModelCard: what a learned model is of, what it was fitted to, and how wrong it was where it had not looked."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from netlab.messages import ShortText, Space

__all__ = ["MAX_MEMBERS", "HorizonError", "ModelCard"]

MAX_DEGREE = 3
MAX_MEMBERS = 32
MAX_HIDDEN = 512
MAX_DIMENSIONS = 64
"""Of an observation, flattened: a model of pixels is another thing."""

PerDimension = Annotated[tuple[float, ...], Meta(max_length=MAX_DIMENSIONS)]


class HorizonError(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far predictions so many ticks ahead were from what came, on transitions held out.

    Attributes:
        ticks: How far ahead; the actions in between are given.
        windows: How many stretches of that length were predicted; 0 where no held-out episode is so long.
        rmse: Root mean square error of each dimension, in the observation's own units.
        still_rmse: The same of predicting that nothing changes.
        sd: Mean standard deviation the model itself gives.
        covered_ratio: Share of the errors within two of those deviations, over all dimensions.
    """

    ticks: Annotated[int, Meta(ge=1)]
    windows: Annotated[int, Meta(ge=0)]
    rmse: PerDimension = ()
    still_rmse: PerDimension = ()
    sd: PerDimension = ()
    covered_ratio: float | None = None


class ModelCard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a learned model says of itself.

    Attributes:
        task: Name of the task.
        observation: Space of its observations: a box of floats.
        action: Space of its actions.
        degree: Highest degree of the monomials of state and action that it is linear in.
        members: How many models were fitted, each to rows drawn with replacement.
        hidden: Units of each member's hidden layer; 0 where it is linear.
        rows: Transitions it was fitted to.
        neutral_rows: How many of those applied the neutral action; where none did, neutral is an extrapolation.
        held_out_rows: Transitions kept back to measure the errors.
        seed: Of split, rows drawn and training.
        errors: Measured on what was kept back.
        source: Where the transitions come from.
        versions: Of what made it.
    """

    task: ShortText
    observation: Space
    action: Space
    degree: Annotated[int, Meta(ge=1, le=MAX_DEGREE)]
    members: Annotated[int, Meta(ge=1, le=MAX_MEMBERS)]
    hidden: Annotated[int, Meta(ge=0, le=MAX_HIDDEN)] = 0
    rows: Annotated[int, Meta(ge=0)] = 0
    neutral_rows: Annotated[int, Meta(ge=0)] = 0
    held_out_rows: Annotated[int, Meta(ge=0)] = 0
    seed: Annotated[int, Meta(ge=0)] = 0
    errors: Annotated[tuple[HorizonError, ...], Meta(max_length=16)] = ()
    source: ShortText = ""
    versions: Annotated[dict[ShortText, ShortText], Meta(max_length=16)] = {}
