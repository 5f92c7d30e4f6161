"""MediumQueue: a rate and a queue that several links of a relay share, before each one's own model.

::

    Lane a --enter--.                        .--> Lane a .admit: its own delay and loss
    Lane b --enter--+--> one LinkModel ------+--> Lane b .admit
                         `- no room: dropped
"""

from __future__ import annotations

import os

from netlab.namespaces.relay.departures import Departures, Receiver
from netlab.traces.model.link_model import LinkModel
from netlab.traces.qdisc_state import QdiscState

__all__ = ["MediumQueue", "make_model"]


def make_model(state: QdiscState) -> LinkModel:
    """Return a model in a state; what no seed decides differs from run to run, as in the kernel.

    Raises:
        ProfileError: The model cannot do this.
    """
    unseeded = int.from_bytes(os.urandom(8), "little")
    return LinkModel(state, unseeded_seed=unseeded, unseeded_last=unseeded & 0xFFFFFFFF)


class MediumQueue:
    """What links of one medium have in common.

    Args:
        state: Its first state.
        departures: Holds the frames in it.
    """

    def __init__(self, state: QdiscState, departures: Departures) -> None:
        self._model = make_model(state)
        self._departures = departures

    @property
    def state(self) -> QdiscState:
        """The state of its model."""
        return self._model.state

    def put(self, state: QdiscState) -> None:
        """Change it; frames in it stay in it.

        Raises:
            ProfileError: The model cannot do this.
        """
        self._model.apply(state)

    def enter(self, frame: bytes, now_ns: int, way_out: Receiver) -> int:
        """Let a frame wait for its turn.

        Args:
            frame: The frame.
            now_ns: Now.
            way_out: Who gets it when its turn has come.

        Returns:
            Copies that are waiting: 0 for a frame that found no room.
        """
        copies = self._model.enqueue(now_ns, len(frame)).copies
        for copy in copies:
            self._departures.push(copy.leave_ns, way_out, frame, now_ns, "")
        return len(copies)
