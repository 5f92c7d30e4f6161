"""Actor-critic networks: an MLP with nothing shared, and an LSTM with one body and two heads.

::

    MLP    observation ----------------------> 64 -> 64 -> output       (actor.0, actor.1, ...)
           observation, privileged ----------> 64 -> 64 -> V            (critic.0, ...)
    LSTM   grid one-hot -> 64 .- rest -> 128 -> LSTM 128 -> output      (grid, encoder, lstm, actor)
                                                    `- privileged -> V  (critic.0[, critic.1])

All layers but the last of each line are followed by tanh, all weights begin orthogonal (gain sqrt 2; 0.01 for the
policy's output, so that it begins undecided; 1 for the value's; 1 within the LSTM), all biases at 0: Engstrom et
al. 2020, arXiv 2005.12729, and Andrychowicz et al. 2020, arXiv 2006.05990, find that this matters.

The names of the weights are the format of checkpoints and of shipped policies: ``agents/acting.py`` reads them.
"""

from __future__ import annotations

import abc
import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from netlab.agents.ppo_config import GridLayout, PPOConfig
from netlab.agents.ppo_spaces import PPOSpaces
from netlab.errors import SpecError

__all__ = ["ActorCritic", "Inputs", "LSTMActorCritic", "MLPActorCritic", "Sequences", "make_network"]

_GRID_UNITS = 64
_VALUE_UNITS = 64
_FIRST_LOG_SD = 0.0


class Sequences(NamedTuple):
    """Where each of b steps stands among s sequences, which are padded in blocks of similar length.

    Attributes:
        places: Row of each step in the blocks laid one after another, ``[b]`` int64; within a block of l steps and
            c sequences it is ``step * c + sequence``.
        blocks: (l, c) of each block.
        state: Hidden and cell state each sequence begins with, ``[2, s, units]``, block after block.
    """

    places: Tensor
    blocks: tuple[tuple[int, int], ...]
    state: Tensor


class Inputs(NamedTuple):
    """What the networks are evaluated on: b steps.

    Attributes:
        observations: ``[b, d]``.
        privileged: For the critic alone, ``[b, p]``; p may be 0.
        sequences: How they follow one another; for the LSTM alone.
    """

    observations: Tensor
    privileged: Tensor
    sequences: Sequences | None = None


