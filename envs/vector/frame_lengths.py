"""FrameLengths: the lengths of N rows' frames, as ``netlab.wire.frame_length`` has them, without the frames.

::

    envelope | tag | run ... | numbers that vary, 1 to 9 bytes each | header, bytes | ...
    `------- a message with zeros, encoded once -------'  + what each number has beyond 1 byte

Source: the MessagePack specification (sizes of integers).
"""

from __future__ import annotations

import numpy as np

from netlab.envs.vector.flights import Bools, Numbers
from netlab.messages import Action, Observation, TaskDescription
from netlab.wire.frame_length import frame_bytes

__all__ = ["FrameLengths"]

_FROM = np.array([1 << 7, 1 << 8, 1 << 16, 1 << 32], dtype=np.uint64)
"""From here on an integer takes more bytes."""
_MORE = np.array([0, 1, 2, 4, 8])
"""Than one, for an integer below the first, the second ... and above them all."""


class FrameLengths:
    """What frames of a task weigh on a link.

    Args:
        task: Whose observations and actions.
        run: Identity of the run.
        episode: Its number on the wire.
        most_actions: The most that an action frame holds.
    """

    def __init__(self, task: TaskDescription, run: int, episode: int, most_actions: int) -> None:
        payload, action = b"\0" * task.observation.nbytes, task.action.nbytes
        self._observation, self._and_action = (
            frame_bytes(Observation(run, episode, 0, payload, last, 0, 0, -1, 0.0))
            for last in (b"", b"\0" * action)
        )
        # A table: the header of the bytes grows with them.
        self._of_actions = np.array(
            [frame_bytes(Action(run, episode, 0, 0, 1, b"\0" * (action * n))) for n in range(most_actions + 1)]
        )

    def of_observations(
        self, ticks: Numbers, turns: Numbers, played: np.ndarray, ages: Numbers, is_neutral: Bools
    ) -> Numbers:
        """Return the lengths of observation frames, ``[n]``.

        Args:
            ticks: Each row's tick, ``[n]``.
            turns: Remote actions played, ``[n]``.
            played: Which of the last ticks played one, as bits, ``[n]``.
            ages: Age of the newest answer, -1 before the first, ``[n]``.
            is_neutral: Where the last tick played the neutral action, or there was none, ``[n]``.
        """
        lengths = np.where(is_neutral, self._observation, self._and_action)
        lengths += _more(ticks) + _more(turns) + _more(played) + _more(np.maximum(ages, 0))
        return lengths  # history_ticks is at most 64, and the loss a float: of one length always

    def of_actions(self, ticks: Numbers, firsts: Numbers, untils: Numbers, turns: Numbers) -> Numbers:
        """Return the lengths of action frames, ``[n]``.

        Args:
            ticks: Of the observations that are answered, ``[n]``.
            firsts: The first targets, ``[n]``.
            untils: The last ones, ``[n]``.
            turns: Of the observations, ``[n]``.
        """
        counts = untils - firsts
        counts += 1
        lengths: Numbers = self._of_actions.take(counts, mode="clip")  # rows that send nothing may hold anything
        lengths += _more(ticks) + _more(np.maximum(firsts, 0)) + _more(counts) + _more(turns)
        return lengths


def _more(numbers: np.ndarray) -> Numbers:
    """Return how many bytes integers of 0 or more take beyond one, ``[n]``."""
    more: Numbers = _MORE[np.searchsorted(_FROM, numbers.astype(np.uint64, copy=False), side="right")]
    return more
