"""fit_model: from logged transitions to a one-step model, with its errors on what was kept back.

::

    Transitions --split by episode--> rows --+-- K draws with replacement --ridge--> K linear members
                       |                     `-- what they leave --Adam--> K tanh layers (where asked for)
                       `-> held out --predict 1, 5, 10, 20 ticks--> errors on the card

Whole episodes are kept back, so that no held-out row lies between two rows that were fitted to.

Source: ensembles of models fitted to bootstrapped rows as in Chua, Calandra, McAllister and Levine 2018,
arXiv 1805.12114; Adam as in Kingma and Ba 2015, arXiv 1412.6980, algorithm 1.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

import netlab
from netlab.agents.hidden_layer import fit_hidden_layers
from netlab.agents.learned_model import LearnedModel
from netlab.agents.model_card import ModelCard
from netlab.agents.model_columns import Array, InputEncoder, Monomials, tensor_shapes
from netlab.agents.model_error import measure_errors
from netlab.agents.transitions import Transitions
from netlab.errors import SpecError

__all__ = ["HORIZONS", "fit_model"]

HORIZONS = (1, 5, 10, 20)

_MORE = "log more transitions, or choose a lower degree"


def fit_model(
    transitions: Transitions,
    *,
    degree: int = 1,
    hidden: int = 0,
    members: int = 5,
    ridge: float = 1e-8,
    held_out_ratio: float = 0.2,
    horizons: Sequence[int] = HORIZONS,
    seed: int = 0,
) -> LearnedModel:
    """Return a model of these transitions; the same transitions and seed give the same model.

    Args:
        transitions: What was logged.
        degree: Highest degree of the monomials it is linear in, 1 .. 3.
        hidden: Units of a tanh layer for what that leaves unexplained; 0 for none.
        members: How many models to fit, each to its own draw of the rows.
        ridge: Weight of the squared coefficients against the mean squared error, both in normalised units.
        held_out_ratio: At least this share of the rows is kept back to measure errors.
        horizons: How many ticks ahead errors are measured.
        seed: Of split, draws and training.

    Raises:
        SpecError: The transitions contradict themselves or are too few, an option is out of range, or what came
            of it predicts nothing finite.
    """
    problem = transitions.problem()
    if problem:
        raise SpecError(problem, key="transitions")
    if not 0.0 < held_out_ratio < 1.0 or not 0.0 < ridge < 1e6 or min(horizons, default=0) < 1:
        problem = f"held_out_ratio {held_out_ratio}, ridge {ridge}, horizons {tuple(horizons)}: out of range"
        raise SpecError(problem, key="fit_model", hint="a ratio within 0 .. 1, a ridge above 0, horizons from 1")
    card = _card(transitions, degree, hidden, members, seed)
    features = tensor_shapes(card)["weight"][1]
    rng = np.random.default_rng(seed)
    held_out = _held_out(transitions.episodes, held_out_ratio, rng)
    rows = np.flatnonzero(~held_out)
    if rows.size < 2 * features or not held_out.any():
        problem = (
            f"{len(transitions)} transitions, {rows.size} of them to fit to: {features} terms need twice as many"
        )
        raise SpecError(problem, key="transitions", hint=_MORE)
    tensors = _fit(transitions, rows, card, ridge, rng)
    card = msgspec.structs.replace(
        card,
        rows=rows.size,
        neutral_rows=int(transitions.neutral[rows].sum()),
        held_out_rows=int(held_out.sum()),
    )
    model = LearnedModel(card, tensors)
    errors = measure_errors(model, transitions, np.flatnonzero(held_out), horizons)
    return LearnedModel(msgspec.structs.replace(card, errors=errors), tensors)


def _card(transitions: Transitions, degree: int, hidden: int, members: int, seed: int) -> ModelCard:
    about = transitions.card
    fields = {
        "task": about.task,
        "observation": about.observation,
        "action": about.action,
        "degree": degree,
        "members": members,
        "hidden": hidden,
        "seed": seed,
        "source": about.source,
        "versions": {"netlab": netlab.__version__, "numpy": np.__version__, "python": platform.python_version()},
    }
    try:
        return msgspec.convert(msgspec.to_builtins(fields), ModelCard)
    except msgspec.ValidationError as error:
        raise SpecError(str(error), key="fit_model") from error


def _held_out(episodes: NDArray[np.int64], ratio: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which rows are kept back ``[n]``: whole episodes, or the end of the only one."""
    numbers, counts = np.unique(episodes, return_counts=True)
    if numbers.size < 2:
        return np.arange(episodes.size) >= round(episodes.size * (1.0 - ratio))
    order = rng.permutation(numbers.size)
    enough = int(np.searchsorted(np.cumsum(counts[order]), ratio * episodes.size)) + 1
    return np.isin(episodes, numbers[order[: min(enough, numbers.size - 1)]])


