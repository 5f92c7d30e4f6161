"""Losses: independent loss and netem's two chains over many links at once.

The twin of ``loss_chain_model``; each link's chain is in the state its own packets brought it to.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from netlab.traces.draw_block import Mask
from netlab.traces.link_columns import LinkColumns
from netlab.traces.loss_chain_model import GOOD, GOOD_IN_BURST, LOST_ALONE, LOST_IN_BURST

__all__ = ["Losses"]

Bools = NDArray[np.bool_]
Draw = Callable[[Mask], NDArray[np.uint32]]


class Losses:
    """What loses the packets of each link.

    Args:
        columns: The states of the links.
        draw: The generators' plain draw.
        independent_draw: The draw for independent loss, correlated where that was asked for.
    """

    def __init__(self, columns: LinkColumns, draw: Draw, independent_draw: Draw) -> None:
        self._columns = columns
        self._draw = draw
        self._independent_draw = independent_draw
        links = len(columns.ecn)
        self._is_bad = np.zeros(links, dtype=bool)
        self._state = np.full(links, GOOD, dtype=np.int8)

    def begin_anew(self, link: int) -> None:
        """Put one link's chain at its beginning."""
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
