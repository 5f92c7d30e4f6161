"""Own play: what a policy does without a network, logged, and a one-step model fitted to it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.agents.fit_model import fit_model
from netlab.agents.learned_model import LearnedModel
from netlab.agents.network_policy import NetworkPolicy
from netlab.agents.policy_file import PolicyFile
from netlab.agents.transitions import Transitions, TransitionsCard
from netlab.control.question import Question
from netlab.control.values import Value
from netlab.envs.episode import episode_seed
from netlab.envs.registry import make_task
from netlab.envs.task import Task
from netlab.messages import Space
from netlab.training.recipe import TrainingRecipe

__all__ = ["fit_own_model"]

_DRAWS = 2
"""Which of the seed's streams the random actions are; training has 0 and 1."""
_NEUTRAL_SHARE = 0.25
"""Of the random actions: what neutral does has to be seen, since links bring it about."""


def fit_own_model(recipe: TrainingRecipe, policy: PolicyFile, seed: int) -> LearnedModel:
    """Return the model that a recipe asks for.

    Args:
        recipe: Has a ``model``.
        policy: What plays; a share of its actions is random, so that the model sees more than its habits.
        seed: Of episodes, random actions and the fit.

    Raises:
        SpecError: The transitions are too few for what is to be fitted.
    """
    asked = recipe.model
    assert asked is not None
    return fit_model(
        _log(recipe, policy, seed, asked.transitions, asked.explore_ratio),
        degree=asked.degree,
        hidden=asked.hidden,
        members=asked.members,
        seed=seed,
    )


class _Tick(NamedTuple):
    """One tick of play."""

    state: NDArray[np.float64]
    action: Value
    is_neutral: bool
    after: NDArray[np.float64]
    episode: int


def _log(recipe: TrainingRecipe, policy: PolicyFile, seed: int, ticks: int, explore_ratio: float) -> Transitions:
    """Return so many ticks of play without a network."""
    task = make_task(recipe.task, recipe.control.rate_hz, options=recipe.options)
    description = task.description
    played = itertools.islice(_play(task, policy, seed, explore_ratio), ticks)
    states, actions, neutral, after, episodes = zip(*played, strict=True)
    task.close()
    return Transitions(
        card=TransitionsCard(
            task=description.name,
            observation=description.observation,
            action=description.action,
            source=f"{recipe.name}, seed {seed}, {explore_ratio:.0%} random",
        ),
        states=np.array(states),
        actions=_columns_of(actions, description.action),
        neutral=np.array(neutral),
        next_states=np.array(after),
        episodes=np.array(episodes),
    )


def _play(task: Task, policy: PolicyFile, seed: int, explore_ratio: float) -> Iterator[_Tick]:
    """Play episode after episode, a share of the ticks at random."""
    player = NetworkPolicy(policy.card, policy.weights)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_DRAWS,)))
    for episode in itertools.count():
        state, is_over = task.reset(episode_seed(seed, episode)), False
        player.reset()
        while not is_over:
            action, is_neutral = player.decide(Question.of_state(state)), False
            if rng.random() < explore_ratio:
                is_neutral = bool(rng.random() < _NEUTRAL_SHARE)
                action = _random_action(task.description.action, rng)
            step = task.step(None if is_neutral else action)
            yield _Tick(_flat(state), action, is_neutral, _flat(step.observation), episode)
            state, is_over = step.observation, step.terminated or step.truncated


def _flat(observation: NDArray[Any]) -> NDArray[np.float64]:
    """Return an observation's own numbers, which the task may write over."""
    return np.array(observation, np.float64).ravel()


def _columns_of(actions: Sequence[Value], space: Space) -> NDArray[Any]:
    """Return actions as a log has them: ``[n]`` of a discrete space, ``[n, m]`` of a box."""
    if space.kind == "discrete":
        return np.array(actions, dtype=np.int64)
    return np.array(actions, dtype=np.float64).reshape(len(actions), -1)


def _random_action(space: Space, rng: np.random.Generator) -> Value:
    """Return any action of a space, all equally likely."""
    if space.kind == "discrete":
        return int(rng.integers(space.n))
    low, high = (np.array(bound, dtype=np.float64).reshape(space.shape) for bound in (space.low, space.high))
    return rng.uniform(low, high).astype(space.dtype)
