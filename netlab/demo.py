"""What ``netlab demo`` shows: four networks, two policies."""

from __future__ import annotations

from collections.abc import Sequence

from netlab.experiment import Cell, Experiment

__all__ = ["demo_experiment"]

DEMO_NETWORKS = ("measured", "ethernet-clean", "wifi-normal", "wifi-degraded")


def demo_experiment(episodes: int, networks: Sequence[str], labs_at_once: int, seed: int) -> Experiment:
    """Return the demo as an experiment; ``networks`` replaces the four it goes through."""
    return Experiment(
        name="demo",
        cells=tuple(
            cell
            for network in networks or DEMO_NETWORKS
            for cell in (
                Cell(network=network, policy="linear", actuator="newest", fallback="hold"),
                Cell(network=network, policy="linear-predict", actuator="scheduled", fallback="neutral"),
            )
        ),
        episodes=episodes,
        labs_at_once=labs_at_once,
        seed=seed,
    )
