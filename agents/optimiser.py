"""Optimiser: Adam over all weights of a network as one vector.

The weights of the network become views of one vector, and their gradients of another. Clipping and Adam are then
eight operations, whatever the number of layers; for weights as few as a policy's, it is calls that cost time. The
state is two vectors and a count, which is all a checkpoint needs.

Source: Kingma and Ba 2014, arXiv 1412.6980, Algorithm 1; epsilon as torch.optim.Adam places it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

__all__ = ["Optimiser"]

_BETA_1, _BETA_2 = 0.9, 0.999
_TINY = 1e-6


class Optimiser:
    """Steps the weights of a network along their gradient.

    Args:
        network: Views taken of its weights before are stale: take them anew.
        epsilon: Adam's.

    Attributes:
        first: First moment m, ``[weights]``.
        second: Second moment v, ``[weights]``.
        steps: t.
    """

    def __init__(self, network: nn.Module, epsilon: float) -> None:
        parameters = list(network.parameters())
        self._epsilon = epsilon
        self._weights = torch.cat([one.detach().reshape(-1) for one in parameters])
        self._gradient = torch.zeros_like(self._weights)
        self.first, self.second = torch.zeros_like(self._weights), torch.zeros_like(self._weights)
        self.steps = 0
        place = 0
        for one in parameters:
            behind = place + one.numel()
            one.data = self._weights[place:behind].view_as(one)
            one.grad = self._gradient[place:behind].view_as(one)
            place = behind

    def zero(self) -> None:
        """Set the gradient to 0."""
        self._gradient.zero_()

    def step(self, learning_rate: float, most_norm: float) -> Tensor:
        """Shorten the gradient to ``most_norm``, step, and return its norm from before (a scalar)."""
        gradient, first, second = self._gradient, self.first, self.second
        norm: Tensor = torch.linalg.vector_norm(gradient)
        gradient.mul_((most_norm / (norm + _TINY)).clamp_(max=1.0))
        self.steps += 1
        first.lerp_(gradient, 1.0 - _BETA_1)
        second.mul_(_BETA_2).addcmul_(gradient, gradient, value=1.0 - _BETA_2)
        first_correction, second_correction = 1.0 - _BETA_1**self.steps, 1.0 - _BETA_2**self.steps
        deviation = second.sqrt().div_(math.sqrt(second_correction)).add_(self._epsilon)
        self._weights.addcdiv_(first, deviation, value=-learning_rate / first_correction)
        return norm

    @property
    def finite(self) -> bool:
        """Tell whether every weight is finite."""
        return bool(torch.isfinite(self._weights).all())
