"""CartPole under pushes and bursts of loss: the shipped policy with a learned model against an oracle.

::

    the same seeds --> policy, learned model [training seeds, n] --.
                 '---> oracle, exact physics             [n] ------+--> ratio of means, paired by seed

Both see what comes over the network and nothing else: the oracle has the laws of CartPole in place of a model that
was learned, and cannot foresee a push or a loss. Network: the delays of ``wifi-degraded@rtt``, in each direction
15 % lost in bursts of 5 packets on average. Pushes: 3 N (standard deviation) each tick; the cart's own force is
10 N.

**How the oracle was chosen.** On seeds 0 .. 299, of all that was tried the highest mean return: linear
feedback or a network trained by PPO, by ``scheduled`` with D = 7, 8 and by ``planned`` with D = 7, 8. The policy
is played as the oracle is. The figure has seeds that nothing was chosen on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from netlab.agents.shipped_policies import shipped_policies
from netlab.bench.figure import Figure
from netlab.scoring.score import Score
from netlab.scoring.scorer import Overrides, score

__all__ = ["cartpole_rough", "ratio_of_means"]

POLICY = "cartpole-predictor"
ORACLE = "linear-predict"
NETWORK = "delay=40ms,jitter=28.28ms,ordered=false,loss.mean=15%,loss.burst=5"
PUSH_N = 3.0
PLAYED = Overrides(actuator="planned", horizon=7)
AS_SHIPPED = Overrides()
EPISODES = 200
FIRST_SEED = 1_000_000
TARGET_RATIO = 0.95
_Z_95 = 1.96

Say = Callable[[str], None]


def cartpole_rough(say: Say) -> Figure:
    """Play policy and oracle on the same episodes."""
    names = [name for name in shipped_policies() if name.rpartition("-")[0] == POLICY]
    say(f"{ORACLE}: the oracle")
    oracle = _score(ORACLE, PLAYED)
    ours = []
    for name in names:
        say(name)
        ours.append(_score(name, PLAYED))
    shipped = _score(names[0], AS_SHIPPED)
    returns = np.array([one.returns for one in ours])
    ratio, se = ratio_of_means(returns.mean(axis=0), oracle.returns)
    means = [one.mean for one in ours]
    return Figure(
        name="cartpole-rough",
        value=ratio,
        unit="of the oracle's mean return",
        target=f"at least {TARGET_RATIO:g}",
        holds=ratio >= TARGET_RATIO,
        n=EPISODES,
        spread=f"95 % interval {ratio - _Z_95 * se:.3f}..{ratio + _Z_95 * se:.3f}; {len(means)} training seeds "
        f"{min(means):.4g}..{max(means):.4g}",
        note=f"return {np.mean(means):.4g}, oracle {oracle.mean:.4g} +- {oracle.standard_error or 0.0:.2g} of 500 "
        f"({ORACLE}, both {PLAYED.actuator} D={PLAYED.horizon}); {names[0]} as its file says "
        f"({shipped.control.actuator} D={shipped.control.horizon}): {shipped.mean:.4g}; "
        f"seeds from {FIRST_SEED}, each policy meets the same links and pushes",
    )


def ratio_of_means(
    ours: Sequence[float] | np.ndarray, theirs: Sequence[float] | np.ndarray
) -> tuple[float, float]:
    """Return mean / mean of values that belong together in pairs, and its standard error (delta method).

    Args:
        ours: ``[n]``, n at least 2.
        theirs: ``[n]``, with a mean above 0.
    """
    mine, other = np.asarray(ours, float), np.asarray(theirs, float)
    ratio = float(mine.mean() / other.mean())
    residuals = mine - ratio * other
    return ratio, float(residuals.std(ddof=1) / (other.mean() * np.sqrt(len(other))))


def _score(name: str, overrides: Overrides) -> Score:
    return score(
        name, NETWORK, episodes=EPISODES, seed=FIRST_SEED, overrides=overrides, options={"push_n": PUSH_N}
    )
