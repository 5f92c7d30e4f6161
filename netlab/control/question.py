"""Question: all that one decision can be based on; what a remote asks and a policy or a learner answers.

::

    newest observation of tick k --predict over the pending decisions--> state at tick k+D --> Question
         `-------- the frame itself, its payload decoded, the pending decisions ---------------'
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from numpy.typing import NDArray

from netlab.control.values import Value
from netlab.messages import Observation

__all__ = ["Question"]

_NO_FRAME = Observation(0, 0, 0, b"", b"", 0, 0, -1, 0.0)


class Question(Struct, frozen=True):
    """What to do at a tick to come.

    Attributes:
        target_tick: The tick that the decision is for.
        state: The observation predicted for that tick ``[*shape]``; with persistence the newest one as it is.
        observation: The newest observation's frame: its tick, what the edge has played, what it has measured.
        seen: That frame's observation ``[*shape]``.
        pending: What is decided for the ticks ``observation.tick`` .. ``target_tick - 1``, in order; None where
            nothing is, and the edge plays its fallback.
    """

    target_tick: int
    state: NDArray[Any]
    observation: Observation
    seen: NDArray[Any]
    pending: tuple[Value | None, ...] = ()

    @classmethod
    def of_state(cls, state: NDArray[Any]) -> Question:
        """Return the question of whoever has nothing but a state: no network, nothing pending, tick 0."""
        return cls(0, state, _NO_FRAME, state)
