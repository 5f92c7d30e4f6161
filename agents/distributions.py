"""Distributions over actions, as PPO needs them: the log-probability and the entropy, in torch.

The network's output is all there is to a distribution, so these keep no state. How one is drawn from, which
needs no torch, is in ``agents/acting.py``.
"""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor

from netlab.messages import Space

__all__ = ["Categorical", "DiagonalGaussian", "Distribution", "distribution_of"]

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


class Distribution(Protocol):
    """What PPO asks of a distribution."""

    def log_prob_and_entropy(self, output: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return log pi(a|s) and the entropy of pi(.|s), ``[b]`` each.

        Args:
            output: Of the policy network, ``[b, k]``.
            actions: What was drawn, ``[b]`` or ``[b, m]``.
        """
        ...


class Categorical:
    """One of n actions; the output is their logits ``[b, n]``."""

    def log_prob_and_entropy(self, output: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return log pi(a|s) and the entropy, for actions ``[b]`` int64."""
        log_probs = torch.log_softmax(output, dim=1)
        entropy = -(log_probs.exp() * log_probs).sum(dim=1)
        return log_probs.gather(1, actions.unsqueeze(1)).squeeze(1), entropy


class DiagonalGaussian:
    """Independent normal numbers; the output is their means and the logs of their deviations ``[b, 2 m]``."""

    def log_prob_and_entropy(self, output: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return log pi(a|s) and the entropy, for actions ``[b, m]`` as drawn, before they were clipped."""
        mean, log_sd = output.chunk(2, dim=1)
        z = (actions - mean) * torch.exp(-log_sd)
        log_prob = (-0.5 * z * z - log_sd - _HALF_LOG_2PI).sum(dim=1)
        return log_prob, (log_sd + 0.5 + _HALF_LOG_2PI).sum(dim=1)


def distribution_of(action: Space) -> Distribution:
    """Return the distribution over the actions of a space."""
    return Categorical() if action.kind == "discrete" else DiagonalGaussian()
