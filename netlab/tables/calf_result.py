"""CalfResult: what came of a cell, as it is kept; pure data."""

from __future__ import annotations

from msgspec import Struct

from netlab.envs.virtual.options import NetworkOptions
from netlab.scoring.network_figures import NetworkFigures
from netlab.scoring.score import Score

__all__ = ["CalfResult"]


class CalfResult(Struct, frozen=True, kw_only=True):
    """What a policy did on a network.

    Attributes:
        command: What trained the policy; empty of one that is code.
        control: How the task was controlled.
        figures: What was asked of the network and what it delivers.
        returns: Of each episode.
        successes: Whether each one came to its goal; None of a task that has none.
        seconds: How long the computing took.
        machine: Where.
    """

    command: str
    control: NetworkOptions
    figures: NetworkFigures
    returns: tuple[float, ...]
    successes: tuple[bool, ...] | None
    seconds: float
    machine: dict[str, object]

    @classmethod
    def of(cls, score: Score) -> CalfResult:
        """Return what is kept of a score."""
        training = None if score.card is None else score.card.training
        return cls(
            command="" if training is None else training.command,
            control=score.control,
            figures=score.figures,
            returns=score.returns,
            successes=score.successes,
            seconds=score.seconds,
            machine=score.machine,
        )

    @property
    def points(self) -> tuple[float, ...]:
        """What each episode scores: its return; of a task with a goal 100 where it came there, else 0."""
        if self.successes is None:
            return self.returns
        return tuple(100.0 * success for success in self.successes)
