"""The rows of the parity table: which policies, on which networks, through what; declared as data.

To add one, add it here.
"""

from __future__ import annotations

from typing import NamedTuple

from netlab.messages import ActuatorName

__all__ = ["DIFFERENCE_SHARE", "PLAYED", "REAL_NETWORKS", "VIRTUAL_NETWORKS", "PlayedPolicy"]

DIFFERENCE_SHARE = 0.02
"""Of the range of returns: two means that are closer are taken to be one."""


class PlayedPolicy(NamedTuple):
    """A policy, how it is played, and what its returns can be.

    Attributes:
        policy: Its name.
        range: From the least return to the greatest.
        actuator: In place of what its card says.
    """

    policy: str
    range: float
    actuator: ActuatorName | None = None


PLAYED = (
    PlayedPolicy("cartpole-baseline", 500.0),
    PlayedPolicy("cartpole-paper", 500.0),
    PlayedPolicy("cartpole-scheduled", 500.0),
    PlayedPolicy("cartpole-predictor", 500.0),
    PlayedPolicy("doorkey-baseline", 1.0),
    PlayedPolicy("doorkey-baseline", 1.0, "stop-and-wait"),
    PlayedPolicy("doorkey-aware", 1.0),
)

VIRTUAL_NETWORKS = (
    "ethernet-clean",
    "wifi-normal",
    "wifi-normal@oneway",
    "wifi-degraded",
    "wifi-degraded@oneway",
)
"""In virtual time, where hundreds of episodes take minutes."""

REAL_NETWORKS = ("wifi-degraded",)
"""In real time, where an episode takes as long as it says."""
