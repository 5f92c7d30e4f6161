"""RelayDirection: one direction of a relayed link, put in a state and proven to be in it: the relay's NetemQdisc.

::

    apply(state)       PutStates -> relay's LinkModel -> Read -> compare -> ok | error naming fields
    apply_fast(state)  PutStates -> taken

The model is as sticky as the kernel: it keeps a table unless another is sent. So what is sent is what
``NetemQdisc`` would send, and both engines draw the same.
"""

from __future__ import annotations

from netlab.errors import KernelError, ProfileError
from netlab.namespaces.held_state import HeldState, unproven
from netlab.namespaces.relay.process import RelayProcess
from netlab.namespaces.relay.refusal import Refusal
from netlab.namespaces.relay.requests import Count, LaneCounts, Place, Put, PutStates, Read, from_plain, to_plain
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
        accepted = False
        try:
            (refusal,) = self.relay.ask(PutStates((self.stage(state),)), f"change {self._where}").refusals
            accepted = refusal is None
        finally:
            self.settle(accepted)
        if refusal is not None:
            raise self.error(refusal)

    def stage(self, state: QdiscState) -> Put:
        """Return what puts it in this state, to be sent alone or with others; ``settle`` follows."""
        complete = self._held.complete(state)
        put = Put(self._place, to_plain(self._held.lacking(complete)))
        self._held.begin(complete)
        return put

    def settle(self, accepted: bool) -> None:
        """Take note of what has become of the staged change; nothing where nothing was staged."""
        self._held.settle(accepted)

    def error(self, refusal: Refusal) -> KernelError | ProfileError:
        """Return the error for what the relay said of a change."""
        return refusal.error(f"change {self._where}")

    def read(self) -> QdiscState:
        """Return the state the relay's model is in now; tables are not shown.

        Raises:
            KernelError: The link is gone.
            LabError: The relay is dead.
        """
        state = self.relay.ask(Read(self._place), f"read {self._where}").state
        if state is None:
            raise KernelError(f"read {self._where}", 0, "it has no impairment yet", "apply a state first")
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
            hint = "did someone else change it? apply the state again"
            raise KernelError(f"put {self._where} in the state asked for", 0, "; ".join(differences), hint)
        return True

    def counters(self) -> LaneCounts:
        """Return what it has done so far.

        Raises:
            KernelError: The link is gone.
            LabError: The relay is dead.
        """
        counts = self.relay.ask(Count(self._place), f"count the packets of {self._where}").counts
        return counts if counts is not None else LaneCounts()
