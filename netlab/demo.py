"""What ``netlab demo`` shows: four networks, three policies that were trained for the same task."""

from __future__ import annotations

from collections.abc import Sequence

from netlab.agents.policy import find_policy
from netlab.errors import LocalProtocolError
from netlab.experiment import Cell, Experiment

__all__ = ["DEMO_NETWORKS", "DEMO_POLICIES", "demo_experiment"]

DEMO_NETWORKS = ("measured", "ethernet-clean", "wifi-normal", "wifi-degraded")
DEMO_POLICIES = ("cartpole-baseline", "cartpole-paper", "cartpole-predictor")
"""Trained without a network; by the method of the CALF paper; netlab's best."""


def demo_experiment(episodes: int, networks: Sequence[str], labs_at_once: int, seed: int) -> Experiment:
    """Return the demo as an experiment; ``networks`` replaces the four it goes through."""
    return Experiment(
        name="demo",
        cells=tuple(_cell(network, policy) for network in networks or DEMO_NETWORKS for policy in DEMO_POLICIES),
        episodes=episodes,
        labs_at_once=labs_at_once,
        seed=seed,
    )


def _cell(network: str, policy: str) -> Cell:
    """Return a shipped policy on a network, played as its card says."""
    recipe = find_policy(policy)
    if recipe.file is None:
        raise LocalProtocolError(f"{policy!r} is no shipped policy: its card would say how it is played")
    return Cell(
        network=network,
        policy=policy,
        actuator=recipe.file.card.actuator,
        fallback=recipe.file.card.fallback,
        horizon_ticks=recipe.horizon_ticks,
    )
