"""Mode: one of the places a policy is played in; chosen once, by the command line.

::

    RunPlan --play--> LocalMode    this process, no network at all
                 |`-> CornerMode   the model, or services in a lab whatever carries its packets
                 `--> RemoteMode   the environment here, the agent on another host
                          `--> Played --> RunReport
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from netlab.envs.result import RunResult
from netlab.episode.report import WaySummary
from netlab.modes.plan import RunPlan
from netlab.modes.request import Between

__all__ = ["Mode", "Played", "Say"]

Say = Callable[[str], None]


class Played(Struct, frozen=True, kw_only=True):
    """What came of a plan.

    Attributes:
        run: What the environment's service reports.
        ways: What the network has delivered, forward and back; empty where nobody can see it.
        early: Which packets took draws that were meant for an episode's, in words; empty where none did.
    """

    run: RunResult
    ways: tuple[WaySummary, ...] = ()
    early: str = ""


class Mode(Protocol):
    """A place to play a policy in.

    Attributes:
        name: As people type it.
        between: What stands between environment and policy.
    """

    name: str
    between: Between

    def play(self, plan: RunPlan, ticks: Path | None, say: Say) -> Played:
        """Play a plan's episodes.

        Args:
            plan: What to play.
            ticks: File for a line of JSON a tick; None for none.
            say: Told what a person must know before trusting the result.

        Raises:
            NetlabError: It cannot be played here.
        """
        ...
