"""Fallbacks: what a tick plays when nothing of the peer's is there.

Objects with the same methods, chosen once at the start; each says what it played, so that every fallback tick
is counted under its kind.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct
from numpy.typing import NDArray

from netlab.control.policy import Policy
from netlab.control.question import Question
from netlab.control.values import Value
from netlab.errors import SpecError

__all__ = ["Fallback", "Hold", "Local", "Miss", "Neutral", "Source"]


class Source(enum.Enum):
    """Where a tick's action came from; ``FAILED`` is neutral, because the fallback failed."""

    REMOTE = "remote"
    HOLD = "hold"
    LOCAL = "local"
    NEUTRAL = "neutral"
    FAILED = "failed"


class Miss(Struct, frozen=True):
    """A tick without a remote action, as a fallback sees it.

    Attributes:
        in_a_row: How many ticks in a row have been missed, this one included.
        last_remote: The last remote action played in this episode; None before the first.
        observation: Gives this tick's observation ``[*shape]``; a call, because few fallbacks look at it.
    """

    in_a_row: int
    last_remote: Value | None
    observation: Callable[[], NDArray[Any]]


class Fallback(Protocol):
    """Fills in for the peer."""

    name: str

    def play(self, miss: Miss) -> tuple[Value | None, Source]:
        """Return what to play (None is the task's neutral action) and what kind of fallback that is."""
        ...

    def reset(self) -> None:
        """Forget the episode."""
        ...


class Neutral:
    """Plays the task's neutral action."""

    name = "neutral"

    def play(self, miss: Miss) -> tuple[Value | None, Source]:
        """Return neutral."""
        return None, Source.NEUTRAL

    def reset(self) -> None:
        """Forget nothing: there is nothing to forget."""


class Hold:
    """Repeats the last remote action for a while, then plays neutral.

    Args:
        limit_ticks: The most ticks in a row that an action is held.

    Raises:
        SpecError: A limit below 1.
    """

    name = "hold"

    def __init__(self, limit_ticks: int) -> None:
        if limit_ticks < 1:
            raise SpecError(
                f"{limit_ticks}: must be at least 1", key="hold_limit_ticks", hint="use the neutral fallback"
            )
        self.limit_ticks = limit_ticks

    def play(self, miss: Miss) -> tuple[Value | None, Source]:
        """Return the last remote action, or neutral beyond the limit and before the first one."""
        if miss.last_remote is None or miss.in_a_row > self.limit_ticks:
            return None, Source.NEUTRAL
        return miss.last_remote, Source.HOLD

    def reset(self) -> None:
        """Forget nothing: the edge forgets the last remote action."""


class Local:
    """Asks a policy beside the environment.

    Args:
        policy: Injected by the roof: the environment's room knows no policy.
    """

    name = "local"

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def play(self, miss: Miss) -> tuple[Value | None, Source]:
        """Return the local policy's action."""
        return self._policy.decide(Question.of_state(miss.observation())), Source.LOCAL

    def reset(self) -> None:
        """Start the local policy afresh."""
        self._policy.reset()
