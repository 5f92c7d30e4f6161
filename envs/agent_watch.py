"""AgentWatch: tells a person when the agent is waited for, lost and back: a line a change, never one a tick."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["AgentWatch"]


class AgentWatch:
    """Turns what a run sees of its agent into lines for a person.

    Args:
        say: Takes a line; called within a tick, so it must return at once.
        where: The agent's address, as the person gave it.
        fallback: Name of what plays without the agent.
    """

    def __init__(self, say: Callable[[str], None], where: str, fallback: str) -> None:
        self._say = say
        self._where = where
        self._fallback = fallback
        self._connected = True
        self._was_there = False

    def wait(self) -> None:
        """Say that the run waits for the agent before it begins."""
        self._say(f"waiting for the agent at {self._where}")

    def note(self, tick: int, connected: bool) -> None:
        """Say whether the agent is there, where that is new; the agent counts as there before the first tick.

        Args:
            tick: The run's tick, as in the tick log.
            connected: Whether there is a connection at its end.
        """
        if connected is self._connected:
            self._was_there |= connected
            return
        self._connected = connected
        if connected:
            self._say(f"agent back (tick {tick})" if self._was_there else f"agent there (tick {tick})")
        elif self._was_there or tick:
            self._say(f"agent lost (tick {tick}): fallback {self._fallback}")
        else:
            self._say(f"no agent yet: fallback {self._fallback}")
        self._was_there |= connected
