"""Generalised advantage estimation over a rollout in which some steps decide nothing.

Pure numpy. A step whose observation asked nothing ("unasked") had its action ignored: it belongs to the decision
before it, which merely took longer (a semi-Markov decision process). Its state is worth what it leads to, so no
error of the critic enters there, and lambda counts decisions, not steps.

::

    asked      s0 -------------> s1 -------------> s2 ----> ...     d0 = r0 + g r1 + g g V(s3) - V(s0)
    unasked            s1: V := r1 + g V(s2),  A := g A(s2)

Source: Schulman et al. 2015, arXiv 1506.02438, Eq 16, with delta as Eq 12 of arXiv 1707.06347 writes it; options
as one step: Sutton, Precup and Singh 1999, section 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["estimate_advantages"]

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]


def estimate_advantages(
    rewards: Floats,
    values: Floats,
    last_values: Floats,
    *,
    asked: Bools,
    done: Bools,
    final_values: Floats,
    discounts: Floats,
    lambda_: float,
) -> Floats:
    """Return the advantage of each step's decision, ``[t, n]``; at unasked steps it means nothing.

    Args:
        rewards: r, ``[t, n]``.
        values: The critic's V of the state each step began in, ``[t, n]``; unused where unasked.
        last_values: V of the states behind the last step, ``[n]``.
        asked: Where the action counted, ``[t, n]``.
        done: Where the episode ended with the step, ``[t, n]``.
        final_values: V of the state an episode was cut off in, ``[t, n]``; 0 where it terminated, and unused
            where it went on. A time limit is not the end of what could have been earned.
        discounts: gamma of each step, ``[t, n]``: 1 where no time passed.
        lambda_: The weight of longer returns.
    """
    advantages = np.empty_like(rewards)
    next_value, next_advantage = last_values, np.zeros_like(last_values)
    for t in range(len(rewards) - 1, -1, -1):
        led_to = np.where(done[t], final_values[t], next_value)
        worth = rewards[t] + discounts[t] * led_to
        carried = np.where(done[t], np.float32(0.0), discounts[t] * next_advantage)
        # delta_t (1707.06347, Eq 12) and the recursive form of the sum over l (1506.02438, Eq 16).
        advantages[t] = np.where(asked[t], worth - values[t] + np.float32(lambda_) * carried, carried)
        next_value, next_advantage = np.where(asked[t], values[t], worth), advantages[t]
    return advantages
