"""PPOConfig: every number a training run by PPO is asked for, with its unit, its bounds and its default.

Loads msgspec alone: the command line takes its defaults from here before anything heavy is needed. What a number
does to the learning stands in ``docs/algorithms/ppo.md``.
"""

from __future__ import annotations

import math
from typing import Literal

from msgspec import Struct

from netlab.errors import SpecError

__all__ = ["CARTPOLE", "DOORKEY", "GridLayout", "PPOConfig"]

_PAGE = "docs/algorithms/ppo.md says what it does"
_MOST_STEPS = 10**12
_MOST_UNITS = 4096
_MOST_ONE_HOT = 2**16
"""A view of MiniGrid has 980."""
_MOST_PLAYED_STEPS = 2**24
"""Of one iteration, and of all between two resets."""


class GridLayout(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where in a flat observation a grid stands: cell after cell, a few small integers each.

    Attributes:
        start: Index of its first number.
        cells: How many cells, a 7x7 view's 49.
        sizes: How many values each of a cell's integers can take: MiniGrid's object, colour and state.
    """

    start: int = 0
    cells: int = 49
    sizes: tuple[int, ...] = (11, 6, 3)

    def __post_init__(self) -> None:
        _whole("grid.start", self.start, 0, 2**20)
        _whole("grid.cells", self.cells, 1, 2**12)
        if not 1 <= len(self.sizes) <= 16:
            raise SpecError(f"{len(self.sizes)} integers a cell: must be 1 .. 16", key="grid.sizes", hint=_PAGE)
        for size in self.sizes:
            _whole("grid.sizes", size, 1, 256)
        if self.one_hot_size > _MOST_ONE_HOT:
            problem = f"{self.cells} cells of {sum(self.sizes)} values each: at most {_MOST_ONE_HOT} together"
            raise SpecError(problem, key="grid", hint=_PAGE)

    @property
    def stop(self) -> int:
        """Return the index behind its last number."""
        return self.start + self.cells * len(self.sizes)

    @property
    def one_hot_size(self) -> int:
        """Return how many numbers it has once each integer is one-hot."""
        return self.cells * sum(self.sizes)


class PPOConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What PPO is asked for; the defaults are the recipe for CartPole.

    Attributes:
        total_steps: Steps of all environments together, rounded up to whole iterations.
        environments: N, how many are stepped at once.
        horizon_steps: T, steps of each environment in one iteration.
        epochs: K, how often each step of an iteration is learned from.
        minibatches: Parts of an epoch, each of which makes one step of Adam; of the LSTM parts of the
            environments, since its sequences stay whole.
        learning_rate: Adam's alpha at the beginning.
        anneal: Whether it falls to 0 on a line over the iterations.
        adam_epsilon: Adam's epsilon.
        discount: gamma, a tick of the environment.
        gae_lambda: lambda, a decision.
        clip_ratio: epsilon of the clipped objective.
        value_weight: c1, weight of the squared error of the value.
        entropy_weight: c2, weight of the entropy bonus.
        gradient_norm: The most the norm of the gradient may be; longer ones are shortened to it.
        reward_scale: What rewards are multiplied by before anything is learned from them; returns of about 1 .. 10
            keep the critic's gradient from drowning the policy's where both are clipped together.
        network: ``mlp``, or ``lstm`` where the observation does not tell the whole state.
        hidden_units: Of each tanh layer of the ``mlp``.
        lstm_units: Of the LSTM, and of the layer in front of it.
        privileged_critic: Whether the critic sees ``infos["privileged"]`` beside the observation.
        grid: Where a grid stands in the observation; ``lstm`` only.
        reset_every_iterations: The environments begin afresh so often, from a seed of the run's seed and the
            iteration. A resumed run plays again what was played since.
        checkpoint_every_iterations: A checkpoint is written so often.
    """

    total_steps: int = 450_000
    environments: int = 64
    horizon_steps: int = 128
    epochs: int = 5
    minibatches: int = 16
    learning_rate: float = 1e-3
    anneal: bool = True
    adam_epsilon: float = 1e-5
    discount: float = 0.995
    gae_lambda: float = 0.98
    clip_ratio: float = 0.2
    value_weight: float = 0.5
    entropy_weight: float = 0.003
    gradient_norm: float = 0.5
    reward_scale: float = 0.05
    network: Literal["mlp", "lstm"] = "mlp"
    hidden_units: tuple[int, ...] = (64, 64)
    lstm_units: int = 128
    privileged_critic: bool = False
    grid: GridLayout | None = None
    reset_every_iterations: int = 20
    checkpoint_every_iterations: int = 10

    def __post_init__(self) -> None:
        for name, most in _WHOLE.items():
            _whole(name, getattr(self, name), 1, most)
        for name, (low, high) in _NUMBERS.items():
            _number(name, getattr(self, name), low, high)
        self._check_network()
        self._check_minibatches()
        if self.iteration_steps > _MOST_PLAYED_STEPS:
            most = _MOST_PLAYED_STEPS // self.environments
            raise SpecError(
                f"{self.environments} environments x {self.horizon_steps} steps are an iteration of "
                f"{self.iteration_steps} steps: at most {_MOST_PLAYED_STEPS}",
                key="horizon_steps",
                hint=f"at most {most} of so many environments, or fewer of them",
            )
        if self.reset_every_iterations * self.iteration_steps > _MOST_PLAYED_STEPS:
            most = _MOST_PLAYED_STEPS // self.iteration_steps
            raise SpecError(
                f"{self.reset_every_iterations}: a checkpoint would hold more than {_MOST_PLAYED_STEPS} actions",
                key="reset_every_iterations",
                hint=f"at most {most} with iterations of {self.iteration_steps} steps",
            )

    @property
    def iteration_steps(self) -> int:
        """Return how many steps one iteration has: N T."""
        return self.environments * self.horizon_steps

    @property
    def iterations(self) -> int:
        """Return how many iterations the run has."""
        return -(-self.total_steps // self.iteration_steps)

    def _check_network(self) -> None:
        if self.network not in ("mlp", "lstm"):
            raise _refused(f"{self.network!r:.80}: must be mlp or lstm", "network")
        if not 1 <= len(self.hidden_units) <= 8:
            raise _refused(f"{len(self.hidden_units)} layers: must be 1 .. 8", "hidden_units")
        for units in self.hidden_units:
            _whole("hidden_units", units, 1, _MOST_UNITS)
        if self.grid is not None and self.network != "lstm":
            hint = 'network = "lstm", or no grid'
            raise SpecError("the mlp takes the observation as it is and has no use for a grid", "", "grid", hint)

    def _check_minibatches(self) -> None:
        parts, what = (
            (self.environments, "environments (the LSTM's sequences stay whole)")
            if self.network == "lstm"
            else (self.iteration_steps, "steps of an iteration")
        )
        if self.minibatches > parts:
            hint = f"at most {parts}"
            raise SpecError(f"{self.minibatches}: more than the {parts} {what}", "", "minibatches", hint)


_WHOLE = {
    "total_steps": _MOST_STEPS,
    "environments": 2**16,
    "horizon_steps": 2**16,
    "epochs": 1000,
    "minibatches": 2**16,
    "lstm_units": _MOST_UNITS,
    "reset_every_iterations": 2**40,
    "checkpoint_every_iterations": 2**40,
}
"""The most each count may be; the least is 1."""

_NUMBERS = {
    "learning_rate": (0.0, 10.0),
    "adam_epsilon": (1e-12, 1.0),
    "discount": (0.0, 1.0),
    "gae_lambda": (0.0, 1.0),
    "clip_ratio": (1e-6, 10.0),
    "value_weight": (0.0, 1e6),
    "entropy_weight": (0.0, 1e6),
    "gradient_norm": (1e-6, 1e9),
    "reward_scale": (1e-9, 1e9),
}
"""What each number must be within."""


def _whole(key: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _refused(f"{value!r:.80}: must be a whole number", key)
    if not low <= value <= high:
        raise _refused(f"{value}: must be within {low} .. {high}", key)


def _number(key: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _refused(f"{value!r:.80}: must be a finite number", key)
    if not low <= value <= high:
        raise _refused(f"{value:g}: must be within {low:g} .. {high:g}", key)


def _refused(problem: str, key: str) -> SpecError:
    defaults = dict(zip(PPOConfig.__struct_fields__, PPOConfig.__struct_defaults__, strict=True))
    hint = f"left out, it is {defaults[key]}; {_PAGE}" if key in defaults else _PAGE
    return SpecError(problem, key=key, hint=hint)


CARTPOLE = PPOConfig()
"""Reaches 500 on CartPole-v1 without a network in front of it."""

DOORKEY = PPOConfig(
    total_steps=1_000_000,
    horizon_steps=64,
    epochs=4,
    minibatches=4,
    discount=0.99,
    gae_lambda=0.95,
    entropy_weight=0.01,
    reward_scale=1.0,
    network="lstm",
    grid=GridLayout(),
)
"""For MiniGrid's DoorKey-8x8, whose observation begins with the 7x7 view; shaping is the environment's."""
