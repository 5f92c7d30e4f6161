"""ModelPlace: where a link model sits in a relay: in a lane or in a medium. Its state, its counts.

What ``PutStates``, ``Read`` and ``Count`` ask of a place, whichever it is.
"""

from __future__ import annotations

import os

from netlab.namespaces.relay.requests import LaneCounts
from netlab.traces.model.link_model import LinkModel
from netlab.traces.qdisc_state import QdiscState

__all__ = ["ModelPlace"]


class ModelPlace:
    """A model, once there is one, and what has been counted.

    Attributes:
        model: The model; None as long as everything passes.
        counts: What it has done so far.
    """

    def __init__(self) -> None:
        self.model: LinkModel | None = None
        self.counts = LaneCounts()

    @property
    def state(self) -> QdiscState | None:
        """The state of its model; None as long as it lets everything pass."""
        return self.model.state if self.model is not None else None

    def put(self, state: QdiscState) -> None:
        """Change what happens to packets from now on; those in flight stay in flight.

        Raises:
            ProfileError: The model cannot do this.
        """
        if self.model is None:
            self.model = _make_model(state)
        else:
            self.model.apply(state)


def _make_model(state: QdiscState) -> LinkModel:
    """Return a model in a state; what no seed decides differs from run to run, as in the kernel."""
    unseeded = int.from_bytes(os.urandom(8), "little")
    return LinkModel(state, unseeded_seed=unseeded, unseeded_last=unseeded & 0xFFFFFFFF)
