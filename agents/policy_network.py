"""Policy network: which tensors the network of a policy file has, and the numpy actor made of them.

::

    mlp     features --actor.0--tanh--actor.1--tanh-- ... --actor.n--> output
    lstm    features [grid --one-hot--grid--tanh--] --encoder--tanh--lstm--actor--> output      state kept

Weights are ``[out, in]`` float32, gates stand in torch's order (i, f, g, o). The output is a logit an action, or a
mean an element with its deviation's logarithm in ``log_sd``. Names and arithmetic are those of training: the
forward pass itself is in ``acting.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from netlab.agents.acting import Actor, LSTMActor, MLPActor
from netlab.agents.policy_card import PolicyCard
from netlab.control.feature_spec import space_width
from netlab.errors import SpecError

__all__ = ["make_policy_network", "network_shapes"]

MAX_LAYERS = 9
MAX_UNITS = 4096

Weights = Mapping[str, NDArray[np.generic]]


def network_shapes(card: PolicyCard, weights: Weights) -> dict[str, tuple[int, ...]]:
    """Return the name and shape of each tensor that this card's network has.

    Widths of hidden layers are the network's own affair: they are taken from the weights, which are then held to
    them.

    Raises:
        SpecError: No network can have this card, or what fixes a width is missing.
    """
    layout = card.features.layout(card.task)
    inputs = max(part.stop for part in layout.values())
    outputs = space_width(card.task.action)
    shapes = _lstm_shapes(card, weights, inputs, outputs) if card.kind == "lstm" else {}
    if card.kind == "mlp":
        if card.grid is not None:
            raise SpecError("an mlp takes the features as they are and has no grid", key="grid")
        shapes = _mlp_shapes(weights, inputs, outputs)
    if card.task.action.kind == "box":
        shapes["log_sd"] = (outputs,)
    return shapes


def make_policy_network(card: PolicyCard, weights: Weights) -> Actor:
    """Return the actor of a policy.

    Args:
        card: What the policy is.
        weights: Its network's tensors and nothing else, float32.

    Raises:
        SpecError: They are not those of a network with this card.
    """
    shapes = network_shapes(card, weights)
    if set(weights) != set(shapes):
        missing = sorted(set(shapes) - set(weights))
        word, names = ("lacks", missing) if missing else ("has no use for", sorted(set(weights) - set(shapes)))
        raise SpecError(f"the {card.kind} {word} {', '.join(names)[:200]}", key="weights")
    for name, shape in shapes.items():
        weight = weights[name]
        if weight.dtype.name != "float32" or weight.shape != shape:
            problem = f"{name} is {weight.dtype.name}{list(weight.shape)}: must be float32{list(shape)}"
            raise SpecError(problem, key="weights")
    return LSTMActor(weights, card.grid) if card.kind == "lstm" else MLPActor(weights)


def _mlp_shapes(weights: Weights, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
    layers = 0
    while f"actor.{layers}.weight" in weights:
        layers += 1
    if not 1 <= layers <= MAX_LAYERS:
        raise SpecError(f"an mlp of {layers} layers: must be 1 .. {MAX_LAYERS}", key="weights")
    widths = [inputs, *(_rows(weights, f"actor.{layer}.weight") for layer in range(layers - 1)), outputs]
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in range(layers):
        shapes |= _linear(f"actor.{layer}", widths[layer], widths[layer + 1])
    return shapes


def _lstm_shapes(card: PolicyCard, weights: Weights, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    grid = card.grid
    if grid is not None:
        if grid.stop > inputs:
            problem = f"a grid of the features {grid.start} .. {grid.stop - 1}: there are {inputs}"
            raise SpecError(problem, key="grid")
        seen = _rows(weights, "grid.weight")
        shapes |= _linear("grid", grid.one_hot_size, seen)
        inputs += seen - (grid.stop - grid.start)
    encoded, gates = _rows(weights, "encoder.weight"), _rows(weights, "lstm.weight_ih_l0")
    units = gates // 4
    if not units:
        raise SpecError(f"lstm.weight_ih_l0 has {gates} rows: must be 4 a unit", key="weights")
    shapes |= _linear("encoder", inputs, encoded)
    shapes |= {
        "lstm.weight_ih_l0": (4 * units, encoded),
        "lstm.weight_hh_l0": (4 * units, units),
        "lstm.bias_ih_l0": (4 * units,),
        "lstm.bias_hh_l0": (4 * units,),
    }
    return shapes | _linear("actor", units, outputs)


def _linear(name: str, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _rows(weights: Weights, name: str) -> int:
    """Return how many outputs a layer has."""
    weight = weights.get(name)
    if weight is None or weight.ndim != 2 or not 1 <= len(weight) <= 4 * MAX_UNITS:
        found = "missing" if weight is None else f"{weight.dtype.name}{list(weight.shape)}"
        raise SpecError(f"{name} is {found}: must be a matrix of at most {4 * MAX_UNITS} rows", key="weights")
    return len(weight)
