"""training_memory: what training takes of the machine's memory, counted before anything of it is taken.

::

    config, spaces --training_memory--> rollout + its copies + layers + weights --require_memory--> SpecError
                                                                              (more than there is)

The system grants far more than there is, and ends whoever uses it: so what is sure to be too much is refused by
its numbers, and not found out by an iteration that never ends. Needs no torch.
"""

from __future__ import annotations

import os
from itertools import pairwise

from msgspec import Struct

from netlab.agents.ppo_config import PPOConfig
from netlab.agents.ppo_spaces import PPOSpaces
from netlab.errors import SpecError

__all__ = ["TrainingMemory", "machine_memory", "refuse_beyond_memory", "require_memory", "training_memory"]

_FLOAT_BYTES = 4
_STEP_BYTES = 4 + 4
"""Of a step beside what is seen and done: its reward, and four truths about it."""
_WEIGHT_COPIES = 4
"""A weight, its gradient, and Adam's two moments."""
_GRID_UNITS = 64
_GIB = 1 << 30


class TrainingMemory(Struct, frozen=True, kw_only=True):
    """What training holds at once, in bytes, where every step asks for an action.

    Attributes:
        rollout: T steps of N environments, and the copy of them in random order that minibatches are taken of.
        layers: What the networks hold of all steps at once, or, with gradients, of a minibatch.
        weights: Of the networks, with their gradients and moments.
    """

    rollout: int
    layers: int
    weights: int

    @property
    def whole(self) -> int:
        """All of it."""
        return self.rollout + self.layers + self.weights


def machine_memory() -> int:
    """Return how many bytes of memory this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def training_memory(config: PPOConfig, spaces: PPOSpaces) -> TrainingMemory:
    """Return what training with such a config takes.

    Args:
        config: Of the run.
        spaces: Of its environments.
    """
    steps, seen = config.iteration_steps, spaces.observation + spaces.privileged
    act_bytes = 8 if spaces.action.kind == "discrete" else _FLOAT_BYTES * spaces.output
    step_bytes = _FLOAT_BYTES * seen + act_bytes + _STEP_BYTES
    layers = _layers(config, spaces)
    made = [outer for _, outer in layers]
    if config.grid is not None:
        made.append(config.grid.one_hot_size)
    batch = -(-steps // config.minibatches)
    weights = sum(inner * outer for inner, outer in layers)
    return TrainingMemory(
        rollout=2 * steps * step_bytes,
        layers=2 * _FLOAT_BYTES * max(steps * max(made), batch * sum(made)),
        weights=_WEIGHT_COPIES * _FLOAT_BYTES * weights,
    )


def require_memory(config: PPOConfig, spaces: PPOSpaces) -> None:
    """Refuse a run that this machine has not the memory for.

    Args:
        config: Of the run.
        spaces: Of its environments.

    Raises:
        SpecError: It has not: says what would take how much.
    """
    found = training_memory(config, spaces)
    seen = spaces.observation + spaces.privileged
    refuse_beyond_memory(
        found.whole,
        f"iterations of {config.environments} x {config.horizon_steps} steps, {seen} numbers seen in each "
        f"({found.rollout / _GIB:.1f} GiB), layers ({found.layers / _GIB:.1f} GiB) and weights "
        f"({found.weights / _GIB:.1f} GiB)",
        "ppo",
        "fewer ppo.environments or ppo.horizon_steps; or features that show less, or smaller layers",
    )


def refuse_beyond_memory(needed_bytes: int, what: str, key: str, hint: str) -> None:
    """Refuse what takes more memory than this machine has.

    Args:
        needed_bytes: How much it takes at least.
        what: What does, for the message.
        key: The key to blame.
        hint: How to take less.

    Raises:
        SpecError: It does.
    """
    there = machine_memory()
    if needed_bytes > there:
        problem = f"{what}: {needed_bytes / _GIB:.1f} GiB of memory, and this machine has {there / _GIB:.1f}"
        raise SpecError(problem, key=key, hint=hint)


def _layers(config: PPOConfig, spaces: PPOSpaces) -> list[tuple[int, int]]:
    """Return how many numbers go into and come out of each layer, about as ``networks`` has them."""
    d, p, k = spaces.observation, spaces.privileged, spaces.output
    if config.network == "mlp":
        return [
            *pairwise((d, *config.hidden_units, k)),
            *pairwise((d + p, *config.hidden_units, 1)),
        ]
    units, grid = config.lstm_units, config.grid
    cells = [] if grid is None else [(grid.one_hot_size, _GRID_UNITS)]
    return [*cells, (d, units), (2 * units, 4 * units), (units, k), (units + p, 1)]
