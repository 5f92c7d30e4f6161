"""CartPole under pushes and bursts of loss: the shipped policy with a learned model against an oracle.

::

    the same seeds --> policy, learned model [training seeds, n] --.
                 '---> oracle, exact physics              [1, n] --+--> PairedRatio

Both see what comes over the network and nothing else: the oracle has the laws of CartPole in place of a model that
was learned, and cannot foresee a push or a loss. Network: the delays of ``wifi-degraded@rtt``, in each direction
15 % lost in bursts of 5 packets on average. Pushes: 3 N (standard deviation) each tick; the cart's own force is
10 N. Episodes are played in parts, as many at once as there are processors.

**How the oracle was chosen.** On seeds 0 .. 299, of all that was tried the highest mean return: linear
feedback or a network trained by PPO, by ``scheduled`` with D = 7, 8 and by ``planned`` with D = 7, 8. The policy
is played as the oracle is. The figure has seeds that nothing was chosen on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from netlab.agents.policy import find_policy
from netlab.agents.shipped_policies import training_seeds
from netlab.bench.figure import Figure
from netlab.bench.paired_ratio import PairedRatio
from netlab.errors import NetlabError
from netlab.scoring.score import standard_error
from netlab.scoring.scorer import Overrides
from netlab.tables.calf_cell import FIRST_SEED, CalfCell
from netlab.tables.calf_result import CalfResult
from netlab.tables.cell_runner import RunCounts, computed, default_workers

__all__ = ["cartpole_rough"]

POLICY = "cartpole-predictor"
ORACLE = "linear-predict"
NETWORK = "delay=40ms,jitter=28.28ms,ordered=false,loss.mean=15%,loss.burst=5"
PUSH_N = 3.0
PLAYED = Overrides(actuator="planned", horizon=7)
AS_SHIPPED = Overrides()
EPISODES = 1000
PART_EPISODES = 100
TARGET_RATIO = 0.95
_TOLD = 20
"""How often it is said how far it is."""

Say = Callable[[str], None]


class _Player(NamedTuple):
    """A policy and how it is played."""

    name: str
    overrides: Overrides


def cartpole_rough(say: Say) -> Figure:
    """Play policy and oracle on the same episodes."""
    names = training_seeds(POLICY)
    oracle, shipped = _Player(ORACLE, PLAYED), _Player(names[0], AS_SHIPPED)
    ours = [_Player(name, PLAYED) for name in names]
    played = _play([oracle, *ours, shipped], say)
    theirs = _returns(played[oracle])
    ratio = PairedRatio.of([_returns(played[one]) for one in ours], [theirs])
    means = [float(np.mean(_returns(played[one]))) for one in ours]
    control = played[shipped][0].control
    return Figure(
        name="cartpole-rough",
        value=ratio.value,
        unit="of the oracle's mean return",
        target=f"at least {TARGET_RATIO:g}",
        holds=ratio.value >= TARGET_RATIO,
        n=EPISODES,
        spread=f"{ratio.words(TARGET_RATIO)}; {len(means)} training seeds {min(means):.4g}..{max(means):.4g}",
        note=f"return {np.mean(means):.4g}, oracle {np.mean(theirs):.4g} +- {standard_error(theirs) or 0.0:.2g} "
        f"of 500 ({ORACLE}, both {PLAYED.actuator} D={PLAYED.horizon}); {shipped.name} as its file says "
        f"({control.actuator} D={control.horizon}): {np.mean(_returns(played[shipped])):.4g}; "
        f"seeds from {FIRST_SEED}, each policy meets the same links and pushes",
    )


def _play(players: Sequence[_Player], say: Say) -> dict[_Player, list[CalfResult]]:
    """Play every part of every player, as many at once as there are processors; return them in order.

    Raises:
        NetlabError: A part could not be played.
    """
    parts = {player: _parts(player) for player in players}
    waiting = [cell for cells in parts.values() for cell in cells]
    found: dict[str, CalfResult] = {}
    workers, began_s = default_workers(), time.monotonic()
    say(f"{len(waiting)} parts of {PART_EPISODES} episodes or fewer, {workers} at once")
    for number, (cell, done) in enumerate(computed(waiting, workers), start=1):
        if done.problem:
            raise NetlabError(f"{cell.title}: {done.problem}", done.hint)
        found[cell.key] = msgspec.json.decode(done.content, type=CalfResult)
        counts = RunCounts(len(waiting), 0, number, time.monotonic() - began_s)
        if number * _TOLD // len(waiting) > (number - 1) * _TOLD // len(waiting):
            say(f"{number} of {len(waiting)} parts, about {counts.left_s or 0.0:.0f} s left")
    return {player: [found[cell.key] for cell in cells] for player, cells in parts.items()}


def _parts(player: _Player) -> list[CalfCell]:
    recipe = find_policy(player.name)
    return [
        CalfCell(
            policy=player.name,
            policy_sha256=recipe.sha256,
            task="CartPole-v1",
            options={"push_n": PUSH_N},
            network=NETWORK,
            overrides=player.overrides,
            episodes=min(PART_EPISODES, EPISODES - first),
            first_seed=FIRST_SEED + first,
        )
        for first in range(0, EPISODES, PART_EPISODES)
    ]


def _returns(parts: Sequence[CalfResult]) -> list[float]:
    return [value for part in parts for value in part.returns]
