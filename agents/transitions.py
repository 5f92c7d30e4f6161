"""Transitions: logged steps of a task, column by column, and the file they are kept in.

::

    row i:  states[i] --actions[i], or neutral--> next_states[i]        of episode episodes[i]

Rows are in the order they were lived through. Whoever drives a task collects them (this room knows no task); a
row without its successor, the tick at which somebody stopped logging, is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.agents.tensor_file import SUFFIX, read_tensors, write_tensors
from netlab.errors import SpecError
from netlab.messages import ShortText, Space

__all__ = ["Transitions", "TransitionsCard", "read_transitions", "write_transitions"]

MAX_BYTES = 1 << 28
"""256 MB: about three million transitions of CartPole."""

_WHAT = "a file of transitions"
_HINT = f"write one with write_transitions(transitions, 'NAME{SUFFIX}')"
_COLUMNS = ("states", "actions", "neutral", "next_states", "episodes")


class TransitionsCard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file of transitions says of itself.

    Attributes:
        task: Name of the task.
        observation: Space of its observations: a box.
        action: Space of its actions.
        source: Where the transitions come from, in words: command, policy, seed.
    """

    task: ShortText
    observation: Space
    action: Space
    source: ShortText = ""


class Transitions(Struct, frozen=True, kw_only=True):
    """Logged steps.

    Attributes:
        card: What they are of.
        states: Observations, flattened ``[n, d]``, float64.
        actions: What was applied: ``[n]`` int64 of a discrete space, ``[n, m]`` float64 of a box; anything (0)
            where neutral.
        neutral: Where the task's neutral action was applied, ``[n]`` bool.
        next_states: Observations one tick later ``[n, d]``, float64.
        episodes: Number of each row's episode ``[n]`` int64; the rows of an episode stand together.
    """

    card: TransitionsCard
    states: NDArray[np.float64]
    actions: NDArray[np.int64] | NDArray[np.float64]
    neutral: NDArray[np.bool_]
    next_states: NDArray[np.float64]
    episodes: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.episodes.size)

    def problem(self) -> str:
        """Return how the columns contradict the card or each other; empty where they do not."""
        return next(self._problems(), "")

    def _problems(self) -> Iterator[str]:
        card, n = self.card, self.episodes.size
        for space in (card.observation, card.action):
            if space.problem():
                yield space.problem()
        if card.observation.kind != "box":
            yield "observations are discrete: a model is of numbers that change little in a tick"
            return
        discrete = card.action.kind == "discrete"
        width = int(np.prod(card.observation.shape))
        shapes = {
            "states": ("float64", (n, width)),
            "next_states": ("float64", (n, width)),
            "actions": ("int64", (n,)) if discrete else ("float64", (n, int(np.prod(card.action.shape)))),
            "neutral": ("bool", (n,)),
            "episodes": ("int64", (n,)),
        }
        for name, (dtype, shape) in shapes.items():
            column = getattr(self, name)
            if column.dtype.name != dtype or column.shape != shape:
                yield f"{name} is {column.dtype.name}{list(column.shape)}: must be {dtype}{list(shape)}"
                return
            if column.dtype.kind == "f" and not bool(np.isfinite(column).all()):
                yield f"{name} holds a number that is not finite"
        if discrete and n and not 0 <= int(self.actions.min()) <= int(self.actions.max()) < card.action.n:
            yield f"actions are not all 0 .. {card.action.n - 1}"
        begun = self.episodes[np.flatnonzero(np.diff(self.episodes, prepend=self.episodes[:1] - 1))]
        if np.unique(begun).size != begun.size:
            yield "the rows of an episode do not stand together"


def write_transitions(transitions: Transitions, path: str | os.PathLike[str]) -> None:
    """Write a file of transitions, whole or not at all.

    Raises:
        SpecError: The columns contradict each other, or the file cannot be written.
        LocalProtocolError: They are more than a file may hold.
    """
    problem = transitions.problem()
    if problem:
        raise SpecError(problem, key="transitions")
    columns = {name: getattr(transitions, name) for name in _COLUMNS}
    write_tensors(path, transitions.card, columns, max_bytes=MAX_BYTES)


def read_transitions(path: str | os.PathLike[str]) -> Transitions:
    """Return the transitions of a file.

    Raises:
        SpecError: It cannot be read or is not one.
    """
    card, tensors = read_tensors(path, TransitionsCard, max_bytes=MAX_BYTES, what=_WHAT, hint=_HINT)
    if set(tensors) != set(_COLUMNS):
        problem = f"is not {_WHAT}: must hold {', '.join(_COLUMNS)} and nothing else"
        raise SpecError(problem, path, hint=_HINT)
    transitions = Transitions(card=card, **tensors)
    problem = transitions.problem()
    if problem:
        raise SpecError(f"is not {_WHAT}: {problem}", path, hint=_HINT)
    return transitions
