"""Loss, packet by packet: independent draws and netem's two chains.

Each is an object with ``lost() -> bool`` that takes draws from the qdisc's generator. Chosen once for a state;
knows no queue and no delay.

::

    QdiscState --make_loss--> NoLoss | IndependentLoss | GilbertElliottChain | FourStateChain

What becomes of a draw that equals a bound is the kernel's choice, and is kept.

Source of the 4-state chain: Salsano et al., "Definition of a general and intuitive loss model for packet
networks and its implementation in the Netem module", 2012.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from netlab.traces.qdisc_state import U32_MAX, FourStateState, GilbertElliottState

__all__ = ["FourStateChain", "GilbertElliottChain", "IndependentLoss", "Loss", "NoLoss", "make_loss"]

Draw = Callable[[], int]

GOOD, GOOD_IN_BURST, LOST_IN_BURST, LOST_ALONE = 1, 2, 3, 4
BAD = 2


class Loss(Protocol):
    """Decides whether the next packet is lost."""

    def lost(self) -> bool:
        """Decide, and move on."""
        ...


class NoLoss:
    """Loses nothing and takes no draw."""

    __slots__ = ()

    def lost(self) -> bool:
        """Return False."""
        return False


class IndependentLoss:
    """Loses each packet with one probability; with a correlation, by correlated draws."""

    __slots__ = ("_draw", "_loss")

    def __init__(self, loss: int, draw: Draw) -> None:
        self._loss = loss
        self._draw = draw

    def lost(self) -> bool:
        """Take one draw."""
        return self._loss >= self._draw()


class GilbertElliottChain:
    """Two states; begins in GOOD."""

    __slots__ = ("_draw", "_is_bad", "_model")

    def __init__(self, model: GilbertElliottState, draw: Draw) -> None:
        self._model = model
        self._draw = draw
        self._is_bad = False

    def lost(self) -> bool:
        """Take two draws: one moves the chain, one decides with the loss of the state it was in before."""
        model = self._model
        if self._is_bad:
            self._is_bad = not self._draw() < model.r
            return self._draw() > model.h
        self._is_bad = self._draw() < model.p
        return self._draw() < model.k1


class FourStateChain:
    """Good, good within a burst, lost within a burst, lost alone; begins in good."""

    __slots__ = ("_draw", "_model", "_state")

    def __init__(self, model: FourStateState, draw: Draw) -> None:
        self._model = model
        self._draw = draw
        self._state = GOOD

    def lost(self) -> bool:
        """Take one draw, move, and lose the packet on arrival in a lost state.

        A draw that equals a bound moves nothing and loses nothing.
        """
        draw = self._draw()
        state = self._state
        if state == GOOD:
            return self._from_good(draw)
        if state == LOST_IN_BURST:
            return self._from_lost_in_burst(draw)
        if state == GOOD_IN_BURST:
            return self._from_good_in_burst(draw)
        self._state = GOOD
        return False

    def _from_good(self, draw: int) -> bool:
        model = self._model
        if draw < model.p14:
            self._state = LOST_ALONE
            return True
        if model.p14 < draw < (model.p13 + model.p14) & U32_MAX:
            self._state = LOST_IN_BURST
            return True
        return False

    def _from_good_in_burst(self, draw: int) -> bool:
        if draw < self._model.p23:
            self._state = LOST_IN_BURST
            return True
        return False

    def _from_lost_in_burst(self, draw: int) -> bool:
        model = self._model
        ends = (model.p31 + model.p32) & U32_MAX
        if draw < model.p32:
            self._state = GOOD_IN_BURST
            return False
        if model.p32 < draw < ends:
            self._state = GOOD
            return False
        return ends < draw


def make_loss(
    loss: int, model: GilbertElliottState | FourStateState | None, draw: Draw, independent_draw: Draw
) -> Loss:
    """Return what loses packets so, at the beginning of its chain.

    Args:
        loss: Probability of independent loss; not looked at where there is a chain.
        model: A chain, or None.
        draw: The generator's plain draw.
        independent_draw: The draw for independent loss, correlated where that was asked for.
    """
    if isinstance(model, GilbertElliottState):
        return GilbertElliottChain(model, draw)
    if isinstance(model, FourStateState):
        return FourStateChain(model, draw)
    return IndependentLoss(loss, independent_draw) if loss else NoLoss()
