"""Policy and Predictor: what a remote half needs from whoever decides; protocols only, and persistence.

::

    o_k --predict(a_k)--> o_k+1 --predict(a_k+1)--> ... o_k+D, Question --decide--> action for tick k+D
"""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from netlab.control.question import Question
from netlab.control.values import Value

__all__ = ["Persistence", "Policy", "Predictor"]


class Policy(Protocol):
    """Decides on one question at a time."""

    def decide(self, question: Question) -> Value:
        """Return the action for the question's target tick; called once a target tick, in order."""
        ...

    def reset(self) -> None:
        """Forget the episode."""
        ...


class Predictor(Protocol):
    """Says what the next observation will be."""

    def predict(self, observation: NDArray[Any], action: Value | None) -> NDArray[Any]:
        """Return the observation one tick later; ``None`` is the task's neutral action."""
        ...


class Persistence:
    """The predictor of those who know nothing: all stays as it was seen."""

    def predict(self, observation: NDArray[Any], action: Value | None) -> NDArray[Any]:
        """Return the observation as it is."""
        return observation
