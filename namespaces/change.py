"""Change: a direction of a link and the state it is to be put in, alone or together with others. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from netlab.errors import KernelError
from netlab.namespaces.impairer import Impairer
from netlab.traces.qdisc_state import QdiscState

__all__ = ["Change", "Refusals", "change_one_by_one"]

Refusals = list[KernelError | None]
"""One entry a change: None where it took."""


class Change(NamedTuple):
    """One direction of a link and the state it is to be put in."""

    impairer: Impairer
    state: QdiscState


def change_one_by_one(changes: Sequence[Change]) -> Refusals:
    """Make changes one right after the other; a refusal of one keeps none of the others."""
    refusals: Refusals = []
    for change in changes:
        try:
            change.impairer.apply_fast(change.state)
        except KernelError as error:
            refusals.append(error)
        else:
            refusals.append(None)
    return refusals
