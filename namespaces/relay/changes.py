"""Several directions of one relay put in new states in one message, between two packets.

::

    Change, Change ... --RelayDirection.stage--> Put, Put ... --one frame--> relay
                       <-RelayDirection.settle-- "" | problem each
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.errors import LabError
from netlab.namespaces.change import Change, Refusals
from netlab.namespaces.relay.direction import RelayDirection
from netlab.namespaces.relay.process import RelayProcess
from netlab.namespaces.relay.requests import Change as RelayChange
from netlab.namespaces.relay.requests import Put

__all__ = ["change_relayed"]


def change_relayed(relay: RelayProcess, changes: Sequence[Change]) -> Refusals:
    """Put directions of one relay in new states, each once, without reading them back.

    Returns:
        For each change its refusal, or None.

    Raises:
        LabError: The relay is dead, or a change is of no direction of a relay.
    """
    directions = [_relayed(change) for change in changes]
    puts: list[Put] = []
    problems: Sequence[str] = ["interrupted"] * len(directions)
    try:
        puts += [direction.stage(change.state) for direction, change in zip(directions, changes, strict=True)]
        problems = relay.ask(RelayChange(tuple(puts))).problems
    finally:
        for direction, problem in zip(directions[: len(puts)], problems, strict=False):
            direction.settle(problem)
    pairs = zip(directions, problems, strict=True)
    return [direction.refusal(problem) if problem else None for direction, problem in pairs]


def _relayed(change: Change) -> RelayDirection:
    if not isinstance(change.impairer, RelayDirection):
        raise LabError(f"{type(change.impairer).__name__} is no direction of a relay")
    return change.impairer
