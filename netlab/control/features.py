"""Features: one flat float32 row from each question of a session, the same in training and in a service.

::

    Remote.question --of--> row [size] --> policy --> action --decided--> remembered
                      |                                                        |
                      `-------------- FeatureColumns with one row <------------'

Remembers what was seen and decided between questions; knows neither policies nor networks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.control.feature_columns import FeatureColumns, FrameColumns
from netlab.control.feature_spec import FeatureSpec
from netlab.control.question import Question
from netlab.control.values import Value
from netlab.errors import LocalProtocolError
from netlab.messages import TaskDescription

__all__ = ["Features"]


class Features:
    """Features of one session's questions, in the order in which they are asked.

    Each answer is to be told: ``decided`` follows ``of``, as ``Remote.decide`` follows ``Remote.question``; what
    a question has pending is only part of it (with D = 1 and an observation lost, none of it). The frame of a new
    episode makes it forget the one before. ``Question.of_state`` has no frame: each is new, at tick 0.

    Args:
        spec: What a row holds.
        task: Whose observations and actions.

    Raises:
        SpecError: A space contradicts itself, or a row would be too long.
    """

    def __init__(self, spec: FeatureSpec, task: TaskDescription) -> None:
        self._columns = FeatureColumns(spec, task, 1)
        self.spec = spec
        self.layout = self._columns.layout
        self.size = self._columns.size
        self._row = np.zeros(1, np.intp)
        integers = [np.zeros(1, np.int64) for _ in range(4)]
        self._target, self._tick, self._newest_age, self._history = integers
        self._loss, self._played = np.zeros(1), np.zeros(1, np.uint64)
        self.reset()

    def reset(self) -> None:
        """Forget the episode."""
        self._columns.reset(self._row)
        self._last: Question | None = None
        self._is_told = False

    def of(self, question: Question) -> NDArray[np.float32]:
        """Return the features of a question, ``[size]``; asked again, the same.

        Raises:
            LocalProtocolError: A decision that the spec shows was not told, or a question of the past.
        """
        last, frame = self._last, question.observation
        if last is not None and (frame.episode, frame.run) != (last.observation.episode, last.observation.run):
            self.reset()
            last = None
        if last is not None:
            self._check_order(last, question)
        if last is None or frame.tick > last.observation.tick or not (frame.payload or question.seen is last.seen):
            self._observe(question)
        self._is_told = self._is_told and last is not None and question.target_tick == last.target_tick
        self._last = question
        self._target[0] = question.target_tick
        row: NDArray[np.float32] = self._columns.rows(self._target, question.state[None])[0]
        return row

    def decided(self, action: Value) -> None:
        """Take note of what was decided on the question that ``of`` had last.

        Raises:
            LocalProtocolError: It had none since the reset.
        """
        if self._last is None:
            raise LocalProtocolError("a decision on no question: Features.decided follows Features.of")
        self._is_told = True
        self._columns.decide(self._row, np.asarray(action)[None])

    def _observe(self, question: Question) -> None:
        frame = question.observation
        self._tick[0] = frame.tick
        self._newest_age[0] = frame.newest_age_ticks
        self._history[0] = frame.history_ticks
        self._loss[0] = frame.loss_seen
        self._played[0] = frame.played
        seen = question.seen[None]
        frames = FrameColumns(self._tick, seen, self._newest_age, self._loss, self._played, self._history)
        self._columns.observe(self._row, frames)

    def _check_order(self, last: Question, question: Question) -> None:
        """Refuse to go back, and to go on where the remote knows a decision that was not told here.

        On a newer observation ``planned`` asks again about targets that it had decided provisionally.
        """
        tick, target = question.observation.tick, question.target_tick
        may_return = tick > last.observation.tick and not self.spec.actions
        if tick < last.observation.tick or (target < last.target_tick and not may_return):
            raise LocalProtocolError(
                f"question for tick {target} on observation {tick} after one for tick {last.target_tick} on "
                f"observation {last.observation.tick}: within an episode both only rise"
            )
        back = target - last.target_tick
        is_pending = 1 <= back <= len(question.pending) and question.pending[-back] is not None
        if is_pending and self.spec.actions and not self._is_told:
            raise LocalProtocolError(
                f"the decision for tick {last.target_tick} was not told: Features.decided follows Features.of"
            )
