"""Score: what one policy did on one network, as a document; pure data.

Plays nothing (``scorer.py`` does) and shows nothing (``netlab/cli/eval.py`` does).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from netlab.agents.policy_card import PolicyCard
from netlab.envs.virtual.options import NetworkOptions
from netlab.scoring.network_figures import NetworkFigures

__all__ = ["PlayedEpisodes", "Score", "gap", "standard_error"]


class PlayedEpisodes(Struct, frozen=True):
    """What became of some episodes, in their order.

    Attributes:
        returns: Sum of rewards of each.
        ticks: Ticks of each.
        terminated: Whether the task's own rules ended it, and not its time limit.
    """

    returns: tuple[float, ...] = ()
    ticks: tuple[int, ...] = ()
    terminated: tuple[bool, ...] = ()

    def __add__(self, other: PlayedEpisodes) -> PlayedEpisodes:
        return PlayedEpisodes(
            self.returns + other.returns, self.ticks + other.ticks, self.terminated + other.terminated
        )


class Score(Struct, frozen=True, kw_only=True):
    """How well a policy did.

    Attributes:
        policy: What it is called.
        policy_sha256: Of its file, as it was when it was read: names are not unique; empty of one that is code.
        card: What its file says of it; None of a policy that is code.
        task: What it controlled.
        task_options: Numbers that changed the task, by name.
        network: As asked for.
        figures: What was asked of that network and what it delivers.
        control: How the task was controlled: actuator, horizon, fallback.
        seeds: Seed of each episode's run; each is its run's first.
        returns: Return of each episode.
        ticks: Ticks of each.
        successes: Whether each one came to its goal; None of a task that has none.
        mean: Mean return.
        standard_error: Of that mean; None below two episodes.
        minimum: The worst return.
        success_ratio: Share of the episodes that came to their goal; None of a task that has none.
        clock: ``model``: no packets, no kernel, no waiting.
        seconds: How long the computing took.
        versions: Of netlab, numpy and python.
        machine: Where it was computed.
    """

    policy: str
    policy_sha256: str = ""
    card: PolicyCard | None
    task: str
    task_options: dict[str, int | float]
    network: str
    figures: NetworkFigures
    control: NetworkOptions
    seeds: tuple[int, ...]
    returns: tuple[float, ...]
    ticks: tuple[int, ...]
    successes: tuple[bool, ...] | None
    mean: float
    standard_error: float | None
    minimum: float
    success_ratio: float | None
    clock: Literal["model"] = "model"
    seconds: float
    versions: dict[str, str]
    machine: dict[str, object]

    def gap(self, reference: Score) -> float | None:
        """Return the gap of its mean to the reference's; None as of ``gap``."""
        return gap(self.mean, reference.mean)


def gap(score: float, clean: float) -> float | None:
    """Return 1 - score / clean; None where clean is not above 0, and a share means nothing."""
    return 1.0 - score / clean if clean > 0.0 else None


def standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of the mean; None below two values."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
