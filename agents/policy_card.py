"""PolicyCard: what a saved policy is for, what it must be shown, and what made it.

Data alone; the numbers stand beside it in the file (``policy_file``).
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from netlab.agents.model_card import ModelCard
from netlab.agents.ppo_config import GridLayout
from netlab.control.feature_spec import FeatureSpec
from netlab.messages import HORIZON_ACTUATORS, MAX_ACTIONS, ActuatorName, ShortText, TaskDescription

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
    seed: Annotated[int, Meta(ge=0)]
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
        horizon_ticks: D it is meant for; None where none is fixed.
        fallback: What is meant to be played where no action is there; ``neutral`` where an older file has none.
        predictor: What says which state a decision meets: ``none``, ``cartpole-physics``, or ``learned``.
        model: Card of the learned model that is in the same file; None without one.
        training: What made it; None where nobody says.
    """

    format: Literal[1] = 1
    name: ShortText
    summary: ShortText = ""
    kind: Literal["mlp", "lstm"]
    task: TaskDescription
    features: FeatureSpec
    grid: GridLayout | None = None
    choose: Literal["greedy", "sampled"] = "greedy"
    sampling_seed: Annotated[int, Meta(ge=0)] = 0
    actuator: ActuatorName = "newest"
    horizon_ticks: Annotated[int, Meta(ge=1, le=MAX_ACTIONS)] | None = None
    fallback: Literal["neutral", "hold"] = "neutral"
    predictor: Literal["none", "cartpole-physics", "learned"] = "none"
    model: ModelCard | None = None
    training: Training | None = None

    @property
    def remembers_decisions(self) -> bool:
        """Whether what it decides depends on what it was asked before: then ``planned`` cannot ask it anew."""
        return self.kind == "lstm" or self.features.actions > 0

    @property
    def scheduled_ticks(self) -> int | None:
        """D where it is meant to be ``scheduled`` or ``planned`` with one; None where it is not, or with no D."""
        return self.horizon_ticks if self.actuator in HORIZON_ACTUATORS else None
