"""LossColumns: which share of their observations N edges have had answered lately; all that arrived, in any order.

The twin of ``netlab.control.answers`` as far as losses go. Kept only where somebody asks: it looks at every answer
of the last 64 ticks.
"""

from __future__ import annotations

import numpy as np

from netlab.control.answers import ANSWERABLE_TICKS
from netlab.envs.vector.flights import NEVER, Bools, Numbers, Places
from netlab.messages import HISTORY_TICKS

__all__ = ["LossColumns"]

_FIRST_CAPACITY = 4 * HISTORY_TICKS
_NOT_SENT = np.int64(-(2**62))


class LossColumns:
    """Answers of N rows.

    Args:
        n: Number of rows.
        period_ns: Length of a tick: an answer is no answer any more ``ANSWERABLE_TICKS`` after its observation.
    """

    def __init__(self, n: int, period_ns: float) -> None:
        self._period_ns = period_ns
        self._arrives_ns = np.full((_FIRST_CAPACITY, n), NEVER)
        self._ticks = np.full((_FIRST_CAPACITY, n), _NOT_SENT)
        self._stop = 0

    def clear(self, rows: Places) -> None:
        """Forget all of some rows."""
        self._ticks[:, rows] = _NOT_SENT

    def push(self, arrives_ns: Numbers, ticks: Numbers, who: Bools, newest: Numbers) -> None:
        """Take note of an answer of some rows.

        Args:
            arrives_ns: When it arrives, ``[n]``; ``NEVER`` where it does not.
            ticks: The ticks of the observations that are answered, ``[n]``.
            who: Which rows, ``[n]``.
            newest: The newest ticks of which an answer has arrived, ``[n]``.
        """
        if self._stop == len(self._ticks):
            self._make_room(newest)
        is_late = arrives_ns > np.rint((ticks + ANSWERABLE_TICKS) * self._period_ns)
        self._arrives_ns[self._stop] = np.where(is_late, NEVER, arrives_ns)
        self._ticks[self._stop] = np.where(who, ticks, _NOT_SENT)
        self._stop += 1

    def loss_seen(self, now_ns: Numbers, newest: Numbers) -> np.ndarray:
        """Return the share without an answer among the 64 ticks up to the newest one answered, ``[n]``.

        Args:
            now_ns: Each row's time, ``[n]``; what arrives at that very moment has arrived.
            newest: The newest ticks of which an answer has arrived, ``[n]``; -1 for none.
        """
        counts = self._arrives_ns[: self._stop] <= now_ns
        counts &= self._ticks[: self._stop] > newest - HISTORY_TICKS
        answered = np.count_nonzero(counts, axis=0)
        sent = np.minimum(newest + 1, HISTORY_TICKS)
        return np.where(newest < 0, 0.0, 1.0 - answered / np.maximum(sent, 1))

    def _make_room(self, newest: Numbers) -> None:
        """Forget the oldest answers, which count no more; take more room where too many do."""
        is_of_use = (self._ticks > newest - HISTORY_TICKS) & (self._arrives_ns != NEVER)
        first = int(is_of_use.any(axis=1).argmax()) if is_of_use.any() else self._stop
        kept = slice(first, self._stop)
        depth = self._stop - first
        capacity = len(self._ticks) if 2 * depth < len(self._ticks) else 2 * len(self._ticks)
        self._arrives_ns, self._ticks = (
            np.concatenate([column[kept], np.full((capacity - depth, column.shape[1]), filler)])
            for column, filler in ((self._arrives_ns, NEVER), (self._ticks, _NOT_SENT))
        )
        self._stop = depth
