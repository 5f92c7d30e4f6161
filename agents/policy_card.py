"""PolicyCard: what a saved policy is for, what it must be shown, and what made it.

Data alone; the numbers stand beside it in the file (``policy_file``).
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.agents.model_card import ModelCard
from netlab.agents.ppo_config import GridLayout
from netlab.control.feature_spec import FeatureSpec
from netlab.messages import (
    ActuatorName,
    FallbackName,
    HorizonWord,
    Seed,
    ShortText,
    TaskDescription,
    horizon_number,
)

__all__ = ["PolicyCard", "Training"]

LongText = Annotated[str, Meta(max_length=20_000)]


class Training(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What made a policy, so that it can be made again.

    Attributes:
        command: As typed, less what only resumed a run.
        seed: Of the training run.
        steps: Steps of all environments together.
        versions: Of netlab, torch, numpy, python.
        network: What it was trained behind, in the words of recipe or command: ``random``, ``none``, a path.
        scores: Nothing: files of this format have the key, empty.
    """

    command: LongText
    seed: Seed
    steps: Annotated[int, Meta(ge=0)]
    versions: Annotated[dict[ShortText, ShortText], Meta(max_length=32)] = {}
    network: LongText = ""
    scores: Annotated[dict[ShortText, float], Meta(max_length=0)] = {}


class PolicyCard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a policy file says of itself.

    Attributes:
        format: Of the file; changes when an older netlab could no longer read it.
        name: What people call it.
        summary: What it is, in one line.
        kind: ``mlp`` or ``lstm``; a linear policy is an MLP without a hidden layer.
        task: What it controls, spaces included.
        features: What it is shown of each question.
        grid: Where a grid stands in the features, to be seen one-hot; ``lstm`` only.
        choose: ``greedy`` plays the likeliest action, ``sampled`` draws one.
        sampling_seed: Of the draws, beside the run's seed and the episode's number (``episode_draws``).
        actuator: What it is meant to be played out by.
        horizon_ticks: D it is meant for, or ``adaptive``; None where it is to fit the network.
        fallback: What is meant to be played where no action is there; ``neutral`` where an older file has none.
        predictor: What says which state a decision meets: ``none``, ``cartpole-physics``, or ``learned``.
        model: Card of the learned model that is in the same file; None without one.
        training: What made it; None where nobody says.
    """

    format: Literal[1] = 1
    name: Annotated[ShortText, Meta(min_length=1)]
    summary: ShortText = ""
    kind: Literal["mlp", "lstm"]
    task: TaskDescription
    features: FeatureSpec
    grid: GridLayout | None = None
    choose: Literal["greedy", "sampled"] = "greedy"
    sampling_seed: Seed = 0
    actuator: ActuatorName = "newest"
    horizon_ticks: HorizonWord | None = None
    fallback: FallbackName = "neutral"
    predictor: Literal["none", "cartpole-physics", "learned"] = "none"
    model: ModelCard | None = None
    training: Training | None = None

    @property
    def remembers_decisions(self) -> bool:
        """Whether what it decides depends on what it was asked before: then it cannot be asked anew."""
        return self.kind == "lstm" or self.features.actions > 0

    @property
    def scheduled_ticks(self) -> int | None:
        """D as both halves are told it; None where its actuator has none, or none is fixed."""
        return horizon_number(self.horizon_ticks) if ACTUATOR_TRAITS[self.actuator].has_horizon else None
