"""Corner: what plays an episode: a lab on a kernel or a relay, or the model alone; chosen once.

::

    EpisodePlan --play--> LabCorner    services in hosts, packets through the wiring
                     `--> ModelCorner  the same state machines in one process, no packets
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from netlab.episode.run import EpisodePlan, EpisodeRun
from netlab.errors import SpecError
from netlab.lab_commands import Ended, run_commands
from netlab.lab_spec import LabSpec
from netlab.namespaces.wire import Wiring

__all__ = ["Corner", "LabCorner", "ModelCorner"]

Say = Callable[[str], None]


class Corner(Protocol):
    """What plays the spec of a lab."""

    def play(self, plan: EpisodePlan, say: Say) -> EpisodeRun:
        """Play a plan's episodes.

        Args:
            plan: What to play.
            say: Told what a person must know before trusting what it shows.

        Raises:
            NetlabError: It cannot be played here.
        """
        ...

    def run_commands(self, lab: LabSpec, path: str, seed: int | None, say: Say, *, is_recorded: bool) -> Ended:
        """Run the commands of the hosts of a lab without an episode; see ``netlab.lab_commands``.

        Raises:
            NetlabError: They cannot be run here.
        """
        ...


class LabCorner:
    """A lab.

    Args:
        wiring: What carries its packets.
        reason: Where it runs, in words that follow "the lab runs".
    """

    def __init__(self, wiring: Wiring, reason: str) -> None:
        self._wiring = wiring
        self._reason = reason

    def play(self, plan: EpisodePlan, say: Say) -> EpisodeRun:
        """Play in a lab; see ``Corner``."""
        from netlab.episode.lab import play_in_lab

        say(f"the lab runs {self._reason}")
        return play_in_lab(plan, self._wiring, say)

    def run_commands(self, lab: LabSpec, path: str, seed: int | None, say: Say, *, is_recorded: bool) -> Ended:
        """Run them in a lab; see ``Corner``."""
        return run_commands(lab, path, seed, self._wiring, say, is_recorded=is_recorded)


class ModelCorner:
    """The model of netem, in no time at all."""

    def play(self, plan: EpisodePlan, say: Say) -> EpisodeRun:
        """Play on the model; see ``Corner``."""
        from netlab.episode.model import play_on_model

        return play_on_model(plan)

    def run_commands(self, lab: LabSpec, path: str, seed: int | None, say: Say, *, is_recorded: bool) -> Ended:
        """Refuse; see ``Corner``."""
        hint = "add an [episode] table (docs/four-corners.md), or run it on a kernel: --on guest"
        problem = "without an episode there are commands to run, and the model runs none"
        raise SpecError(problem, path, "episode", hint)