def _fit(
    transitions: Transitions, rows: NDArray[np.intp], card: ModelCard, ridge: float, rng: np.random.Generator
) -> dict[str, Array]:
    """Return the tensors of a model fitted to some of the rows."""
    states, actions = transitions.states[rows], transitions.actions[rows]
    neutral = transitions.neutral[rows]
    changes = transitions.next_states[rows] - states
    scale = _scale(np.sqrt(np.mean(changes**2, axis=0)))
    tensors = _normalisers(states, actions, neutral, card) | {"change_scale": scale}
    encoder = InputEncoder(tensors, card.action.kind == "discrete")
    x = encoder(states, encoder.actions(actions, neutral))
    phi, y = Monomials(x.shape[1], card.degree)(x), changes / scale
    draws = [rng.integers(rows.size, size=rows.size) for _ in range(card.members)]
    tensors["weight"] = np.stack([_ridge(phi[draw], y[draw], ridge) for draw in draws])
    left = y - phi @ tensors["weight"]
    if card.hidden:
        layers, explained = fit_hidden_layers(x, left, draws, card.hidden, rng)
        tensors |= layers
        left = left - explained
    tensors["residual_sd"] = np.sqrt(np.mean(left**2, axis=(0, 1))) * scale
    broken = next((name for name, tensor in tensors.items() if not np.isfinite(tensor).all()), "")
    if broken:
        raise SpecError(f"fitting gives a {broken} that is not finite", key="transitions", hint=_MORE)
    return tensors


def _normalisers(
    states: Array, actions: NDArray[np.generic], neutral: NDArray[np.bool_], card: ModelCard
) -> dict[str, Array]:
    tensors = {"state_mean": states.mean(axis=0), "state_scale": _scale(states.std(axis=0))}
    # Neutral is an input of all zeros, so a box's zero has to stay zero: actions are scaled and not shifted.
    tensors["action_scale"] = np.ones(tensor_shapes(card)["action_scale"])
    played = actions[~neutral]
    if card.action.kind == "box" and played.size:
        tensors["action_scale"] = _scale(np.sqrt(np.mean(played.astype(np.float64) ** 2, axis=0)))
    return tensors


def _scale(deviations: Array) -> Array:
    """Return deviations to divide by: 1 where nothing varies, so that nothing is divided by (next to) 0."""
    return np.where(deviations > 1e-12 * max(float(deviations.max(initial=0.0)), 1e-12), deviations, 1.0)


def _ridge(phi: Array, y: Array, ridge: float) -> Array:
    """Return the coefficients ``[F, d]`` of least squares with a penalty on all but the constant."""
    penalty = np.full(phi.shape[1], ridge * phi.shape[0])
    penalty[0] = 0.0
    gram = phi.T @ phi
    gram[np.diag_indices_from(gram)] += penalty
    return np.asarray(np.linalg.lstsq(gram, phi.T @ y)[0])
