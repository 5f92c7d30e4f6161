"""What a training run says of itself: how far it is, and what became of it.

Data alone, and no torch: what only reads of a run asks for neither learner nor environments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from netlab.agents.ppo import UpdateMetrics

__all__ = ["TrainingProgress", "TrainingResult"]


class TrainingProgress(Struct, frozen=True, kw_only=True):
    """How far a run is, after each iteration.

    Attributes:
        iteration: Iterations done.
        iterations: Of how many.
        steps: Steps of all environments together.
        rate_hz: Steps a second in this run, a resumed one since it was resumed.
        left_s: How long the rest takes at that rate.
        episodes: Episodes finished.
        mean_return: Of the last 100 of them; None while there are none.
        metrics: Of the update.
    """

    iteration: int
    iterations: int
    steps: int
    rate_hz: float
    left_s: float
    episodes: int
    mean_return: float | None
    metrics: UpdateMetrics


class TrainingResult(Struct, frozen=True, kw_only=True):
    """What became of a run.

    Attributes:
        iterations: Iterations done, those before a resume included.
        steps: Steps of all environments together.
        stopped_by: What stopped it before its end: a signal's name, or ``export`` of a saved run that went no
            further; empty where nothing did.
        episodes: Episodes finished.
        mean_return: Of the last 100 of them; None where there were none.
        seconds: How long it took, since a resume.
        saved_iterations: How many of its iterations its checkpoint holds; None where it was saved nowhere.
    """

    iterations: int
    steps: int
    stopped_by: str
    episodes: int
    mean_return: float | None
    seconds: float
    saved_iterations: int | None = None
