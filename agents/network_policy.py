"""NetworkPolicy: a trained network as a policy of the tick protocol; numpy alone.

::

    Question --Features--> row [size] --actor--> output --greedy | drawn--> action
                  ^                    state kept                              |
                  `------------------------ decided ---------------------------'
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from netlab.agents.acting import make_sampler
from netlab.agents.cartpole_physics import CartPolePhysics
from netlab.agents.policy import Recipe
from netlab.agents.policy_card import PolicyCard
from netlab.agents.policy_file import PolicyFile, read_policy
from netlab.agents.policy_network import Weights, make_policy_network
from netlab.control.features import Features
from netlab.control.policy import Persistence, Policy, Predictor
from netlab.control.question import Question
from netlab.control.values import Value
from netlab.messages import Space, TaskDescription

__all__ = ["NetworkPolicy", "episode_draws", "file_recipe", "read_recipe", "single_predictor"]


class NetworkPolicy:
    """Decide by a network.

    Args:
        card: What the policy is.
        weights: Tensors of its network.
        task: What this session controls; the card's own where None.
        run_seed: Of the run, which a ``sampled`` policy's draws follow from; 0 in a service, which is not told it.

    Raises:
        SpecError: The weights are not those of a network with this card.
    """

    def __init__(
        self, card: PolicyCard, weights: Weights, task: TaskDescription | None = None, run_seed: int = 0
    ) -> None:
        self.card = card
        self._run_seed = run_seed
        self._actor = make_policy_network(card, weights)
        self._features = Features(card.features, task or card.task)
        self._sampler = make_sampler(card.task.action)
        self._discrete = card.task.action.kind == "discrete"
        self._state = self._no_state()
        self._rng: np.random.Generator | None = None

    def decide(self, question: Question) -> Value:
        """Return the likeliest action, or one drawn where the card says so."""
        row = self._features.of(question)[None]
        with np.errstate(over="ignore", invalid="ignore"):  # a peer may send the largest numbers there are
            output, self._state = self._actor.act(row, self._state)
        if self.card.choose == "greedy":
            chosen = self._sampler.mode(output)
        else:
            chosen = self._sampler.sample(output, self._draws(question))
        played = self._sampler.played(chosen)[0]
        action: Value = int(played) if self._discrete else played
        self._features.decided(action)
        return action

    def reset(self) -> None:
        """Forget the episode."""
        self._features.reset()
        self._state = self._no_state()
        self._rng = None

    def _no_state(self) -> NDArray[np.float32]:
        """Return the state of a network that remembers nothing yet."""
        return np.zeros((2, 1, self._actor.state_units), np.float32)

    def _draws(self, question: Question) -> np.random.Generator:
        """Return the draws of this episode: its number decides them, not how many were played before."""
        if self._rng is None:
            self._rng = episode_draws(self.card.sampling_seed, self._run_seed, question.observation.episode)
        return self._rng


def episode_draws(sampling_seed: int, run_seed: int, episode: int) -> np.random.Generator:
    """Return what a ``sampled`` policy draws from in one episode: three numbers decide it, and nothing else.

    Args:
        sampling_seed: Of the policy's card.
        run_seed: Of the run; 0 where nobody tells it.
        episode: Its number in the run.
    """
    return np.random.default_rng((sampling_seed, run_seed, episode))


def read_recipe(path: str | os.PathLike[str], name: str = "") -> Recipe:
    """Return the recipe of the policy in a file, which is read once for all sessions.

    Args:
        path: The file.
        name: What people called it by; what the file calls itself where they gave its path.

    Raises:
        SpecError: It cannot be read or is no policy file.
    """
    return file_recipe(read_policy(path), name)


def file_recipe(file: PolicyFile, name: str = "") -> Recipe:
    """Return the recipe of a policy that has been read; see ``read_recipe``."""

    def make(task: TaskDescription, run_seed: int) -> tuple[Policy, Predictor]:
        return NetworkPolicy(file.card, file.weights, task, run_seed), single_predictor(file)

    return Recipe(
        name=name or file.card.name,
        summary=file.card.summary,
        make=make,
        refusal=lambda task: _refusal(file.card.task, task),
        file=file,
    )


def single_predictor(file: PolicyFile) -> Predictor:
    """Return what predicts one state at a time for the policy of a file."""
    if file.model is not None:
        return file.model
    return CartPolePhysics() if file.card.predictor == "cartpole-physics" else Persistence()


def _refusal(ours: TaskDescription, task: TaskDescription) -> str:
    """Say why a policy for one task cannot serve another: by the spaces too, as the name is the peer's word."""
    if task.name != ours.name:
        return f"task {task.name!r} is not {ours.name}, which it was made for"
    for what, mine, theirs in (
        ("observations", ours.observation, task.observation),
        ("actions", ours.action, task.action),
    ):
        if _form(mine) != _form(theirs):
            return f"{what} are {_words(theirs)}, not {_words(mine)}"
    if (ours.action.low, ours.action.high) != (task.action.low, task.action.high):
        return "the bounds of the actions are not those it was made for"
    return ""


def _form(space: Space) -> tuple[str, str, tuple[int, ...], int]:
    return space.kind, space.dtype, space.shape, space.n


def _words(space: Space) -> str:
    return f"discrete with n={space.n}" if space.kind == "discrete" else f"{space.dtype}{list(space.shape)}"
