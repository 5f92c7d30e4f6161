"""RelayDirection: one direction of a relayed link, put in a state and proven to be in it: the relay's NetemQdisc.

::

    apply(state)       Change -> relay's LinkModel -> Read -> compare -> ok | error naming fields
    apply_fast(state)  Change -> taken

The model is as sticky as the kernel: it keeps a table unless another is sent. So what is sent is what
``NetemQdisc`` would send, and both engines draw the same.
"""

from __future__ import annotations

from netlab.errors import KernelError
from netlab.namespaces.held_state import HeldState, unproven
from netlab.namespaces.relay.lane_counts import LaneCounts
from netlab.namespaces.relay.plain_state import from_plain, to_plain
from netlab.namespaces.relay.process import RelayProcess
from netlab.namespaces.relay.requests import Change, Count, Place, Put, Read
from netlab.traces.model.link_model import check_modelled
from netlab.traces.qdisc_state import QdiscState

__all__ = ["RelayDirection"]


class RelayDirection:
    """One direction of a link that a relay process carries.

    Args:
        relay: The process.
        place: Which direction of which link, or which medium.
        label: What messages call it.

    Attributes:
        relay: The process.
    """

    def __init__(self, relay: RelayProcess, place: Place, label: str) -> None:
        self.relay = relay
        self._place = place
        self._where = label
        self._held = HeldState()

    @property
    def asked(self) -> QdiscState | None:
        """The state last taken, a linear table included where it stands for none; None before the first."""
        return self._held.taken

    def apply(self, state: QdiscState) -> None:
        """Put it in this state and prove it; packets in flight stay in flight.

        Raises:
            ProfileError: The state has slots, which the model has not.
            KernelError: The relay refuses, or shows another state afterwards.
            LabError: The relay is dead.
        """
        self.apply_fast(state)
        if not self.verify():
            raise unproven(f"put {self._where} in the state asked for")

    def apply_fast(self, state: QdiscState) -> None:
        """Put it in this state; that the relay has taken it is all that is checked.

        Raises:
            ProfileError: The state has slots, which the model has not.
            KernelError: The relay refuses.
            LabError: The relay is dead.
        """
        check_modelled(state)
        problem = "interrupted"
        try:
            problem = self.relay.ask(Change((self.stage(state),))).problems[0]
        finally:
            self.settle(not problem)
        if problem:
            raise self.refusal(problem)

    def stage(self, state: QdiscState) -> Put:
        """Return what puts it in this state, to be sent alone or with others; ``settle`` follows."""
        complete = self._held.complete(state)
        put = Put(self._place, to_plain(self._held.lacking(complete)))
        self._held.begin(complete)
        return put

    def settle(self, accepted: bool) -> None:
        """Take note of what has become of the staged change; nothing where nothing was staged."""
        self._held.settle(accepted)

    def refusal(self, problem: str) -> KernelError:
        """Return the error for what the relay said of a change."""
        return KernelError(f"change {self._where}", 0, problem)

    def read(self) -> QdiscState:
        """Return the state the relay's model is in now; tables are not shown.

        Raises:
            KernelError: The link is gone.
            LabError: The relay is dead.
        """
        state = self.relay.ask(Read(self._place)).state
        if state is None:
            raise KernelError(f"read {self._where}", 0, "it has no impairment yet")
        return from_plain(state)

    def verify(self) -> bool:
        """Check that the relay's model is in the state last taken; another thread may change it meanwhile.

        Returns:
            False where it was being changed meanwhile, so that nothing can be said.

        Raises:
            KernelError: It is in another; names each field.
            LabError: The relay is dead.
        """
        if self._held.taken is None:
            raise KernelError(f"verify {self._where}", 0, "nothing was sent yet", "apply a state first")
        differences = self._held.differences(self.read)
        if differences is None:
            return False
        if differences:
            raise KernelError(f"put {self._where} in the state asked for", 0, "; ".join(differences))
        return True

    def counters(self) -> LaneCounts:
        """Return what it has done so far.

        Raises:
            KernelError: The link is gone.
            LabError: The relay is dead.
        """
        counts = self.relay.ask(Count(self._place)).counts
        return counts if counts is not None else LaneCounts()
