"""AnswerRecord: which observations have been answered, in bounded memory.

Bit i of a mask stands for the observation i ticks before the newest one sent::

    sent      ..1 1 1 0 1 1 1 1 1      0: a tick the loop skipped
    answered  ..1 0 1 0 1 1 0 0 0      the three on the right may still be under way
"""

from __future__ import annotations

from netlab.messages import HISTORY_TICKS

__all__ = ["ANSWERABLE_TICKS", "AnswerRecord"]

ANSWERABLE_TICKS = 1024
"""Answers to older observations count as duplicates: at 500 Hz this is two seconds."""
_WINDOW_MASK = (1 << ANSWERABLE_TICKS + HISTORY_TICKS) - 1
"""What is remembered: the loss up to an observation is known for as long as that may be answered."""
_LOSS_MASK = (1 << HISTORY_TICKS) - 1


class AnswerRecord:
    """Remember what was sent and what was answered within one episode."""

    def __init__(self) -> None:
        self._sent = 0
        self._answered = 0
        self._tick = -1
        self._newest = -1
        self._final_loss_ratio = 0.0

    def send(self, tick: int) -> None:
        """Record that the observation of a tick leaves; ticks only rise."""
        if tick - self._newest > ANSWERABLE_TICKS >= self._tick - self._newest:
            self._final_loss_ratio = self.loss_ratio
        shift = min(tick - self._tick, ANSWERABLE_TICKS + HISTORY_TICKS)
        self._sent = ((self._sent << shift) | 1) & _WINDOW_MASK
        self._answered = (self._answered << shift) & _WINDOW_MASK
        self._tick = tick

    def was_sent(self, obs_tick: int) -> bool:
        """Return whether an observation of this tick was sent, as far as the record reaches."""
        back = self._tick - obs_tick
        return 0 <= back < ANSWERABLE_TICKS and bool(self._sent >> back & 1)

    def is_answered(self, obs_tick: int) -> bool:
        """Return whether an answer to the observation of this tick has come."""
        return bool(self._answered >> (self._tick - obs_tick) & 1)

    def answer(self, obs_tick: int) -> None:
        """Record an answer to an observation that ``was_sent``."""
        self._answered |= 1 << (self._tick - obs_tick)
        self._newest = max(self._newest, obs_tick)

    @property
    def newest_age_ticks(self) -> int:
        """Return the latest tick sent minus the newest tick answered; -1 before the first answer."""
        return self._tick - self._newest if self._newest >= 0 else -1

    @property
    def loss_ratio(self) -> float:
        """Return the share without an answer among the 64 ticks up to the newest one answered.

        Those after it may still be under way; a few overtaken ones count as lost until they come. In a long
        silence it stays what it was: none of the 64 can be answered any more.
        """
        if self._newest < 0:
            return 0.0
        back = self._tick - self._newest
        if back > ANSWERABLE_TICKS:
            return self._final_loss_ratio
        sent = (self._sent >> back & _LOSS_MASK).bit_count()
        answered = (self._answered >> back & _LOSS_MASK).bit_count()
        return 1.0 - answered / sent
