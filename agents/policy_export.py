"""Policy export: from a network in training to a policy file.

::

    torch's weights by name, as numpy views --what acts--> copies, float32 --+--> PolicyFile
    card, learned model ---------------------------------------------------'

Imports no torch: whoever trains has its weights as numpy arrays already, to act on.
"""

from __future__ import annotations

import msgspec
import numpy as np

from netlab.agents.learned_model import LearnedModel
from netlab.agents.policy_card import PolicyCard
from netlab.agents.policy_file import PolicyFile
from netlab.agents.policy_network import Weights, network_shapes
from netlab.errors import SpecError

__all__ = ["export_policy"]


def export_policy(card: PolicyCard, weights: Weights, model: LearnedModel | None = None) -> PolicyFile:
    """Return the policy that ``write_policy`` writes.

    Args:
        card: What it is; its ``model`` is filled in.
        weights: The training's tensors by name; what does not act (a critic) is left behind.
        model: The one-step model in front of it, where its predictor is ``learned``.

    Raises:
        SpecError: A tensor is missing or has another shape, or a number in it is not finite.
    """
    names = network_shapes(card, weights)
    missing = sorted(set(names) - set(weights))
    if missing:
        raise SpecError(f"the network lacks {', '.join(missing)[:200]}", key="weights")
    kept = {name: np.array(weights[name], np.float32) for name in names}
    broken = next((name for name, weight in kept.items() if not np.isfinite(weight).all()), "")
    if broken:
        hint = "netlab train RECIPE --export makes a policy of a run's last good checkpoint"
        raise SpecError(f"{broken} holds a number that is not finite", key="weights", hint=hint)
    file = PolicyFile(msgspec.structs.replace(card, model=None if model is None else model.card), kept, model)
    problem = file.problem()
    if problem:
        raise SpecError(problem, key="policy")
    return file
