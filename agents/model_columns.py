"""ModelColumns: a learned one-step model's arithmetic, for many states at once.

::

    states [N, d]  --normalise, clip--> z --.
    actions, neutral --one-hot | scale----> a --> x [N, i] --monomials--> phi [N, F] --linear----.
                                                   `--- tanh layer, where there is one --------- + --> change
    next = states + change

A member is one fit; the prediction is the mean over members. That mean is itself linear in ``phi`` and in the
hidden units of all members side by side, so it costs one member's time. Each row is multiplied by itself, not
as a block, so that a state gives the same bits alone and among others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netlab.agents.model_card import MAX_DIMENSIONS, ModelCard
from netlab.errors import LocalProtocolError, SpecError

__all__ = ["InputEncoder", "ModelColumns", "Monomials", "tensor_shapes"]

Array = NDArray[np.float64]

_LIMIT = 1e3
"""No model holds a thousand deviations from what it was fitted to; beyond, changes stay as they are there."""
_MAX_MONOMIALS = 20_000
_MOST = float(np.finfo(np.float64).max) / 2**20
"""The most that may come of a sum within a model: a million such ticks on, a state is a number still."""


class Monomials:
    """All products of up to so many inputs, 1 first.

    Args:
        inputs: How many inputs there are.
        degree: How many factors at most.
    """

    def __init__(self, inputs: int, degree: int) -> None:
        factors = range(inputs)
        self._powers = [
            np.array(list(itertools.combinations_with_replacement(factors, n)), np.intp).T
            for n in range(2, degree + 1)
        ]
        self._inputs = inputs
        self.count = monomial_count(inputs, degree)

    def __call__(self, x: Array) -> Array:
        """Return the monomials ``[N, F]`` of inputs ``[N, i]``."""
        phi = np.empty((x.shape[0], self.count))
        phi[:, 0] = 1.0
        at = 1 + self._inputs
        phi[:, 1:at] = x
        for factors in self._powers:
            products = x[:, factors[0]]
            for column in factors[1:]:
                products = products * x[:, column]
            phi[:, at : at + products.shape[1]] = products
            at += products.shape[1]
        return phi


def monomial_count(inputs: int, degree: int) -> int:
    """Return how many monomials there are of so many inputs, up to a degree."""
    return math.comb(inputs + degree, degree)


def tensor_shapes(card: ModelCard) -> dict[str, tuple[int, ...]]:
    """Return the name and shape of each tensor (float64) that a model with this card has.

    ``weight`` ``[K, F, d]`` (member, monomial, dimension), and where there is a hidden layer ``hidden_weight``
    ``[K, i, h]``, ``hidden_bias`` ``[K, h]``, ``output_weight`` ``[K, h, d]``: all for changes in units of
    ``change_scale``. ``residual_sd`` is what one member's prediction of one tick leaves unexplained.

    Raises:
        SpecError: No model can have this card.
    """
    observation, action = card.observation, card.action
    for space in (observation, action):
        if space.problem():
            raise SpecError(space.problem(), key="model")
    if observation.kind != "box" or not observation.dtype.startswith("float"):
        problem = f"observations are {observation.dtype} of kind {observation.kind}: must be a box of floats"
        raise SpecError(problem, key="model")
    d = math.prod(observation.shape)
    m = action.n if action.kind == "discrete" else math.prod(action.shape)
    if max(d, m) > MAX_DIMENSIONS:
        problem = f"{d} dimensions, actions of {m}: at most {MAX_DIMENSIONS} each"
        raise SpecError(problem, key="model")
    inputs, k, h = d + m, card.members, card.hidden
    features = monomial_count(inputs, card.degree)
    if features > _MAX_MONOMIALS:
        problem = f"{features} monomials of degree {card.degree}: at most {_MAX_MONOMIALS}"
        raise SpecError(problem, key="model", hint="choose a lower degree")
    shapes: dict[str, tuple[int, ...]] = {
        "state_mean": (d,),
        "state_scale": (d,),
        "action_scale": (m,),
        "change_scale": (d,),
        "residual_sd": (d,),
        "weight": (k, features, d),
    }
    if h:
        shapes |= {"hidden_weight": (k, inputs, h), "hidden_bias": (k, h), "output_weight": (k, h, d)}
    return shapes


class InputEncoder:
    """Turn states and actions into a model's inputs: normalised states, then actions one-hot or scaled.

    A neutral action is all zeros, as no other one is of a discrete space, and as zero is of a box.

    Args:
        tensors: The model's; what normalises is looked at.
        is_discrete: Whether actions are.
    """

    def __init__(self, tensors: Mapping[str, Array], is_discrete: bool) -> None:
        self._mean, self._scale = tensors["state_mean"], tensors["state_scale"]
        self._action_scale = tensors["action_scale"]
        self._dimensions, self._width = self._mean.size, self._mean.size + self._action_scale.size
        self._codes = np.eye(self._action_scale.size + 1)[:, :-1] if is_discrete else None

    def __call__(self, states: Array, actions: Array) -> Array:
        """Return the inputs ``[N, i]`` of states ``[N, d]`` and encoded actions ``[N, m]``."""
        x = np.empty((states.shape[0], self._width))
        z = x[:, : self._dimensions]
        with np.errstate(over="ignore"):  # what is infinitely far is as far as the limit
            np.subtract(states, self._mean, out=z)
            z /= self._scale
        np.maximum(z, -_LIMIT, out=z)
        np.minimum(z, _LIMIT, out=z)
        x[:, self._dimensions :] = actions
        return x

    def actions(self, actions: NDArray[Any], neutral: NDArray[np.bool_]) -> Array:
        """Return actions encoded ``[N, m]``.

        Args:
            actions: ``[N]`` of a discrete space, ``[N, m]`` of a box; not looked at where neutral.
            neutral: Where the neutral action is applied ``[N]``.

        Raises:
            LocalProtocolError: A number that is no action.
        """
        if self._codes is None:
            with np.errstate(over="ignore"):
                scaled = np.clip(actions / self._action_scale, -_LIMIT, _LIMIT)
            return np.where(neutral[:, None], 0.0, scaled)
        n = self._action_scale.size
        numbers = np.where(neutral, n, actions)
        if numbers.size and (int(numbers.min()) < 0 or bool((numbers[~neutral] >= n).any())):
            raise LocalProtocolError(f"one of the actions is none: must be 0 .. {n - 1} or neutral")
        return np.asarray(self._codes[numbers])


class ModelColumns:
    """Predict one tick for many states, each with its action.

    Args:
        card: What the model is of.
        tensors: As ``tensor_shapes`` says, float64.

    Raises:
        SpecError: They are not the tensors of a model with this card.
    """

    def __init__(self, card: ModelCard, tensors: Mapping[str, NDArray[Any]]) -> None:
        shapes = tensor_shapes(card)
        problem = next(_problems(shapes, tensors), "") or _boundless(card, tensors)
        if problem:
            raise SpecError(problem, key="model")
        self.card = card
        self.tensors: dict[str, Array] = {name: np.asarray(tensors[name], np.float64) for name in shapes}
        d, m = shapes["state_mean"][0], shapes["action_scale"][0]
        self.encoder = InputEncoder(self.tensors, card.action.kind == "discrete")
        self._monomials = Monomials(d + m, card.degree)
        scale = self.tensors["change_scale"]
        self._weights = self.tensors["weight"] * scale
        self._mean_weight = self._weights.mean(axis=0)
        if card.hidden:
            k, h = card.members, card.hidden
            self._hidden_weight = self.tensors["hidden_weight"].transpose(1, 0, 2).reshape(d + m, k * h).copy()
            self._hidden_bias = self.tensors["hidden_bias"].reshape(k * h)
            self._outputs = self.tensors["output_weight"] * scale
            self._mean_output = self._outputs.reshape(k * h, d) / k

    def predict(self, states: Array, actions: NDArray[Any], neutral: NDArray[np.bool_]) -> Array:
        """Return the observations one tick later ``[N, d]``, the mean over members.

        Args:
            states: Observations, flattened ``[N, d]``.
            actions: ``[N]`` of a discrete space, ``[N, m]`` of a box; not looked at where neutral.
            neutral: Where the task's neutral action is applied ``[N]``.

        Raises:
            LocalProtocolError: A number that is no action.
        """
        return self.advance(states, self.encoder.actions(actions, neutral))

    def advance(self, states: Array, actions: Array) -> Array:
        """Return what ``predict`` does, of actions that are encoded already ``[N, m]``."""
        x = self.encoder(states, actions)
        change = self._monomials(x)[:, None, :] @ self._mean_weight
        if self.card.hidden:
            change += self._hidden(x)[:, None, :] @ self._mean_output
        with np.errstate(over="ignore"):  # a peer may send the largest numbers there are
            return np.asarray(states + change[:, 0, :])

    def predict_members(self, states: Array, actions: NDArray[Any], neutral: NDArray[np.bool_]) -> Array:
        """Return each member's prediction ``[K, N, d]``; arguments as for ``predict``."""
        x = self.encoder(states, self.encoder.actions(actions, neutral))
        change = self._monomials(x) @ self._weights
        if self.card.hidden:
            hidden = self._hidden(x).reshape(-1, self.card.members, self.card.hidden)
            change += hidden.transpose(1, 0, 2) @ self._outputs
        with np.errstate(over="ignore"):
            return np.asarray(states + change)

    def _hidden(self, x: Array) -> Array:
        """Return the hidden units of all members side by side ``[N, K*h]``."""
        return np.tanh((x[:, None, :] @ self._hidden_weight)[:, 0, :] + self._hidden_bias)