class ActorCritic(nn.Module, abc.ABC):
    """Two functions of the state: the output of the policy ``[b, k]`` and V ``[b]``."""

    log_sd: nn.Parameter | None

    def _init_log_sd(self, spaces: PPOSpaces) -> None:
        # A parameter of its own and no function of the state: arXiv 2005.12729, and as all baselines do.
        continuous = spaces.action.kind == "box"
        self.log_sd = nn.Parameter(torch.full((spaces.output,), _FIRST_LOG_SD)) if continuous else None

    def _with_log_sd(self, output: Tensor) -> Tensor:
        return output if self.log_sd is None else torch.cat((output, self.log_sd.expand_as(output)), dim=1)

    @abc.abstractmethod
    def act(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return the output of the policy ``[n, k]`` and the next state ``[2, n, units]``, for one step."""

    def values(self, inputs: Inputs) -> Tensor:
        """Return V ``[b]`` alone."""
        values: Tensor = self(inputs)[1]
        return values


class MLPActorCritic(ActorCritic):
    """Two MLPs beside each other."""

    def __init__(self, config: PPOConfig, spaces: PPOSpaces) -> None:
        super().__init__()
        self.actor = _mlp((spaces.observation, *config.hidden_units, spaces.output))
        self.critic = _mlp((spaces.observation + spaces.privileged, *config.hidden_units, 1))
        self._init_log_sd(spaces)

    def forward(self, inputs: Inputs) -> tuple[Tensor, Tensor]:
        """Return the output of the policy and V."""
        return self._with_log_sd(_through(self.actor, inputs.observations)), self.values(inputs)

    def act(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return the output of the policy; the state has no units."""
        return self._with_log_sd(_through(self.actor, observations)), state

    def values(self, inputs: Inputs) -> Tensor:
        """Return V ``[b]`` alone."""
        return _through(self.critic, _beside(inputs.observations, inputs.privileged)).squeeze(1)


class LSTMActorCritic(ActorCritic):
    """One body that remembers, two heads."""

    def __init__(self, config: PPOConfig, spaces: PPOSpaces) -> None:
        super().__init__()
        units, self._grid = config.lstm_units, config.grid
        seen = spaces.observation
        if self._grid is not None:
            if self._grid.stop > spaces.observation:
                found = f"ends at {self._grid.stop}, an observation at {spaces.observation}"
                raise SpecError(found, key="grid", hint="give the grid's place in the observation")
            self.grid = nn.Linear(self._grid.one_hot_size, _GRID_UNITS)
            seen += _GRID_UNITS - (self._grid.stop - self._grid.start)
        self.encoder = nn.Linear(seen, units)
        self.lstm = nn.LSTM(units, units)
        self.actor = nn.Linear(units, spaces.output)
        # What is privileged has not been through a body that could mix it with the rest: a layer more.
        sizes = (units + spaces.privileged, *((_VALUE_UNITS,) if spaces.privileged else ()), 1)
        self.critic = _mlp(sizes)
        self._init_log_sd(spaces)

    def forward(self, inputs: Inputs) -> tuple[Tensor, Tensor]:
        """Return the output of the policy and V."""
        assert inputs.sequences is not None
        remembered = self._remember(self._encode(inputs.observations), inputs.sequences)
        values = _through(self.critic, _beside(remembered, inputs.privileged)).squeeze(1)
        return self._with_log_sd(self.actor(remembered)), values

    def act(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return the output of the policy and the next state."""
        before = (state[0].unsqueeze(0), state[1].unsqueeze(0))
        _, (hidden, cell) = self.lstm(self._encode(observations).unsqueeze(0), before)
        return self._with_log_sd(self.actor(hidden[0])), torch.cat((hidden, cell))

    def _encode(self, observations: Tensor) -> Tensor:
        x, grid = observations, self._grid
        if grid is not None:
            seen = tanh(self.grid(_one_hot(observations[:, grid.start : grid.stop], grid)))
            x = torch.cat((seen, observations[:, : grid.start], observations[:, grid.stop :]), dim=1)
        return tanh(self.encoder(x))

    def _remember(self, encoded: Tensor, sequences: Sequences) -> Tensor:
        """Return the LSTM's hidden state behind each step ``[b, units]``: one call for a block of sequences."""
        units, blocks = encoded.shape[1], sequences.blocks
        rows = [steps * count for steps, count in blocks]
        padded = encoded.new_zeros((sum(rows), units)).index_copy(0, sequences.places, encoded)
        states = torch.split(sequences.state, [count for _, count in blocks], dim=1)
        after = [
            self.lstm(block.view(steps, count, units), (state[:1], state[1:]))[0].reshape(-1, units)
            for (steps, count), block, state in zip(blocks, torch.split(padded, rows), states, strict=True)
        ]
        return torch.cat(after).index_select(0, sequences.places)


def make_network(config: PPOConfig, spaces: PPOSpaces, rng: np.random.Generator) -> ActorCritic:
    """Return a network with fresh weights; torch's own generator is neither used nor moved.

    Raises:
        SpecError: The grid does not fit into the observation.
    """
    made = LSTMActorCritic if config.network == "lstm" else MLPActorCritic
    with torch.random.fork_rng(devices=[]):  # torch draws weights of its own before we set ours
        network = made(config, spaces)
    last = {"actor.weight": 0.01}
    layers = len(config.hidden_units) if config.network == "mlp" else int(spaces.privileged > 0)
    last |= {f"actor.{len(config.hidden_units)}.weight": 0.01, f"critic.{layers}.weight": 1.0}
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "bias" in name:
                parameter.zero_()
            elif name.startswith("lstm."):
                blocks = [_orthogonal(rng, one.shape, 1.0) for one in parameter.chunk(4)]
                parameter.copy_(torch.from_numpy(np.concatenate(blocks)))
            elif name != "log_sd":
                gain = last.get(name, math.sqrt(2.0))
                parameter.copy_(torch.from_numpy(_orthogonal(rng, parameter.shape, gain)))
    return network


def tanh(x: Tensor) -> Tensor:
    """Return tanh as 2 sigmoid(2x) - 1, to float32's rounding; torch's own takes longer on a CPU."""
    return torch.sigmoid(x + x) * 2.0 - 1.0


def _through(layers: nn.ModuleList, x: Tensor) -> Tensor:
    for number, layer in enumerate(layers):
        x = functional.linear(tanh(x) if number else x, layer.weight, layer.bias)  # type: ignore[arg-type]
    return x


def _mlp(sizes: tuple[int, ...]) -> nn.ModuleList:
    return nn.ModuleList(nn.Linear(inner, outer) for inner, outer in pairwise(sizes))


def _beside(x: Tensor, privileged: Tensor) -> Tensor:
    return torch.cat((x, privileged), dim=1) if privileged.shape[1] else x


def _one_hot(numbers: Tensor, grid: GridLayout) -> Tensor:
    """Return a grid's integers one-hot, as ``acting.one_hot_cells``; the collector has refused impossible ones."""
    offsets = torch.tensor([sum(grid.sizes[:place]) for place in range(len(grid.sizes))])
    cells = torch.arange(grid.cells).unsqueeze(1) * sum(grid.sizes)
    places = numbers.to(torch.int64) + (cells + offsets).view(1, -1)
    return numbers.new_zeros((len(numbers), grid.one_hot_size)).scatter_(1, places, 1.0)


def _orthogonal(rng: np.random.Generator, shape: torch.Size, gain: float) -> NDArray[np.float32]:
    """Return a matrix whose rows or columns, whichever are fewer, are orthogonal (Saxe et al. 2013)."""
    rows, columns = shape
    tall = rng.standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(tall)
    q *= np.sign(np.diag(r))
    return np.asarray(gain * (q if rows >= columns else q.T), dtype=np.float32)
