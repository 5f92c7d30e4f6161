"""Link changes made together: several links, or both directions of one, at one moment, and proven.

::

    LinkChange ... --seeds--> states --Wire.change_together--> AppliedChange (asked, applied)
                                          `-- then read back, one after another
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from netlab.errors import KernelError
from netlab.namespaces.change import Change
from netlab.namespaces.impairer import Impairer
from netlab.namespaces.link import Link
from netlab.namespaces.wire import Wire
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import Direction

__all__ = ["AppliedChange", "LinkChange", "change_links"]


class LinkChange(NamedTuple):
    """What is asked of a link.

    Attributes:
        link: The link.
        impairment: A pair for both directions, or a profile or state for ``direction``.
        direction: ``forward`` or ``back``; both where it is None.
    """

    link: Link
    impairment: LinkProfile | ProfilePair | QdiscState
    direction: Direction | None = None


class AppliedChange(Struct, frozen=True, kw_only=True):
    """What became of one direction.

    Attributes:
        link: Name of the link.
        direction: ``forward`` or ``back``.
        state: The state that was asked for.
        asked_s: When it was asked for, on the monotonic clock; the same for all that belong together.
        applied_s: When it had been acknowledged.
        refusal: Why it was refused, or what showed instead; None where it is in force.
    """

    link: str
    direction: Direction
    state: QdiscState
    asked_s: float
    applied_s: float
    refusal: KernelError | None


def change_links(wire: Wire, asked: Sequence[LinkChange]) -> list[AppliedChange]:
    """Change links of one wire in one go and prove it; packets in flight stay in flight.

    A direction that has had no impairment yet gets its first one just before, by itself.

    Returns:
        One entry a direction, in order; who asks for all or nothing looks at ``refusal``.

    Raises:
        LabError: A link is being played, or a direction is named twice.
        ProfileError: What is asked is none.
        FeatureMissing: Links cannot be impaired here.
    """
    planned = [
        (each.link, *plan) for each in asked for plan in each.link.plan_states(each.impairment, each.direction)
    ]
    together = []
    asked_s = time.monotonic()
    for link, direction, state in planned:
        impairer = link.qdisc(direction)
        if impairer is None:
            link.put(direction, state)  # made and proven
        else:
            together.append((link.name, direction, Change(impairer, state)))
    refusals = dict(
        zip(
            ((name, direction) for name, direction, _ in together),
            wire.change_together([change for _, _, change in together]),
            strict=True,
        )
    )
    applied_s = time.monotonic()
    for name, direction, change in together:
        if refusals[name, direction] is None:
            refusals[name, direction] = _read_back(change.impairer)
    return [
        AppliedChange(
            link=link.name,
            direction=direction,
            state=state,
            asked_s=asked_s,
            applied_s=applied_s,
            refusal=refusals.get((link.name, direction)),
        )
        for link, direction, state in planned
    ]


def _read_back(impairer: Impairer) -> KernelError | None:
    try:
        impairer.verify()
    except KernelError as error:
        return error
    return None
