"""Policies, models and transitions small enough to be made in a test."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np

from netlab.agents.cartpole_linear import GAINS, LinearCartPole
from netlab.agents.learned_model import LearnedModel
from netlab.agents.policy_card import PolicyCard, Training
from netlab.agents.policy_file import PolicyFile
from netlab.agents.ppo_config import GridLayout
from netlab.agents.transitions import Transitions, TransitionsCard
from netlab.control.feature_spec import FeatureSpec
from netlab.control.question import Question
from netlab.envs.cartpole import CartPole
from netlab.messages import Space, TaskDescription

CARTPOLE = CartPole().description
REACHER = TaskDescription(
    name="Reach",
    rate_hz=20.0,
    observation=Space(kind="box", dtype="float32", shape=(3,)),
    action=Space(kind="box", dtype="float32", shape=(2,), low=(-1.0, -1.0), high=(1.0, 1.0)),
)
GRID_WORLD = TaskDescription(
    name="Grid",
    rate_hz=10.0,
    observation=Space(kind="box", dtype="uint8", shape=(13,)),
    action=Space(kind="discrete", dtype="int64", n=7),
)
GRID = GridLayout(start=1, cells=4, sizes=(5, 3, 2))
TRAINING = Training(command="netlab train", seed=3, steps=1000, versions={"netlab": "0"})


def linear_file(model: LearnedModel | None = None) -> PolicyFile:
    """The shipped linear feedback as a network without a hidden layer."""
    card = PolicyCard(
        name="linear-file",
        summary="linear feedback in a file",
        kind="mlp",
        task=CARTPOLE,
        features=FeatureSpec(predicted=True),
        actuator="scheduled",
        predictor="none" if model is None else "learned",
        model=None if model is None else model.card,
        training=TRAINING,
    )
    gains = np.array([GAINS], np.float32)
    weights = {"actor.0.weight": np.concatenate((-gains, gains)), "actor.0.bias": np.zeros(2, np.float32)}
    return PolicyFile(card, weights, model)


def mlp_file(
    task: TaskDescription, features: FeatureSpec, hidden: tuple[int, ...], seed: int = 0, **card
) -> PolicyFile:
    rng = np.random.default_rng(seed)
    size = max(part.stop for part in features.layout(task).values())
    box = task.action.kind == "box"
    outputs = int(np.prod(task.action.shape)) if box else task.action.n
    widths, weights = (size, *hidden, outputs), {}
    for layer, (inputs, units) in enumerate(itertools.pairwise(widths)):
        weights |= linear(rng, f"actor.{layer}", inputs, units)
    if box:
        weights["log_sd"] = rng.normal(size=outputs).astype(np.float32)
    return PolicyFile(PolicyCard(name="random", kind="mlp", task=task, features=features, **card), weights)


def lstm_file(seed: int = 0, seen: int = 6, encoded: int = 10, units: int = 8, **card) -> PolicyFile:
    rng = np.random.default_rng(seed)
    rest = 13 - 12
    weights = linear(rng, "grid", GRID.one_hot_size, seen) | linear(rng, "encoder", seen + rest, encoded)
    for part, inputs in (("ih", encoded), ("hh", units)):
        weights[f"lstm.weight_{part}_l0"] = rng.normal(size=(4 * units, inputs)).astype(np.float32)
        weights[f"lstm.bias_{part}_l0"] = rng.normal(size=4 * units).astype(np.float32)
    weights |= linear(rng, "actor", units, 7)
    made = PolicyCard(name="grid", kind="lstm", task=GRID_WORLD, features=FeatureSpec(), grid=GRID, **card)
    return PolicyFile(made, weights)


def linear(rng, name: str, inputs: int, outputs: int) -> dict[str, np.ndarray]:
    return {
        f"{name}.weight": (rng.normal(size=(outputs, inputs)) / inputs**0.5).astype(np.float32),
        f"{name}.bias": rng.normal(size=outputs).astype(np.float32),
    }


def grid_observation(rng) -> np.ndarray:
    """One number, then four cells of three integers."""
    return np.concatenate((rng.integers(9, size=1), rng.integers((5, 3, 2), size=(4, 3)).ravel())).astype(np.uint8)


def cartpole_transitions(n: int, seed: int, *, play: str = "random", neutral: float = 0.1) -> Transitions:
    """Log CartPole under random or linear play, a share of the ticks neutral."""
    rng, task, policy = np.random.default_rng(seed), CartPole(), LinearCartPole()
    rows: list[tuple] = []
    episode = -1
    while len(rows) < n:
        episode += 1
        state, done = task.reset(seed * 1000 + episode), False
        while not done and len(rows) < n:
            action: int | None = (
                int(rng.integers(2)) if play == "random" else policy.decide(Question.of_state(state))
            )
            if rng.random() < neutral:
                action = None
            step = task.step(action)
            rows.append((state, action or 0, action is None, step.observation, episode))
            state, done = step.observation, step.terminated or step.truncated
    states, actions, neutrals, after, episodes = zip(*rows, strict=True) if rows else ([],) * 5
    return Transitions(
        card=TransitionsCard(
            task=CARTPOLE.name, observation=CARTPOLE.observation, action=CARTPOLE.action, source=play
        ),
        states=np.array(states, float).reshape(-1, 4),
        actions=np.array(actions, np.int64),
        neutral=np.array(neutrals, bool),
        next_states=np.array(after, float).reshape(-1, 4),
        episodes=np.array(episodes, np.int64),
    )


def linear_system(n: int, seed: int, noise: float = 0.0, task: TaskDescription = REACHER) -> Transitions:
    """Log s' = A s + B a + noise, in episodes of 40 ticks, a tenth of the ticks neutral (a = 0)."""
    rng = np.random.default_rng(seed)
    states, after = np.empty((n, 3)), np.empty((n, 3))
    actions, neutral = rng.uniform(-1, 1, (n, 2)), rng.random(n) < 0.1
    actions[neutral] = 0.0
    for row in range(n):
        states[row] = rng.normal(size=3) if row % 40 == 0 else after[row - 1]
        after[row] = SYSTEM_A @ states[row] + SYSTEM_B @ actions[row] + noise * rng.normal(size=3)
    return Transitions(
        card=TransitionsCard(task=task.name, observation=task.observation, action=task.action),
        states=states,
        actions=actions,
        neutral=neutral,
        next_states=after,
        episodes=np.arange(n) // 40,
    )


SYSTEM_A = np.array([[1.0, 0.1, 0.0], [0.0, 0.95, 0.05], [0.02, 0.0, 0.9]])
SYSTEM_B = np.array([[0.0, 0.1], [0.2, 0.0], [0.1, -0.1]])


def with_card(file: PolicyFile, **changes) -> PolicyFile:
    return msgspec.structs.replace(file, card=msgspec.structs.replace(file.card, **changes))
