"""Checkpoint: everything a training run is, so that it goes on as if it had never stopped.

::

    card     config, spaces, seed, iteration, random generator, episodes so far, versions
    tensors  network.*                                the weights, by the names of agents/networks.py
             adam.first, adam.second                  the moments
             collector.observations, .state           what was seen last, the LSTM's state
             collector.played                         actions since the environments last began afresh

An environment cannot be saved. It begins afresh every few iterations from a seed of (run's seed, iteration), and
the actions played since are kept: a resumed run plays them again and compares what it sees with what was seen.
This asks of an environment that it depends on its seed and its actions alone.

Needs no torch: the weights of a checkpoint are all that ``agents/acting.py`` asks for. No pickle anywhere.
"""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from netlab.agents.episode_returns import RECENT
from netlab.agents.ppo_config import PPOConfig
from netlab.agents.ppo_spaces import PPOSpaces
from netlab.agents.tensor_file import read_tensors, write_tensors
from netlab.errors import SpecError
from netlab.messages import Seed, ShortText

__all__ = ["Checkpoint", "CheckpointCard", "RandomState", "read_checkpoint", "require_room"]

MAX_BYTES = 1 << 30

_CARD_BYTES = 1 << 20
"""Room in the file for all that is no number of the run."""
_WHAT = "a checkpoint of PPO"
_HINT = "netlab train writes one"
_NETWORK = "network."
_TENSORS = ("adam.first", "adam.second", "collector.observations", "collector.state", "collector.played")

Return = Annotated[float, Meta(ge=-1e300, le=1e300)]
"""Of an episode; the mean of as many as are kept is a number, too."""
Count = Annotated[int, Meta(ge=0, le=2**62)]
Word = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Digits = Annotated[str, Meta(pattern="^[0-9]{1,39}$")]


class RandomState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """State of numpy's PCG64, whose integers are longer than JSON's: as digits."""

    state: Digits
    increment: Digits
    has_word: Literal[0, 1]
    word: Word

    @classmethod
    def of(cls, rng: np.random.Generator) -> RandomState:
        """Return the state of a generator made by ``numpy.random.default_rng``."""
        whole: dict[str, Any] = dict(rng.bit_generator.state)
        inner = whole["state"]
        return cls(
            state=str(inner["state"]),
            increment=str(inner["inc"]),
            has_word=whole["has_uint32"],
            word=whole["uinteger"],
        )

    def generator(self) -> np.random.Generator:
        """Return a generator in this state."""
        made = np.random.PCG64()
        mask = 2**128 - 1
        made.state = {
            "bit_generator": "PCG64",
            "state": {"state": int(self.state) & mask, "inc": int(self.increment) & mask},
            "has_uint32": self.has_word,
            "uinteger": self.word,
        }
        return np.random.Generator(made)


class CheckpointCard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a checkpoint says of itself.

    Attributes:
        format: What kind of file it is, and which version of it.
        config: Every hyper-parameter.
        spaces: What the networks see and do.
        seed: Of the run.
        iteration: How many iterations are behind it.
        adam_steps: How many steps Adam has made.
        random: Of the generator that draws actions and shuffles minibatches.
        finished: Episodes finished.
        recent: Returns of the last of them.
        note: What made it: a command, an environment, a network.
        versions: Of netlab, numpy, torch and gymnasium.
    """

    format: Literal["netlab-ppo-1"] = "netlab-ppo-1"
    config: PPOConfig
    spaces: PPOSpaces
    seed: Seed
    iteration: Count
    adam_steps: Count
    random: RandomState
    finished: Count = 0
    recent: Annotated[tuple[Return, ...], Meta(max_length=RECENT)] = ()
    note: Annotated[str, Meta(max_length=10_000)] = ""
    versions: Annotated[dict[ShortText, ShortText], Meta(max_length=16)] = {}


class Checkpoint(Struct, frozen=True, kw_only=True):
    """A training run between two iterations.

    Attributes:
        card: What it says of itself.
        weights: Of the network, by name.
        first: Adam's first moment, ``[weights]``.
        second: Adam's second moment.
        observations: What was seen last, ``[n, d]``.
        state: Of the policy network, ``[2, n, units]``.
        played: Actions since the last reset, ``[steps, n, ...]``; ``[0]`` where the next thing is a reset.
    """

    card: CheckpointCard
    weights: dict[str, NDArray[np.float32]]
    first: NDArray[np.float32]
    second: NDArray[np.float32]
    observations: NDArray[np.float32]
    state: NDArray[np.float32]
    played: NDArray[Any]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write it, whole or not at all.

        Raises:
            SpecError: No such file can be written.
            KernelError: The disk takes no more.
        """
        columns = (self.first, self.second, self.observations, self.state, self.played)
        tensors = {_NETWORK + name: array for name, array in self.weights.items()}
        tensors |= dict(zip(_TENSORS, columns, strict=True))
        write_tensors(path, self.card, tensors, max_bytes=MAX_BYTES)

    def require_spaces(self, spaces: PPOSpaces) -> None:
        """Refuse an environment that this was not trained in.

        Raises:
            SpecError: Says both.
        """
        if spaces != self.card.spaces:
            raise SpecError(
                f"the checkpoint is for {self.card.spaces.describe()}; the environment has {spaces.describe()}",
                key="resume",
                hint="give the task, the features and the actuator that it was trained with",
            )


