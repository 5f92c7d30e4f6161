"""FeatureColumns: the features of many questions at once, float32; all arithmetic of features is here.

::

    reset -> observe(newest frames) -> rows(target ticks, predicted states) -> decide(actions) -> ...
                   |                       |            |                          |
               RowRing of stacks     [N, size]      last slot of age       RowRing of decisions

Every operation works on each row by itself: a row's numbers do not depend on how many others there are, so a
session (one row) and N environments get the same bits. ``docs/features.md`` has the layout.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netlab.control.age_window import AgeWindow
from netlab.control.feature_spec import FeatureSpec, space_width
from netlab.control.row_ring import RowRing
from netlab.errors import LocalProtocolError
from netlab.messages import Space, TaskDescription

__all__ = [
    "AGE_CLIP_TICKS",
    "AGE_UNIT_TICKS",
    "NETWORK_WINDOW",
    "NONE_YET",
    "FeatureColumns",
    "FrameColumns",
    "as_rows",
]

AGE_UNIT_TICKS = 16
"""Ages are divided by this: the horizon of a bad link is about 1. A power of two: nothing is rounded."""

AGE_CLIP_TICKS = 64
"""Ages above count as this: what is older is as good as lost, and a policy never saw it in training."""

NONE_YET = -1.0
"""Stands where the edge has measured no age yet in this episode; no age is negative."""

NETWORK_WINDOW = 64
"""Observations over which mean and deviation of the ages are taken; the edge takes its loss over as many."""

_LONG_AGO = -(1 << 40)
_AGES = np.append(np.arange(AGE_CLIP_TICKS + 1) / AGE_UNIT_TICKS, NONE_YET).astype(np.float32)
"""Each age's feature; that of -1 is the last."""

_LARGEST = float(np.finfo(np.float32).max)


class FrameColumns(NamedTuple):
    """The newest observation frame of each of N rows, as columns; the fields are those of ``Observation``.

    Attributes:
        tick: ``[N]`` int64.
        seen: The decoded payloads, ``[N, *shape]``.
        newest_age_ticks: ``[N]`` int64.
        loss_seen: ``[N]`` float64.
        played: ``[N]`` uint64.
        history_ticks: ``[N]`` int64.
    """

    tick: NDArray[np.int64]
    seen: NDArray[Any]
    newest_age_ticks: NDArray[np.int64]
    loss_seen: NDArray[np.float64]
    played: NDArray[np.uint64]
    history_ticks: NDArray[np.int64]