def _problems(shapes: Mapping[str, tuple[int, ...]], tensors: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    if set(tensors) != set(shapes):
        yield f"its tensors are not {', '.join(shapes)}"
        return
    for name, shape in shapes.items():
        tensor = tensors[name]
        if tensor.dtype.name != "float64" or tensor.shape != shape:
            yield f"{name} is {tensor.dtype.name}{list(tensor.shape)}: must be float64{list(shape)}"
        elif not bool(np.isfinite(tensor).all()):
            yield f"{name} holds a number that is not finite"
        elif name.endswith("_scale") and not bool((tensor > 0.0).all()):
            yield f"{name} holds a number that is not above 0"
        elif name == "residual_sd" and not bool((tensor >= 0.0).all()):
            yield "residual_sd holds a number below 0"


def _boundless(card: ModelCard, tensors: Mapping[str, NDArray[Any]]) -> str:
    """Say which of a model's numbers, each finite, could come to one that is not; empty where none can.

    Inputs are within the limit, so a monomial is within its power, and a tanh unit within 1.
    """
    scale, largest = tensors["change_scale"], _LIMIT**card.degree
    with np.errstate(over="ignore", invalid="ignore"):
        sums = {"weight": np.abs(tensors["weight"]).sum(axis=1) * largest * scale * card.members}
        if card.hidden:
            units = np.abs(tensors["hidden_weight"]).sum(axis=1) * _LIMIT + np.abs(tensors["hidden_bias"])
            sums |= {
                "hidden_weight": units,
                "output_weight": np.abs(tensors["output_weight"]).sum(axis=1) * scale * card.members,
            }
        sums["residual_sd"] = tensors["residual_sd"] * _LIMIT
    return next(
        (
            f"{name} is so large that what it predicts is no number: must come to at most {_MOST:.0e}"
            for name, found in sums.items()
            if not bool((found <= _MOST).all())
        ),
        "",
    )
