"""Loss, packet by packet: independent draws and netem's two chains.

For one link it is an object with ``lost() -> bool`` that takes draws from the qdisc's generator, chosen once for a
state; ``Losses`` is the same over many links. Knows no queue and no delay.

::

    QdiscState --make_loss--> NoLoss | IndependentLoss | GilbertElliottChain | FourStateChain

What becomes of a draw that equals a bound is the kernel's choice, and is kept.

Source of the 4-state chain: Salsano et al., "Definition of a general and intuitive loss model for packet
networks and its implementation in the Netem module", 2012.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from netlab.traces.model.draw_block import Mask
from netlab.traces.model.link_columns import LinkColumns
from netlab.traces.qdisc_state import U32_MAX, FourStateState, GilbertElliottState

__all__ = ["FourStateChain", "GilbertElliottChain", "IndependentLoss", "Loss", "Losses", "NoLoss", "make_loss"]

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


Bools = NDArray[np.bool_]
Draws = Callable[[Mask], NDArray[np.uint32]]


class Losses:
    """What loses the packets of each link.

    Args:
        columns: The states of the links.
        draw: The generators' plain draw.
        independent_draw: The draw for independent loss, correlated where that was asked for.
    """

    def __init__(self, columns: LinkColumns, draw: Draws, independent_draw: Draws) -> None:
        self._columns = columns
        self._draw = draw
        self._independent_draw = independent_draw
        links = len(columns.ecn)
        self._is_bad = np.zeros(links, dtype=bool)
        self._state = np.full(links, GOOD, dtype=np.int8)

    def begin_anew(self, link: int | slice) -> None:
        """Put the chain of one link, or of several, at its beginning."""
        self._is_bad[link] = False
        self._state[link] = GOOD

    def settle(self) -> None:
        """Note which kinds of loss there are; to be called when the columns have changed."""
        columns = self._columns
        self._all_lose, self._any_loses = bool(columns.loses.all()), bool(columns.loses.any())
        self._any_gilbert_elliott = bool(columns.is_gilbert_elliott.any())
        self._any_four_state = bool(columns.is_four_state.any())

    def lost(self, who: Mask) -> Bools | None:
        """Return which of these links lose the packet they are given, ``[links]``; None where none can.

        What it says of links that are not among them is False.
        """
        lost: Bools | None = None
        if self._any_loses:
            lost = self._lost_independently(who)
        if self._any_gilbert_elliott:
            by_chain = self._lost_by_gilbert_elliott(_and(who, self._columns.is_gilbert_elliott))
            lost = by_chain if lost is None else lost | by_chain
        if self._any_four_state:
            by_chain = self._lost_by_four_state(_and(who, self._columns.is_four_state))
            lost = by_chain if lost is None else lost | by_chain
        return lost

    def _lost_independently(self, who: Mask) -> Bools:
        columns = self._columns
        if not self._all_lose:
            who = _and(who, columns.loses)
        lost: Bools = columns.words["loss"] >= self._independent_draw(who)
        return lost if who is None else lost & who

    def _lost_by_gilbert_elliott(self, who: Bools) -> Bools:
        words, was_bad = self._columns.words, self._is_bad
        move, fate = self._draw(who), self._draw(who)
        is_bad = np.where(was_bad, move >= words["r"], move < words["p"])
        lost: Bools = np.where(was_bad, fate > words["h"], fate < words["k1"])
        self._is_bad = np.where(who, is_bad, was_bad)
        return lost & who

    def _lost_by_four_state(self, who: Bools) -> Bools:
        words, state = self._columns.words, self._state
        draw = self._draw(who)
        in_burst_to = words["p13"] + words["p14"]  # 32 bits, as in the kernel
        burst_ends_to = words["p31"] + words["p32"]
        good, lost_in_burst = state == GOOD, state == LOST_IN_BURST
        alone = good & (draw < words["p14"])
        begins = good & (words["p14"] < draw) & (draw < in_burst_to)
        returns = (state == GOOD_IN_BURST) & (draw < words["p23"])
        lulls = lost_in_burst & (draw < words["p32"])
        ends = lost_in_burst & ~lulls & (words["p32"] < draw) & (draw < burst_ends_to)
        stays = lost_in_burst & ~lulls & ~ends & (burst_ends_to < draw)
        after = np.select(
            [alone, begins | returns, lulls, ends | (state == LOST_ALONE)],
            [LOST_ALONE, LOST_IN_BURST, GOOD_IN_BURST, GOOD],
            state,
        )
        self._state = np.where(who, after, state).astype(np.int8)
        lost: Bools = (alone | begins | returns | stays) & who
        return lost


def _and(who: Mask, also: Bools) -> Bools:
    return also if who is None else who & also
