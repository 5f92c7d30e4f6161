"""Impairer: what one direction of a link does to packets, whoever does it: the kernel's netem or a relay.

::

    Link, Player, lab set --apply(state)--> Impairer --> NetemQdisc  (kernel)
                         <--read()--------          `-> RelayDirection (a relay's LinkModel)
"""

from __future__ import annotations

from typing import Protocol

from netlab.traces.qdisc_state import QdiscState

__all__ = ["Impairer"]


class Impairer(Protocol):
    """One direction of a link, in a state and proven to be in it."""

    @property
    def asked(self) -> QdiscState | None:
        """The state last sent; None before the first."""
        ...

    def apply(self, state: QdiscState) -> None:
        """Put it in this state and prove it; packets in flight stay in flight.

        Raises:
            KernelError: It is refused, or another state shows afterwards.
        """
        ...

    def apply_fast(self, state: QdiscState) -> None:
        """Put it in this state at the least cost; only that it was taken is checked.

        Raises:
            KernelError: It is refused.
        """
        ...

    def read(self) -> QdiscState:
        """Return the state it is in now; tables are not shown.

        Raises:
            KernelError: It is gone.
        """
        ...

    def verify(self) -> bool:
        """Check that it is in the state last sent; another thread may change it meanwhile.

        Returns:
            False where it was being changed meanwhile, so that nothing can be said.

        Raises:
            KernelError: It is in another; names each field.
        """
        ...

    def counters(self) -> object:
        """Return what it has done so far, in the words of whoever does it: QdiscEntry or LaneCounts.

        Raises:
            KernelError: It is gone.
        """
        ...