def require_room(config: PPOConfig, spaces: PPOSpaces, numbers: int) -> None:
    """Refuse, before the work, a run whose checkpoint could grow larger than one may be.

    Args:
        config: Of the run.
        spaces: Of its environments.
        numbers: Of its network.

    Raises:
        SpecError: It could.
    """
    count = config.environments
    units = config.lstm_units if config.network == "lstm" else 0
    action_bytes = 8 if spaces.action.kind == "discrete" else 4 * spaces.output
    played = min(config.reset_every_iterations, config.iterations) * config.iteration_steps * action_bytes
    found = 4 * (3 * numbers + count * (spaces.observation + 2 * units)) + played
    if found > MAX_BYTES - _CARD_BYTES:
        problem = (
            f"a checkpoint of up to {found} bytes, {played} of them actions: at most {MAX_BYTES - _CARD_BYTES}"
        )
        hint = "a smaller ppo.reset_every_iterations keeps fewer actions; or choose fewer units"
        raise SpecError(problem, key="ppo", hint=hint)


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint.

    Raises:
        SpecError: It cannot be read, or is not one.
    """
    card, tensors = read_tensors(path, CheckpointCard, max_bytes=MAX_BYTES, what=_WHAT, hint=_HINT)
    weights = {name.removeprefix(_NETWORK): array for name, array in tensors.items() if name.startswith(_NETWORK)}
    missing = [name for name in _TENSORS if name not in tensors]
    if missing or not weights:
        raise SpecError(f"is not {_WHAT}: it has no {', '.join(missing or [_NETWORK])}", path, hint=_HINT)
    first, second, observations, state, played = (tensors[name] for name in _TENSORS)
    numbers = sum(array.size for array in weights.values())
    count, config, spaces = card.config.environments, card.config, card.spaces
    units = config.lstm_units if config.network == "lstm" else 0
    wanted = {
        "adam.first": (first, (numbers,)),
        "adam.second": (second, (numbers,)),
        "collector.observations": (observations, (count, spaces.observation)),
        "collector.state": (state, (2, count, units)),
    }
    for name, (array, shape) in wanted.items():
        if array.shape != shape or array.dtype != np.float32:
            found = f"{array.dtype}{list(array.shape)}, must be float32{list(shape)}"
            raise SpecError(f"is not {_WHAT}: {name} is {found}", path, hint=_HINT)
    is_discrete = spaces.action.kind == "discrete"
    # As many as were played since the last reset, so that nothing more is played again.
    steps = card.iteration % config.reset_every_iterations * config.horizon_steps
    shape = ((steps, count) if is_discrete else (steps, count, spaces.output)) if steps else (0,)
    kind = np.dtype(np.float32 if steps and not is_discrete else np.int64)
    if played.shape != shape or played.dtype != kind:
        found = f"{played.dtype}{list(played.shape)}, must be {kind}{list(shape)}"
        raise SpecError(f"is not {_WHAT}: its actions are {found}", path, hint=_HINT)
    if is_discrete and not bool(((played >= 0) & (played < spaces.action.n)).all()):
        problem = f"its actions are not all 0 .. {spaces.action.n - 1}"
        raise SpecError(f"is not {_WHAT}: {problem}", path, hint=_HINT)
    return Checkpoint(
        card=card,
        weights=weights,
        first=first,
        second=second,
        observations=observations,
        state=state,
        played=played,
    )
