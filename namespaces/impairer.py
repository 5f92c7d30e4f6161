"""Impairer: what one direction of a link does to packets, whoever does it: the kernel's netem or a relay.

::

    Link, Player, lab set --apply(state)--> Impairer --> NetemQdisc  (kernel)
                         <--read()--------          `-> RelayDirection (a relay's LinkModel)

    Change, Change ... --Wire.change_together--> Refusals: None | error each

No code: what the two have in common, and how a change of several is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from netlab.errors import KernelError, ProfileError
from netlab.traces.qdisc_state import QdiscState

__all__ = ["Change", "ChangeTogether", "Counts", "Impairer", "Refusals"]

Refusals = list[KernelError | ProfileError | None]
"""One entry a change: None where it took."""


class Counts(Protocol):
    """What a direction has done so far: packets by what became of them."""

    def figures(self) -> dict[str, int | float]:
        """Return each count under the name it has with whoever counts."""
        ...


class Impairer(Protocol):
    """One direction of a link, in a state and proven to be in it."""

    @property
    def asked(self) -> QdiscState | None:
        """The state last taken; None before the first."""
        ...

    def apply(self, state: QdiscState) -> None:
        """Put it in this state and prove it; packets in flight stay in flight.

        Raises:
            ProfileError: It cannot be in such a state.
            KernelError: It is refused, or another state shows afterwards.
            LabError: What does it has died.
        """
        ...

    def apply_fast(self, state: QdiscState) -> None:
        """Put it in this state at the least cost; only that it was taken is checked.

        Raises:
            ProfileError: It cannot be in such a state.
            KernelError: It is refused.
            LabError: What does it has died.
        """
        ...

    def read(self) -> QdiscState:
        """Return the state it is in now; tables are not shown.

        Raises:
            KernelError: It is gone.
            LabError: What does it has died.
        """
        ...

    def verify(self) -> bool:
        """Check that it is in the state last taken; another thread may change it meanwhile.

        Returns:
            False where it was being changed meanwhile: then nothing can be said, and nothing is proven.

        Raises:
            KernelError: It is in another; names each field.
            LabError: What does it has died.
        """
        ...

    def counters(self) -> Counts:
        """Return what it has done so far.

        Raises:
            KernelError: It is gone.
            LabError: What does it has died.
        """
        ...


class Change(NamedTuple):
    """One direction of a link and the state it is to be put in, alone or together with others."""

    impairer: Impairer
    state: QdiscState


ChangeTogether = Callable[[Sequence[Change]], Refusals]
"""How several changes are made at one moment: see ``Wire.change_together``."""
