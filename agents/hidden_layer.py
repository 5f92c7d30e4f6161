"""Hidden layers: a tanh layer a member, trained in plain numpy on what the linear members leave unexplained.

::

    x [n, i] --hidden_weight, hidden_bias--> tanh [K, n, h] --output_weight--> explained [K, n, d]

All members are trained side by side, each on the rows it has drawn. Source of the optimiser: Kingma and Ba
2015, arXiv 1412.6980, algorithm 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["Adam", "fit_hidden_layers"]

Array = NDArray[np.float64]

_BATCH_ROWS = 128
_STEPS = 3000
_RATE = 3e-3


class Adam:
    """Step parameters against their gradients, in place.

    Args:
        parameters: By name.
    """

    def __init__(self, parameters: dict[str, Array]) -> None:
        self._parameters = parameters
        self._first = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._second = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._steps = 0

    def step(self, gradients: dict[str, Array], rate: float) -> None:
        """Take one step."""
        beta_1, beta_2, epsilon = 0.9, 0.999, 1e-8
        self._steps += 1
        rate *= math.sqrt(1.0 - beta_2**self._steps) / (1.0 - beta_1**self._steps)
        for name, gradient in gradients.items():
            first, second = self._first[name], self._second[name]
            first += (1.0 - beta_1) * (gradient - first)
            second += (1.0 - beta_2) * (gradient * gradient - second)
            self._parameters[name] -= rate * first / (np.sqrt(second) + epsilon)


def fit_hidden_layers(
    x: Array, y: Array, draws: list[NDArray[np.int64]], hidden: int, rng: np.random.Generator
) -> tuple[dict[str, Array], Array]:
    """Return the layers' tensors and what they explain of ``y`` ``[K, n, d]``.

    Args:
        x: Inputs ``[n, i]``.
        y: What each member is to explain ``[K, n, d]``.
        draws: Rows that each member is trained on.
        hidden: Units.
        rng: Of first weights and batches.
    """
    k, _, d = y.shape
    inputs = x.shape[1]
    scale = np.maximum(np.sqrt(np.mean(y**2, axis=(0, 1))), 1e-300)
    target = y / scale
    layers = {
        "hidden_weight": rng.normal(size=(k, inputs, hidden)) / math.sqrt(inputs),
        "hidden_bias": rng.normal(size=(k, 1, hidden)) * 0.1,
        "output_weight": np.zeros((k, hidden, d)),
    }
    optimiser, rows = Adam(layers), np.stack(draws)
    member = np.arange(k)[:, None]
    for step in range(_STEPS):
        batch = rows[:, rng.integers(rows.shape[1], size=_BATCH_ROWS)]
        gradients = _gradients(layers, x[batch], target[member, batch])
        optimiser.step(gradients, _RATE * 0.5 * (1.0 + math.cos(math.pi * step / _STEPS)))
    units = np.tanh(x @ layers["hidden_weight"] + layers["hidden_bias"])
    layers["output_weight"] = layers["output_weight"] * scale
    explained = units @ layers["output_weight"]
    layers["hidden_bias"] = layers["hidden_bias"][:, 0, :]
    return layers, explained


def _gradients(layers: dict[str, Array], x: Array, y: Array) -> dict[str, Array]:
    """Return the gradients of half the mean squared error over ``x`` ``[K, B, i]``, ``y`` ``[K, B, d]``."""
    units = np.tanh(x @ layers["hidden_weight"] + layers["hidden_bias"])
    error = (units @ layers["output_weight"] - y) / x.shape[1]
    back = (error @ layers["output_weight"].transpose(0, 2, 1)) * (1.0 - units * units)
    return {
        "hidden_weight": x.transpose(0, 2, 1) @ back,
        "hidden_bias": back.sum(axis=1, keepdims=True),
        "output_weight": units.transpose(0, 2, 1) @ error,
    }
