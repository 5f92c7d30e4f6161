"""TickOrder: whether a tick plays as it observes or at its end; objects with the same two methods.

::

    real time    t_k:   arrivals -> observe k -> play k                  | arrivals | t_k+1 ...
    turn based   t_k:               observe k | arrivals until t_k+1 -> play k, observe k+1 | ...

Real time is a machine that does not wait: it plays what is there as it looks. Turn based is a board on which a
move has the whole tick to come. Within one instant arrivals come first.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["Ordered", "RealTimeOrder", "TickOrder", "TurnBasedOrder"]


class Ordered(Protocol):
    """What is put in order.

    Attributes:
        tick: The newest tick observed.
    """

    tick: int

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        ...

    def observe(self, tick: int) -> None:
        """Send what there is to see at a tick's beginning."""
        ...

    def play(self) -> None:
        """Live through the tick that was observed last."""
        ...


class TickOrder(Protocol):
    """Puts observing and playing in order."""

    def begin(self, ticks: Ordered) -> None:
        """Do what an episode's first moment asks for."""
        ...

    def go_on(self, ticks: Ordered) -> None:
        """Do what the next tick's boundary asks for: one tick is played."""
        ...


class RealTimeOrder:
    """Observe and play at one moment."""

    def begin(self, ticks: Ordered) -> None:
        """Observe and play tick 0."""
        ticks.observe(0)
        ticks.play()

    def go_on(self, ticks: Ordered) -> None:
        """Observe and play the next tick."""
        ticks.observe(ticks.tick + 1)
        ticks.play()


class TurnBasedOrder:
    """Play at the end of the tick that was observed at its beginning."""

    def begin(self, ticks: Ordered) -> None:
        """Observe tick 0."""
        ticks.observe(0)

    def go_on(self, ticks: Ordered) -> None:
        """Play the tick that is over and observe the next one."""
        ticks.play()
        if not ticks.is_over:
            ticks.observe(ticks.tick + 1)
