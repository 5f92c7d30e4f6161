"""TrainingReport: what a training run came to, as one document."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from msgspec import Struct

import netlab
from netlab.agents.model_card import HorizonError
from netlab.agents.policy_card import PolicyCard
from netlab.agents.training_result import TrainingResult
from netlab.machine import machine
from netlab.training.recipe import TrainingRecipe

__all__ = ["TrainingReport"]


class TrainingReport(Struct, frozen=True, kw_only=True):
    """A run.

    Attributes:
        netlab: Version.
        recipe: What was trained, with every number.
        seed: Of everything that was random.
        policy: The file that was written; empty of a run that was stopped.
        sha256: Of that file; empty likewise.
        checkpoint: The file that a stopped run goes on from; empty where none is kept.
        run: How it went.
        model_errors: Of the learned model, on ticks kept back; empty where there is none.
        machine: Where it was trained.
    """

    netlab: str
    recipe: TrainingRecipe
    seed: int
    policy: str
    sha256: str
    checkpoint: str
    run: TrainingResult
    model_errors: tuple[HorizonError, ...]
    machine: dict[str, object]

    @classmethod
    def of(
        cls,
        recipe: TrainingRecipe,
        seed: int,
        run: TrainingResult,
        *,
        card: PolicyCard | None = None,
        policy: Path | None = None,
        checkpoint: str | os.PathLike[str] = "",
    ) -> TrainingReport:
        """Return the report of a run.

        Args:
            recipe: What was trained.
            seed: With which seed.
            run: How it went.
            card: Of the policy.
            policy: The file it is in.
            checkpoint: The checkpoint that is kept.
        """
        model = None if card is None else card.model
        return cls(
            netlab=netlab.__version__,
            recipe=recipe,
            seed=seed,
            policy="" if policy is None else str(policy),
            sha256="" if policy is None else hashlib.sha256(policy.read_bytes()).hexdigest(),
            checkpoint=os.fspath(checkpoint),
            run=run,
            model_errors=() if model is None else model.errors,
            machine=machine(),
        )
