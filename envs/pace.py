"""Paces: when within a tick the action is played that answers its observation.

Objects with the same methods, chosen once by the task.

::

    RealTime    t_k: take in arrivals, observe k, send, play k, step                 ... t_k+1: observe k+1
    TurnBased   t_k: observe k, send     ... t_k+1: take in arrivals, play k, step, observe k+1

In real time an action acts a tick after the observation behind it at the earliest, however good the network is.
By turns a round trip below one tick equals the lock step of Gymnasium.
"""

from __future__ import annotations

from typing import Protocol

from netlab.envs.loop import RealTimeLoop
from netlab.envs.uplink import Uplink
from netlab.messages import TaskDescription

__all__ = ["Pace", "RealTime", "TurnBased", "make_pace"]


class Pace(Protocol):
    """Where in a tick its waiting is."""

    def wait_to_play(self, loop: RealTimeLoop, uplink: Uplink) -> None:
        """Wait between an observation and what is played for it."""
        ...

    def wait_to_observe(self, loop: RealTimeLoop, uplink: Uplink) -> None:
        """Wait between what is played and the next observation."""
        ...

    def begin_anew(self, loop: RealTimeLoop) -> None:
        """Have the next observation's tick begin now, after a pause between what is played and it."""
        ...


class RealTime:
    """Plays what had arrived when the tick was observed."""

    def wait_to_play(self, loop: RealTimeLoop, uplink: Uplink) -> None:
        """Wait for nothing."""

    def wait_to_observe(self, loop: RealTimeLoop, uplink: Uplink) -> None:
        """Wait for the next tick."""
        loop.next_tick(uplink)

    def begin_anew(self, loop: RealTimeLoop) -> None:
        """Begin the next tick."""
        loop.start(loop.tick + 1)


class TurnBased:
    """Plays what has arrived by the end of the tick."""

    def wait_to_play(self, loop: RealTimeLoop, uplink: Uplink) -> None:
        """Wait for the end of the tick, and take what has come with it."""
        loop.next_tick(uplink)
        uplink.keep_up()

    def wait_to_observe(self, loop: RealTimeLoop, uplink: Uplink) -> None:
        """Wait for nothing: the next tick has begun."""

    def begin_anew(self, loop: RealTimeLoop) -> None:
        """Begin the tick that stands, at which nothing has been observed yet."""
        loop.start(loop.tick)


def make_pace(task: TaskDescription) -> Pace:
    """Return the pace of a task."""
    return TurnBased() if task.pace == "turn-based" else RealTime()
