"""PredictorColumns: what predicts for the policy of a file, for many rows at once."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from netlab.agents.cartpole_physics import CartPolePhysicsColumns
from netlab.agents.policy_file import PolicyFile

__all__ = ["PredictorColumns", "predictor_columns"]


class _Columns(Protocol):
    def predict(
        self, states: NDArray[Any], actions: NDArray[Any], neutral: NDArray[np.bool_]
    ) -> NDArray[np.float64]: ...


class PredictorColumns:
    """Hands states and actions of a task, each of its own shape, to what wants them flat."""

    def __init__(self, columns: _Columns) -> None:
        self._columns = columns

    def predict(
        self, states: NDArray[Any], actions: NDArray[Any], neutral: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the observations one tick later, ``[m, *shape]``.

        Args:
            states: ``[m, *shape]``.
            actions: ``[m]`` of a discrete space, ``[m, *shape]`` of a box; not looked at where neutral.
            neutral: Which rows play the task's neutral action, ``[m]``.
        """
        m = len(states)
        flat = np.asarray(states, np.float64).reshape(m, -1)
        if actions.ndim > 1:
            actions = actions.reshape(m, -1)
        return self._columns.predict(flat, actions, neutral).reshape(states.shape)


def predictor_columns(file: PolicyFile) -> PredictorColumns | None:
    """Return what predicts for a policy; None where all stays as it was seen."""
    if file.model is not None:
        return PredictorColumns(file.model.columns)
    return PredictorColumns(CartPolePhysicsColumns()) if file.card.predictor == "cartpole-physics" else None
