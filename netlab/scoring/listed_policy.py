"""ListedPolicy: a policy that can be named, as ``netlab agent policies`` lists it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from netlab.agents.policy import RECIPES
from netlab.agents.policy_card import Training
from netlab.agents.shipped_policies import shipped_policies
from netlab.messages import ActuatorName, HorizonWord, horizon_word
from netlab.scoring.entrant import find_entrant

__all__ = ["ListedPolicy", "list_policies"]


class ListedPolicy(Struct, frozen=True, kw_only=True):
    """What is known of a policy before it is played.

    Attributes:
        name: As people type it, the seed of a trained one included.
        summary: What it does, in one line.
        task: What it controls.
        actuator: What plays its actions unless told otherwise.
        horizon_ticks: D of ``scheduled`` or ``planned``, or ``adaptive``; None where none is fixed.
        predictor: What says which state a decision meets; empty of one that is code.
        training: What made it; None of one that is code.
        sha256: Of its file; empty of one that is code.
    """

    name: str
    summary: str
    task: str
    actuator: ActuatorName
    horizon_ticks: HorizonWord | None
    predictor: str
    training: Training | None
    sha256: str

    @classmethod
    def of(cls, name: str) -> ListedPolicy:
        """Return what is known of the policy of this name.

        Raises:
            SpecError: There is none.
        """
        entrant = find_entrant(name)
        card = None if entrant.file is None else entrant.file.card
        return cls(
            name=name,
            summary=entrant.recipe.summary,
            task=entrant.task,
            actuator=entrant.actuator,
            horizon_ticks=horizon_word(entrant.recipe.horizon_ticks),
            predictor="" if card is None else card.predictor,
            training=None if card is None else card.training,
            sha256=entrant.recipe.sha256,
        )


def list_policies() -> Iterator[ListedPolicy]:
    """List those that are code, then the shipped ones, seed by seed."""
    for name in (*RECIPES, *shipped_policies()):
        yield ListedPolicy.of(name)
