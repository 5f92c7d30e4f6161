"""LearnedModel: a one-step model that came from logged transitions, as a predictor, and the file it is kept in.

::

    Transitions --fit_model--> LearnedModel --predict--> next observation           (a remote rolls it)
                                   |`--------roll-----> mean and deviation, tick by tick
                                   `--write--> NAME.safetensors --read--> the same numbers

How it is fitted is ``fit_model``'s business, its arithmetic ``ModelColumns``'.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.agents.model_card import ModelCard
from netlab.agents.model_columns import ModelColumns
from netlab.agents.tensor_file import SUFFIX, read_tensors, write_tensors
from netlab.control.values import Value
from netlab.errors import LocalProtocolError, SpecError

__all__ = ["LearnedModel", "Rolled", "read_model", "write_model"]

MAX_BYTES = 1 << 26

_WHAT = "a file of a learned model"
_HINT = f"make one: write_model(fit_model(read_transitions(FILE)), 'NAME{SUFFIX}')"
_PLAYED = np.zeros(1, np.bool_)
_NEUTRAL = np.ones(1, np.bool_)


class Rolled(Struct, frozen=True):
    """What a model says of the ticks ahead, and how sure it is.

    Attributes:
        mean: ``[h, d]``.
        sd: Standard deviation ``[h, d]``: how the members disagree, and what no member explains.
    """

    mean: NDArray[np.float64]
    sd: NDArray[np.float64]


class LearnedModel:
    """Predict the next observation from the last one and the action.

    Args:
        card: What the model is of.
        tensors: Its numbers, as ``model_columns.tensor_shapes`` names them.

    Raises:
        SpecError: The tensors are not those of a model with this card.
    """

    def __init__(self, card: ModelCard, tensors: Mapping[str, NDArray[Any]]) -> None:
        self.columns = ModelColumns(card, tensors)
        self.card = card
        self._shape = card.observation.shape
        self._width = int(np.prod(self._shape))
        self._n = card.action.n
        every, played = np.arange(self._n), np.zeros(self._n, np.bool_)
        codes = self.columns.encoder.actions(every, played) if self._n else np.empty((0, 0))
        self._codes = [codes[number : number + 1] for number in range(self._n)]
        self._no_action = self.columns.encoder.actions(self._action_row(None), _NEUTRAL)

    @property
    def tensors(self) -> dict[str, NDArray[np.float64]]:
        """Its numbers by name."""
        return self.columns.tensors

    def predict(self, observation: NDArray[Any], action: Value | None) -> NDArray[Any]:
        """Return the observation ``[*shape]`` (float64) one tick later.

        Args:
            observation: ``[*shape]``.
            action: Of the task's action space, or None for the neutral action.

        Raises:
            LocalProtocolError: Another action.
        """
        states = np.asarray(observation, np.float64).reshape(1, self._width)
        if action is None:
            encoded = self._no_action
        elif self._n:
            encoded = self._codes[self._number(action)]
        else:
            encoded = self.columns.encoder.actions(self._action_row(action), _PLAYED)
        return self.columns.advance(states, encoded).reshape(self._shape)

    def roll(
        self, observation: NDArray[Any], actions: Sequence[Value | None], particles: int = 50, seed: int = 0
    ) -> Rolled:
        """Return what the ticks ahead hold, from particles that each follow one member.

        Args:
            observation: Where it begins ``[*shape]``.
            actions: What is applied, tick by tick (``h`` of them); None is neutral.
            particles: How many.
            seed: Of what no member explains, drawn afresh at each tick.

        Source: Chua, Calandra, McAllister and Levine 2018, arXiv 1805.12114, trajectory sampling.
        """
        rng = np.random.default_rng(seed)
        states = np.tile(np.asarray(observation, np.float64).reshape(1, self._width), (particles, 1))
        mean = np.empty((len(actions), self._width))
        sd = np.empty_like(mean)
        for tick, action in enumerate(actions):
            rows = np.repeat(self._action_row(action), particles, axis=0)
            states = self.step_particles(states, rows, np.full(particles, action is None), rng)
            mean[tick], sd[tick] = states.mean(axis=0), states.std(axis=0)
        return Rolled(mean, sd)

    def step_particles(
        self,
        states: NDArray[np.float64],
        actions: NDArray[np.generic],
        neutral: NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> NDArray[np.float64]:
        """Return particles ``[N, d]`` one tick on: i by member i modulo K, and what no member explains."""
        particles = np.arange(states.shape[0])
        chosen = self.columns.predict_members(states, actions, neutral)[particles % self.card.members, particles]
        return np.asarray(chosen + self.tensors["residual_sd"] * rng.standard_normal(states.shape))

    def _number(self, action: Value) -> int:
        """Return a discrete action that is one."""
        if not isinstance(action, int | np.integer) or not 0 <= action < self._n:
            raise LocalProtocolError(f"{action!r:.200} is not an action: must be 0 .. {self._n - 1} or neutral")
        return int(action)

    def _action_row(self, action: Value | None) -> NDArray[Any]:
        """Return an action as a column of one row."""
        if self._n:
            return np.array([0 if action is None else self._number(action)], np.int64)
        shape = self.card.action.shape
        values = np.zeros(shape) if action is None else np.asarray(action, np.float64)
        if values.shape != shape:
            raise LocalProtocolError(f"{action!r:.200} is not an action: must have shape {list(shape)}")
        return values.reshape(1, -1)


def write_model(model: LearnedModel, path: str | os.PathLike[str]) -> None:
    """Write a model's file, whole or not at all.

    Raises:
        SpecError: It cannot be written.
    """
    write_tensors(path, model.card, model.tensors, max_bytes=MAX_BYTES)


def read_model(path: str | os.PathLike[str]) -> LearnedModel:
    """Return the model of a file.

    Raises:
        SpecError: It cannot be read or is not one.
    """
    card, tensors = read_tensors(path, ModelCard, max_bytes=MAX_BYTES, what=_WHAT, hint=_HINT)
    try:
        return LearnedModel(card, tensors)
    except SpecError as error:
        raise SpecError(f"is not {_WHAT}: {error}", path, hint=_HINT) from error