class FeatureColumns:
    """Features of N questions at once.

    Columns are N long, ``rows`` says which entries count: indices ``[m]``, each at most once.

    Args:
        spec: What a row holds.
        task: Whose observations and actions.
        n: N, at least 1.

    Attributes:
        layout: Where each part of a row stands.
        size: Numbers of a row.

    Raises:
        SpecError: A space contradicts itself, or a row would be too long.
    """

    def __init__(self, spec: FeatureSpec, task: TaskDescription, n: int) -> None:
        self.spec = spec
        self.layout = spec.layout(task)
        self.size = max(part.stop for part in self.layout.values())
        self.n = n
        self._observation, self._action = task.observation, task.action
        width, count = space_width(task.observation), spec.actions
        kept = spec.stack - spec.predicted
        self._predicted_width = width * spec.predicted
        self._seen = RowRing(n, kept, width, kept) if kept else None
        # One more than is read: what was decided at a target is kept while that question may be asked again.
        self._decisions = RowRing(n, count + 1, space_width(task.action), count) if count else None
        # Which of n decisions are for ticks that the newest observation, 0 .. n ticks old, has not seen.
        self._is_pending = np.tri(count + 1, count, -1, np.float32).repeat(space_width(task.action), axis=1)
        self._ages = AgeWindow(n, NETWORK_WINDOW, AGE_CLIP_TICKS) if spec.network else None
        # Which of n bits are known where 0 .. n are: the lower triangle, with a row of zeros above.
        self._known = np.tri(spec.acknowledgement + 1, spec.acknowledgement, -1, np.int8)
        self._received = np.zeros(n, np.int64)
        self._has_blank = True
        self._tick = np.zeros(n, np.int64)
        self._targets = np.zeros(n, np.int64)
        self._decided_until = np.full(n, _LONG_AGO)
        # What follows from the newest frame alone; but the first of an age depends on the target.
        self._measured_from = self.size - (2 * spec.age + spec.acknowledgement + 3 * spec.network)
        self._measured = np.zeros((n, self.size - self._measured_from), np.float32)

    def reset(self, rows: NDArray[np.intp]) -> None:
        """Forget all of some rows: an episode begins there."""
        self._received[rows] = 0
        self._has_blank = True
        self._tick[rows] = 0
        self._decided_until[rows] = _LONG_AGO
        if self._ages is not None:
            self._ages.reset(rows)

    def observe(self, rows: NDArray[np.intp], frames: FrameColumns) -> None:
        """Take in the newest frame of some rows."""
        self._tick[rows] = frames.tick[rows]
        received = self._received[rows] + 1
        self._received[rows] = received
        if self._seen is not None:
            items = as_rows(self._observation, frames.seen.take(rows, axis=0))
            if self._has_blank:
                first = (received == 1).nonzero()[0]
                if first.size:
                    self._seen.fill(rows.take(first), items.take(first, axis=0))
            self._seen.put(rows, received, items)
        if self._has_blank:
            self._has_blank = int(np.count_nonzero(self._received)) < self.n
        if self._measured.shape[1]:
            self._measured[rows] = self._measure(rows, frames)

    def rows(self, target_ticks: NDArray[np.int64], states: NDArray[Any] | None = None) -> NDArray[np.float32]:
        """Return the features of each row's question, ``[N, size]``, a new array.

        A row that has not observed anything since its reset is all zeros.

        Args:
            target_ticks: The tick that each decision is for, ``[N]``; within an episode they only rise.
            states: The states predicted for them, ``[N, *shape]``; needed where the spec says ``predicted``.

        Raises:
            LocalProtocolError: They are missing.
        """
        self._targets[:] = target_ticks
        out = np.empty((self.n, self.size), np.float32)
        first = self._predicted_width
        if first:
            if states is None:
                raise LocalProtocolError("features of predicted states without any")
            out[:, :first] = as_rows(self._observation, states)
        if self._seen is not None:
            out[:, first : self.layout["stack"].stop] = self._seen.newest(self._received)
        if self._decisions is not None:
            before = self._targets - 1
            self._skip_to(before, self._decisions)
            decided = self._decisions.newest(before)
            if self.spec.pending:
                decided *= self._is_pending.take(np.minimum(self._targets - self._tick, self.spec.actions), axis=0)
            out[:, self.layout["actions"]] = decided
        if self._measured_from < self.size:
            out[:, self._measured_from :] = self._measured
        if self.spec.age:
            out[:, self._measured_from] = _scaled(self._targets - self._tick)
        if self._has_blank:
            out[(self._received == 0).nonzero()[0]] = 0.0
        return out

    def decide(self, rows: NDArray[np.intp], actions: NDArray[Any]) -> None:
        """Take note of the answers to questions that ``rows`` was last asked about.

        Args:
            rows: Those that were answered.
            actions: ``[N]`` ints of a discrete space, ``[N, *shape]`` of a box.
        """
        if self._decisions is None:
            return
        ticks = self._targets[rows]
        self._decisions.put(rows, ticks, as_rows(self._action, actions.take(rows, axis=0)))
        self._decided_until[rows] = ticks

    def _skip_to(self, ticks: NDArray[np.int64], decisions: RowRing) -> None:
        """Put nothing at the ticks after each row's last decision and up to these ``[N]``: none was made there."""
        missing = ticks - self._decided_until
        behind = np.flatnonzero(missing > 0)
        if not behind.size:
            return
        missing = np.minimum(missing[behind], self.spec.actions + 1)
        ends = np.cumsum(missing)
        back = np.arange(ends[-1]) - np.repeat(ends - missing, missing)
        rows = np.repeat(behind, missing)
        nothing = np.zeros((rows.size, space_width(self._action)), np.float32)
        decisions.put(rows, ticks[rows] - back, nothing)
        self._decided_until[behind] = ticks[behind]

    def _measure(self, rows: NDArray[np.intp], frames: FrameColumns) -> NDArray[np.float32]:
        """Return what rows ``[m]`` show of their newest frame, ``[m, measured]``."""
        spec = self.spec
        out = np.zeros((rows.size, self._measured.shape[1]), np.float32)
        ages = np.minimum(frames.newest_age_ticks[rows], AGE_CLIP_TICKS)
        if spec.age:
            out[:, 1] = _AGES[ages]
        if spec.acknowledgement:
            bits, start = spec.acknowledgement, 2 * spec.age
            octets = frames.played[rows].astype("<u8").view(np.uint8).reshape(rows.size, 8)
            played = np.unpackbits(octets, axis=1, count=bits, bitorder="little").view(np.int8)
            known = self._known.take(np.minimum(frames.history_ticks[rows], bits), axis=0)
            out[:, start : start + bits] = (2 * played - 1) * known
        if self._ages is not None:
            self._ages.add(rows, ages)
            mean, sd = self._ages.mean_and_sd(rows)
            out[:, -3] = frames.loss_seen[rows]
            out[:, -2] = np.where(mean < 0, NONE_YET, mean / AGE_UNIT_TICKS)
            out[:, -1] = sd / AGE_UNIT_TICKS
        return out


def as_rows(space: Space, values: ArrayLike) -> NDArray[np.float32]:
    """Return values of a space as rows of float32, ``[m, width]``: a discrete one one-hot, a box flat.

    Args:
        space: What they look like.
        values: ``[m]`` of a discrete space, ``[m, *shape]`` of a box; beyond float32 they are clipped.
    """
    array = np.asarray(values)
    if space.kind == "discrete":
        out = np.zeros((array.shape[0], space.n), np.float32)
        out[np.arange(array.shape[0]), array.reshape(-1)] = 1.0
        return out
    if array.dtype == np.float64:
        array = np.clip(array, -_LARGEST, _LARGEST)
    return array.reshape(array.shape[0], space_width(space)).astype(np.float32, copy=False)


def _scaled(ages_ticks: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return ages of -1 (none yet) or more as features, ``[m]``."""
    return _AGES[np.minimum(ages_ticks, AGE_CLIP_TICKS)]
