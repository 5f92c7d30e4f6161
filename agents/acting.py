"""Acting: the policy network's forward pass and the draw of an action, in numpy.

Needs no torch, so that a trained policy runs where torch is not. Whoever trains hands in views of torch's own
weights: these classes read them at each call and never write.

::

    weights {name: array} --make_actor--> Actor: observations [n, d], state --act--> output [n, k], state
                                          Sampler: output [n, k] --sample--> actions --played--> what is sent
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from netlab.agents.ppo_config import GridLayout, PPOConfig
from netlab.errors import SpecError
from netlab.messages import Space

__all__ = [
    "Actor",
    "CategoricalSampler",
    "GaussianSampler",
    "Sampler",
    "make_actor",
    "make_sampler",
    "one_hot_cells",
    "require_cells",
]

Floats = NDArray[np.float32]
Weights = Mapping[str, NDArray[Any]]


class Actor(Protocol):
    """A policy network that can be asked; with a state per environment where it remembers."""

    state_units: int
    """Units of the state; 0 for none."""

    def act(self, observations: Floats, state: Floats) -> tuple[Floats, Floats]:
        """Return the output ``[n, k]`` and the next state.

        Args:
            observations: ``[n, d]``.
            state: ``[2, n, state_units]``: hidden and cell.
        """
        ...


class MLPActor:
    """Layers with tanh between them."""

    state_units = 0

    def __init__(self, weights: Weights) -> None:
        self._layers = _layers(weights, "actor")
        self._log_sd = weights.get("log_sd")

    def act(self, observations: Floats, state: Floats) -> tuple[Floats, Floats]:
        """Return the output and the state as it was."""
        x = observations
        for number, (weight, bias) in enumerate(self._layers):
            if number:
                np.tanh(x, out=x)
            x = x @ weight.T
            x += bias
        return _with_log_sd(x, self._log_sd), state


class LSTMActor:
    """[grid one-hot -> linear] -> linear -> LSTM -> linear."""

    def __init__(self, weights: Weights, grid: GridLayout | None) -> None:
        self._weights = weights
        self._grid = grid
        self._log_sd = weights.get("log_sd")
        self.state_units = weights["lstm.weight_hh_l0"].shape[1]

    def act(self, observations: Floats, state: Floats) -> tuple[Floats, Floats]:
        """Return the output and the next state, as torch.nn.LSTM steps it (gates in its order: i, f, g, o)."""
        weights, (hidden, cell) = self._weights, state
        gates = self._encode(observations) @ weights["lstm.weight_ih_l0"].T
        gates += hidden @ weights["lstm.weight_hh_l0"].T
        gates += weights["lstm.bias_ih_l0"] + weights["lstm.bias_hh_l0"]
        i, f, g, o = np.split(gates, 4, axis=1)
        after = np.empty_like(state)
        after[1] = _sigmoid(f) * cell + _sigmoid(i) * np.tanh(g)
        after[0] = _sigmoid(o) * np.tanh(after[1])
        return _with_log_sd(_linear(after[0], weights, "actor"), self._log_sd), after

    def _encode(self, observations: Floats) -> Floats:
        x, weights = observations, self._weights
        if self._grid is not None:
            cells = one_hot_cells(observations[:, self._grid.start : self._grid.stop], self._grid)
            seen = np.tanh(_linear(cells, weights, "grid"))
            x = np.concatenate(
                (seen, observations[:, : self._grid.start], observations[:, self._grid.stop :]), axis=1
            )
        return np.tanh(_linear(x, weights, "encoder"))


def make_actor(weights: Weights, config: PPOConfig) -> Actor:
    """Return the actor with these weights, by the names that ``agents/networks.py`` gives them."""
    return LSTMActor(weights, config.grid) if config.network == "lstm" else MLPActor(weights)


def one_hot_cells(numbers: Floats, grid: GridLayout) -> Floats:
    """Return a grid's integers ``[n, cells * integers]`` one-hot ``[n, one_hot_size]``, cell after cell.

    Raises:
        SpecError: A number is not one of those its place can take.
    """
    require_cells(numbers, grid)
    sizes = np.array(grid.sizes)
    values = numbers.reshape(len(numbers), grid.cells, len(grid.sizes)).astype(np.int64)
    places = np.arange(grid.cells)[:, None] * sizes.sum() + np.concatenate(([0], np.cumsum(sizes)[:-1]))
    cells = np.zeros((len(numbers), grid.one_hot_size), dtype=np.float32)
    rows = np.arange(len(numbers))[:, None] * grid.one_hot_size
    cells.reshape(-1)[(rows + (values + places).reshape(len(numbers), -1)).ravel()] = 1.0
    return cells


def require_cells(numbers: Floats, grid: GridLayout) -> None:
    """Refuse numbers ``[..., cells * integers]`` that are not a grid's.

    Raises:
        SpecError: A number is not one of those its place can take.
    """
    values = numbers.reshape(-1, len(grid.sizes))
    if not bool(((values >= 0.0) & (values < grid.sizes) & (values == np.floor(values))).all()):  # nan is none
        hint = "grid.start and grid.cells must be where the observation has its grid"
        problem = f"the observation's grid has values that are no whole numbers within 0 .. {grid.sizes} - 1"
        raise SpecError(problem, "", "grid", hint)


class Sampler(Protocol):
    """Draws actions from the output of the policy network."""

    def sample(self, output: Floats, rng: np.random.Generator) -> NDArray[Any]:
        """Return drawn actions ``[n]`` or ``[n, m]`` for an output ``[n, k]``."""
        ...

    def mode(self, output: Floats) -> NDArray[Any]:
        """Return the likeliest actions."""
        ...

    def played(self, actions: NDArray[Any]) -> NDArray[Any]:
        """Return the actions as an environment takes them, ``[n, *shape]``."""
        ...


class CategoricalSampler:
    """Draws one of n actions, ``[n]`` int64, from logits."""

    def sample(self, output: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return drawn actions: the largest logit, each with Gumbel noise, minus the log of an exponential."""
        noise = rng.standard_exponential(output.shape, dtype=np.float32)
        with np.errstate(divide="ignore"):  # a draw of exactly 0 is an infinite noise, rightly the winner
            drawn: NDArray[np.int64] = np.argmax(output - np.log(noise), axis=1)
        return drawn

    def mode(self, output: Floats) -> NDArray[np.int64]:
        """Return the actions with the largest logits."""
        likeliest: NDArray[np.int64] = np.argmax(output, axis=1)
        return likeliest

    def played(self, actions: NDArray[Any]) -> NDArray[Any]:
        """Return the actions as they are."""
        return actions


