"""change_staged: several changes sent at once, each noted before it leaves and settled whatever happens.

::

    (target, state) ... --stage--> request, request ... --send, once--> Refusals
                        <-settle-- accepted or not, each, also when anything above failed

    beforehand, where the wire can: changes --prepare_together--> PreparedChanges --carry_out--> the same

Knows neither kernel nor relay: what a request is and how it is sent is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from netlab.errors import KernelError, LabError, ProfileError
from netlab.namespaces.impairer import Change, Refusals
from netlab.traces.qdisc_state import QdiscState

__all__ = ["CarriedOut", "Preparable", "PreparedChanges", "PreparesTogether", "Stageable", "change_staged"]

RequestT = TypeVar("RequestT")
RequestT_co = TypeVar("RequestT_co", covariant=True)


class Stageable(Protocol[RequestT_co]):
    """One direction whose change is sent by somebody else, together with others."""

    def stage(self, state: QdiscState) -> RequestT_co:
        """Return what puts it in this state; sends nothing."""
        ...

    def settle(self, accepted: bool) -> None:
        """Take note of what has become of it; nothing where nothing was staged."""
        ...


@runtime_checkable
class Preparable(Protocol):
    """One direction whose change can be got ready before it is due."""

    def prepare(self, state: QdiscState) -> None:
        """Get ready for a state that is asked for next, if it is; sends and promises nothing."""
        ...


class CarriedOut(NamedTuple):
    """What has become of changes that were made together.

    Attributes:
        refusals: For each change its refusal, or None.
        answered_s: When the answer was there.
    """

    refusals: Refusals
    answered_s: float


class PreparedChanges(Protocol):
    """Changes of several directions, made ready to be made together, once."""

    def carry_out(self, now_s: Callable[[], float]) -> CarriedOut:
        """Make them, whatever has happened to their directions meanwhile.

        Args:
            now_s: Tells the time; asked once, as soon as the answer is there.
        """
        ...


@runtime_checkable
class PreparesTogether(Protocol):
    """A wire that can get changes ready before they are due."""

    def prepare_together(self, changes: Sequence[Change]) -> PreparedChanges | None:
        """Return the changes ready to be made; None where there is nothing to gain.

        Sends and promises nothing. Every direction has been told by ``prepare`` of the state it gets.

        Raises:
            LabError: As ``change_together``.
        """
        ...


def change_staged(
    targets: Sequence[Stageable[RequestT]],
    states: Sequence[QdiscState],
    send: Callable[[list[RequestT]], Sequence[KernelError | ProfileError | None]],
) -> Refusals:
    """Put targets in states, all by one send.

    Args:
        targets: Each once.
        states: One for each target.
        send: Sends all requests and returns a refusal, or None, for each.

    Returns:
        For each target its refusal, or None.

    Raises:
        LabError: One target comes twice; nothing is sent then.
    """
    if len({id(target) for target in targets}) != len(targets):
        raise LabError("one direction twice among changes made together", hint="name each direction once")
    accepted = [False] * len(targets)
    try:
        requests = [target.stage(state) for target, state in zip(targets, states, strict=True)]
        refusals = send(requests)
        accepted = [refusal is None for refusal in refusals]
    finally:
        for target, was_accepted in zip(targets, accepted, strict=True):
            target.settle(was_accepted)
    return list(refusals)
