"""PlainBatch: many packets of each link at once, where no packet's fate hangs on another's but for its draws.

That is so where there is independent loss, delay and rate and nothing else (no chain, duplicate, corruption,
reordering, correlation, mark), and no queue can fill up. Only whose draw is whose has to be walked; delays and
moments of leaving are then computed for a block of packets in one go. The twin of ``LinkModels.enqueue``.

::

    walk    packet by packet   lost = loss >= draw; the place of the delay's draw, unless lost
    then    a block at once    places -> draws -> delays -> moments
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.traces.model.draw_block import ROWS, DrawBlock, Mask
from netlab.traces.model.fate import Copies, Fates
from netlab.traces.model.link_columns import LinkColumns
from netlab.traces.model.link_queues import LinkQueues

__all__ = ["PlainBatch"]

_BLOCK_PACKETS = ROWS // 2
"""A packet takes two draws at most."""

Bools = NDArray[np.bool_]
Numbers = NDArray[np.int64]


class PlainBatch:
    """Puts packets into plain links.

    Args:
        columns: The states of the links; to be made anew when they change.
        block: Their generators.
        queues: Their queues.
    """

    def __init__(self, columns: LinkColumns, block: DrawBlock, queues: LinkQueues) -> None:
        self.is_plain = columns.is_plain
        self._block = block
        self._queues = queues
        self._loss = columns.words["loss"]
        self._loses: Mask = None if columns.loses.all() else columns.loses
        self._any_loses = bool(columns.loses.any())
        self._jitters = columns.jitters
        self._any_jitters = bool(columns.jitters.any())

    def enqueue(self, now_ns: Numbers, length_bytes: int | Numbers) -> Fates:
        """Put in packets that all find room.

        Args:
            now_ns: ``[packets, links]`` or ``[packets, 1]``.
            length_bytes: One length, or ``[packets, links]``.
        """
        shape = len(now_ns), len(self._loss)
        delay_ns, leave_ns = np.empty((2, *shape), dtype=np.int64)
        lost = np.zeros(shape, dtype=bool)
        for first in range(0, len(now_ns), _BLOCK_PACKETS):
            here = slice(first, first + _BLOCK_PACKETS)
            delay_draws = self._walk(lost[here])
            length = length_bytes if isinstance(length_bytes, int) else length_bytes[here]
            delay_ns[here], leave_ns[here] = self._queues.queue_plain(
                now_ns[here], length, delay_draws, ~lost[here]
            )
        nothing = np.zeros(shape, dtype=bool)
        nothing.setflags(write=False)  # it stands for several columns
        original = Copies(
            queued=~lost, delay_ns=delay_ns, leave_ns=leave_ns, head=nothing, corrupted=nothing, marked=nothing
        )
        return Fates(entered=~nothing, original=original, duplicate=None, over_limit=nothing)

    def _walk(self, lost: Bools) -> NDArray[np.uint32]:
        """Decide which packets are lost, ``[packets, links]``, and return the draw for each delay."""
        block = self._block
        block.reserve((self._any_loses + self._any_jitters) * len(lost))
        places = np.empty(lost.shape, dtype=np.int64)
        for packet in range(len(lost)):
            if self._any_loses:
                np.greater_equal(self._loss, block.draw(self._loses), out=lost[packet])
                if self._loses is not None:
                    lost[packet] &= self._loses
            places[packet] = block.places
            if self._any_jitters:
                block.skip(self._jitters & ~lost[packet])
        return block.at(places)
