"""Model error: how far a model's predictions, rolled over logged actions, are from what was logged.

::

    states[i] --actions[i .. i+h-1]--> predicted, and its deviation   against   next_states[i+h-1]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netlab.agents.learned_model import LearnedModel
from netlab.agents.model_card import HorizonError
from netlab.agents.transitions import Transitions
from netlab.errors import SpecError

__all__ = ["measure_errors"]

_MAX_WINDOWS = 2_000
_SPREAD_WINDOWS = 100
_PARTICLES = 40


def measure_errors(
    model: LearnedModel, transitions: Transitions, rows: NDArray[np.intp], horizons: Sequence[int]
) -> tuple[HorizonError, ...]:
    """Return the errors at each horizon, in order.

    Args:
        model: What predicts.
        transitions: What was logged.
        rows: The rows of it that count; a window lies within them and within one episode.
        horizons: How many ticks ahead.

    Raises:
        SpecError: A prediction is not finite.
    """
    return tuple(_error(model, transitions, rows, ticks) for ticks in sorted(set(horizons)))


def _error(model: LearnedModel, transitions: Transitions, rows: NDArray[np.intp], ticks: int) -> HorizonError:
    starts = _starts(transitions.episodes, rows, ticks)
    if not starts.size:
        return HorizonError(ticks=ticks, windows=0)
    starts = _evenly(starts, _MAX_WINDOWS)
    came = transitions.next_states[starts + ticks - 1]
    predicted = transitions.states[starts]
    for step in range(ticks):
        at = starts + step
        predicted = model.columns.predict(predicted, transitions.actions[at], transitions.neutral[at])
    if not np.isfinite(predicted).all():
        hint = "log transitions from more of the task's states, or choose a lower degree"
        raise SpecError(f"a prediction {ticks} ticks ahead is not finite", key="transitions", hint=hint)
    few = _evenly(np.arange(starts.size), _SPREAD_WINDOWS)
    sd = _spread(model, transitions, starts[few], ticks)
    within = np.abs(predicted[few] - came[few]) <= 2.0 * sd
    return HorizonError(
        ticks=ticks,
        windows=starts.size,
        rmse=_rms(predicted - came),
        still_rmse=_rms(transitions.states[starts] - came),
        sd=tuple(sd.mean(axis=0).tolist()),
        covered_ratio=float(within.mean()),
    )


def _starts(episodes: NDArray[np.int64], rows: NDArray[np.intp], ticks: int) -> NDArray[np.intp]:
    """Return the first row of each window that lies within the rows and one episode."""
    usable = np.zeros(episodes.size, np.bool_)
    usable[rows] = True
    broken = np.ones(episodes.size, np.bool_)
    broken[1:] = (episodes[1:] != episodes[:-1]) | ~(usable[1:] & usable[:-1])
    run = np.cumsum(broken)
    starts = rows[rows + ticks <= episodes.size]
    return np.asarray(starts[run[starts] == run[starts + ticks - 1]])


def _spread(
    model: LearnedModel, transitions: Transitions, starts: NDArray[np.intp], ticks: int
) -> NDArray[np.float64]:
    """Return the standard deviation that the model gives for each window ``[W, d]``."""
    rng = np.random.default_rng(0)
    states = np.repeat(transitions.states[starts], _PARTICLES, axis=0)
    # Particle i follows member i modulo K, and a window's particles stand together: each window has all members.
    for step in range(ticks):
        at = np.repeat(starts + step, _PARTICLES)
        states = model.step_particles(states, transitions.actions[at], transitions.neutral[at], rng)
    return np.asarray(states.reshape(starts.size, _PARTICLES, -1).std(axis=1))


def _evenly(rows: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Return at most so many of the rows, evenly spread."""
    return np.asarray(rows[np.unique(np.linspace(0, rows.size - 1, min(rows.size, most)).astype(np.intp))])


def _rms(errors: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(np.sqrt(np.mean(errors**2, axis=0)).tolist())
