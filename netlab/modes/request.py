"""RunRequest: what a person asks ``netlab run`` for, the same words in every mode.

Knows no policy, task or network: ``plan.py`` looks their names up.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from netlab.messages import ActuatorName, FallbackName

__all__ = ["Between", "RunRequest"]

Between = Literal["nothing", "link", "network"]
"""What stands between environment and policy: nothing at all, the request's link, or a network that is there."""


class RunRequest(Struct, frozen=True, kw_only=True):
    """A policy, and what is not to be as its file says.

    Attributes:
        policy: Its name, or the path of its file.
        task: What it controls; empty for what it was made for.
        options: Numbers that change the task, by name.
        network: A preset, a profile file or inline options; empty for a clean link.
        actuator: ``newest``, ``scheduled``, ``planned`` or ``stop-and-wait``; None for what the policy was
            made for.
        horizon_ticks: D of ``scheduled`` or ``planned``, or ``ADAPTIVE_HORIZON``; None for what suits
            policy and network.
        fallback: ``neutral`` or ``hold``; None for what the policy was made for.
        episodes: How many.
        seed: Of the links and of the episodes' seeds.
    """

    policy: str
    task: str = ""
    options: dict[str, float] = {}
    network: str = ""
    actuator: ActuatorName | None = None
    horizon_ticks: int | None = None
    fallback: FallbackName | None = None
    episodes: int = 1
    seed: int = 0
