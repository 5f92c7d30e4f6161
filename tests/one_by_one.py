"""Changes made one right after the other, where no wire is there to make them together."""

from __future__ import annotations

from collections.abc import Sequence

from netlab.errors import KernelError
from netlab.namespaces.impairer import Change, Refusals


def change_one_by_one(changes: Sequence[Change]) -> Refusals:
    """Make changes; a refusal of one keeps none of the others."""
    refusals: Refusals = []
    for change in changes:
        try:
            change.impairer.apply_fast(change.state)
        except KernelError as error:
            refusals.append(error)
        else:
            refusals.append(None)
    return refusals