class GaussianSampler:
    """Draws ``[n, m]`` float32 from means and logs of deviations; clips what is sent to the action's bounds."""

    def __init__(self, action: Space) -> None:
        self._low = np.array(action.low or (-np.inf,), dtype=np.float64)
        self._high = np.array(action.high or (np.inf,), dtype=np.float64)
        self._shape, self._dtype = action.shape, np.dtype(action.dtype)

    def sample(self, output: Floats, rng: np.random.Generator) -> Floats:
        """Return mean + deviation * noise."""
        mean, log_sd = np.split(output, 2, axis=1)
        sd: Floats = np.exp(log_sd)
        drawn: Floats = mean + sd * rng.standard_normal(mean.shape, dtype=np.float32)
        return drawn

    def mode(self, output: Floats) -> Floats:
        """Return the means."""
        means: Floats = np.split(output, 2, axis=1)[0]
        return means

    def played(self, actions: NDArray[Any]) -> NDArray[Any]:
        """Return the actions within their bounds."""
        within: NDArray[Any] = np.clip(actions, self._low, self._high).astype(self._dtype)
        return within.reshape(len(actions), *self._shape)


def make_sampler(action: Space) -> Sampler:
    """Return what draws actions of a space."""
    return CategoricalSampler() if action.kind == "discrete" else GaussianSampler(action)


def _layers(weights: Weights, name: str) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    layers: list[tuple[NDArray[Any], NDArray[Any]]] = []
    while f"{name}.{len(layers)}.weight" in weights:
        layers.append((weights[f"{name}.{len(layers)}.weight"], weights[f"{name}.{len(layers)}.bias"]))
    return layers


def _linear(x: Floats, weights: Weights, name: str) -> Floats:
    y: Floats = x @ weights[f"{name}.weight"].T
    y += weights[f"{name}.bias"]
    return y


def _sigmoid(x: Floats) -> Floats:
    y: Floats = np.float32(0.5) * np.tanh(np.float32(0.5) * x) + np.float32(0.5)
    return y


def _with_log_sd(output: Floats, log_sd: NDArray[Any] | None) -> Floats:
    if log_sd is None:
        return output
    return np.concatenate((output, np.broadcast_to(log_sd, output.shape)), axis=1)
