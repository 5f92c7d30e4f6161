"""Several directions of one relay put in new states in one message, between two packets.

::

    Change, Change ... --RelayDirection.stage--> Put, Put ... --one frame--> relay
                       <-RelayDirection.settle-- None | KernelError each
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.errors import LabError
from netlab.namespaces.impairer import Change, Refusals
from netlab.namespaces.relay.direction import RelayDirection
from netlab.namespaces.relay.process import RelayProcess
from netlab.namespaces.relay.requests import Put, PutStates
from netlab.namespaces.staged_changes import change_staged

__all__ = ["change_relayed"]


def change_relayed(relay: RelayProcess, changes: Sequence[Change]) -> Refusals:
    """Put directions of one relay in new states, each once, without reading them back.

    Returns:
        For each change its refusal, or None.

    Raises:
        LabError: The relay is dead, a change is of no direction of a relay, or one direction comes twice.
    """
    directions = [_relayed(change) for change in changes]

    def send(puts: list[Put]) -> Refusals:
        refusals = relay.ask(PutStates(tuple(puts)), "change directions together").refusals
        pairs = zip(directions, refusals, strict=True)
        return [direction.error(refusal) if refusal is not None else None for direction, refusal in pairs]

    return change_staged(directions, [change.state for change in changes], send)


def _relayed(change: Change) -> RelayDirection:
    if not isinstance(change.impairer, RelayDirection):
        raise LabError(
            f"{type(change.impairer).__name__} is no direction of a relay",
            hint="change directions of one relay together, those of another by themselves",
        )
    return change.impairer
