"""Privileged: what a critic may know in training and no policy ever does: the true state and the network.

::

    [ true state ... | forward: delay, spread, loss, burst | back: delay, spread, loss, burst ]

Delays are in ticks, so that one critic fits tasks of any rate. The network's numbers are those asked for and in
force at the newest tick.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from netlab.envs.virtual.network import MessageLink
from netlab.traces.loss import FourState, GilbertElliott
from netlab.traces.profile import LinkProfile

__all__ = ["WAY_FIGURES", "HasState", "Privileged", "way_figures"]

WAY_FIGURES = 4
"""Numbers that describe a direction."""


@runtime_checkable
class HasState(Protocol):
    """A task whose observations do not show all of its state.

    Attributes:
        state: All of it, ``[s]``.
    """

    state: NDArray[np.float32]


@lru_cache(maxsize=1024)
def way_figures(profile: LinkProfile, tick_s: float) -> tuple[float, float, float, float]:
    """Return a direction's mean delay and deviation in ticks, loss ratio, and how losses stay together.

    The last is the probability that a burst of losses goes on after one of its packets, 0 where each packet is
    lost by itself.
    """
    loss = profile.loss
    burst = 1.0 - 1.0 / loss.burst_packets if isinstance(loss, GilbertElliott | FourState) else 0.0
    return profile.delay_mean_s / tick_s, profile.delay_sd_s / tick_s, profile.loss_ratio_mean, burst


class Privileged:
    """Say what a critic may know during one episode.

    Args:
        link: What it is played over.
        tick_s: Length of a tick.
    """

    def __init__(self, link: MessageLink, tick_s: float) -> None:
        self._link = link
        self._tick_s = tick_s
        self._in_force: tuple[LinkProfile | None, LinkProfile | None] = (None, None)
        self._figures: NDArray[np.float32] = np.empty(0, dtype=np.float32)

    def of(self, state: NDArray[np.generic], now_ns: int) -> NDArray[np.float32]:
        """Return what may be known, ``[s + 8]``.

        Args:
            state: The true state, any shape.
            now_ns: When.
        """
        forward, back = self._link.forward.profile(now_ns), self._link.back.profile(now_ns)
        if forward is not self._in_force[0] or back is not self._in_force[1]:
            self._in_force = forward, back
            figures = way_figures(forward, self._tick_s) + way_figures(back, self._tick_s)
            self._figures = np.array(figures, dtype=np.float32)
        known = np.empty(state.size + 2 * WAY_FIGURES, dtype=np.float32)
        known[: state.size] = state.ravel()
        known[state.size :] = self._figures
        return known
