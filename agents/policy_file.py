"""Policy files: one policy in one file, its network's tensors, its learned model's, and the card about them.

::

    NAME.safetensors
      __metadata__.netlab   PolicyCard as JSON
      actor.*, lstm.*, ...  the network, as policy_network.py names its tensors
      model.*               the learned model's, as model_columns.py names its; where the card has a model

The model is in the same file, so that a policy is never served with another one's. What is read is checked whole:
a file that opens can be served.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

from msgspec import Struct
from numpy.typing import NDArray

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.agents.learned_model import LearnedModel
from netlab.agents.policy_card import PolicyCard
from netlab.agents.policy_network import Weights, make_policy_network
from netlab.agents.tensor_file import SUFFIX, card_format, decode_tensors, read_file, write_tensors
from netlab.errors import SpecError
from netlab.messages import Space

__all__ = ["SUFFIX", "PolicyFile", "read_policy", "write_policy"]

MAX_BYTES = 1 << 26
"""64 MB: sixteen million numbers. The largest policy of netlab's own has a quarter of a million."""

_WHAT = "a policy file"
_HINT = (
    f"netlab train writes policy files, which end in {SUFFIX}; of a run's checkpoint, netlab train RECIPE --export"
)
_CHECKPOINT = "netlab-ppo-"
"""How the format of a checkpoint begins, which people take for a policy."""
_CHECKPOINT_HINT = (
    "what makes a policy of it: netlab train RECIPE --export, with the words that began the run; of a Trainer's "
    "in Python, export_policy and write_policy (docs/your-own-controller.md)"
)
_MODEL = "model."


class PolicyFile(Struct, frozen=True):
    """What a policy file holds.

    Attributes:
        card: What the policy is.
        weights: Tensors of its network by name, float32.
        model: Its learned model; None without one.
        sha256: Of the bytes it was read from, in hexadecimal: which policy this is, as names are not unique;
            empty of one that was not read from a file.
    """

    card: PolicyCard
    weights: Weights
    model: LearnedModel | None = None
    sha256: str = ""

    def problem(self) -> str:
        """Return how the parts contradict each other; empty where they do not."""
        card, model = self.card, self.model
        traits = ACTUATOR_TRAITS[card.actuator]
        if traits.only_fallback not in (None, card.fallback):
            return f"{card.actuator} plays each decision once, and fallback {card.fallback!r} would repeat one"
        if traits.asks_again and card.remembers_decisions:
            problem = "asks anew about ticks that were decided, which a policy that remembers cannot answer"
            return f"{card.actuator} {problem}"
        if (card.predictor == "learned") != (model is not None) or card.model != (model and model.card):
            return "predictor 'learned' and a model in the file go together"
        if model is not None and model.card.observation.shape != card.task.observation.shape:
            return "the model's observations are not the task's"
        if model is not None and _form(model.card.action) != _form(card.task.action):
            return "the model's actions are not the task's"
        return self._physics_problem() or self._network_problem()

    def _physics_problem(self) -> str:
        task = self.card.task
        if self.card.predictor == "cartpole-physics" and (task.observation.shape, task.action.n) != ((4,), 2):
            return "the physics of CartPole has 4 observations and 2 actions"
        return ""

    def _network_problem(self) -> str:
        try:
            make_policy_network(self.card, self.weights)
        except SpecError as error:
            return str(error)
        return ""


def _form(space: Space) -> tuple[str, tuple[int, ...], int]:
    return space.kind, space.shape, space.n


def read_policy(path: str | os.PathLike[str]) -> PolicyFile:
    """Return the policy in a file, which is read once.

    Raises:
        SpecError: It cannot be read or is not one.
    """
    data = read_file(path, max_bytes=MAX_BYTES, what=_WHAT, hint=_HINT)
    if card_format(data).startswith(_CHECKPOINT):
        raise SpecError(f"is a training run's checkpoint, not {_WHAT}", path, hint=_CHECKPOINT_HINT)
    card, tensors = decode_tensors(data, path, PolicyCard, _WHAT, _HINT)
    model = {name.removeprefix(_MODEL): one for name, one in tensors.items() if name.startswith(_MODEL)}
    weights = {name: one for name, one in tensors.items() if not name.startswith(_MODEL)}
    try:
        learned = None if card.model is None else LearnedModel(card.model, model)
        file = PolicyFile(card, weights, learned, hashlib.sha256(data).hexdigest())
        problem = file.problem() or (
            "tensors of a model, which the card lacks" if model and not file.model else ""
        )
    except SpecError as error:
        problem = str(error)
    if problem:
        raise SpecError(f"is not {_WHAT}: {problem}", path, hint=_HINT)
    return file


def write_policy(file: PolicyFile, path: str | os.PathLike[str]) -> None:
    """Write a policy file, whole or not at all; the same policy gives the same bytes.

    Raises:
        SpecError: The parts contradict each other, or no such file can be written.
        KernelError: The disk takes no more.
        LocalProtocolError: It could not be read again: too large, or a number that is not finite.
    """
    problem = file.problem()
    if problem:
        raise SpecError(problem, path, "policy")
    tensors: dict[str, NDArray[Any]] = dict(file.weights)
    if file.model is not None:
        tensors |= {f"{_MODEL}{name}": one for name, one in file.model.tensors.items()}
    write_tensors(path, file.card, tensors, max_bytes=MAX_BYTES)
