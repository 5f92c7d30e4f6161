"""Link changes made together: several links, or both directions of one, at one moment, and proven.

::

    LinkChange ... --seeds--> states --Wire.change_together--> AppliedChange (asked, applied)
                                          `-- then read back, one after another
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from netlab.errors import KernelError, LabError, NetlabError, ProfileError
from netlab.namespaces.held_state import unproven
from netlab.namespaces.impairer import Change, Impairer, Refusals
from netlab.namespaces.link import Link
from netlab.namespaces.wire import Wire
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import DIRECTIONS, Direction

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
    refusal: NetlabError | None


def change_links(wire: Wire, asked: Sequence[LinkChange]) -> list[AppliedChange]:
    """Change links of one wire in one go and prove it; packets in flight stay in flight.

    A direction that has had no impairment yet gets its first one just before, by itself.

    Returns:
        One entry a direction, in order; who asks for all or nothing looks at ``refusal``.

    Raises:
        LabError: A link is being played, a direction is named twice, or what carries the packets has died.
        ProfileError: What is asked is none.
        FeatureMissing: Links cannot be impaired here.
    """
    _require_once(asked)
    planned = [
        _Planned(each.link, *plan)
        for each in asked
        for plan in each.link.plan_states(each.impairment, each.direction)
    ]
    if any(one.impairer is None for one in planned):
        wire.require_impairments()  # before anything changes
    asked_s = time.monotonic()
    refusals = _put_in_force(wire, planned)
    applied_s = time.monotonic()
    return [
        AppliedChange(
            link=one.link.name,
            direction=one.direction,
            state=one.state,
            asked_s=asked_s,
            applied_s=applied_s,
            refusal=_read_back(one) if refusal is None else refusal,
        )
        for one, refusal in zip(planned, refusals, strict=True)
    ]


class _Planned(NamedTuple):
    """A direction of a link and the state it is to be in."""

    link: Link
    direction: Direction
    state: QdiscState

    @property
    def impairer(self) -> Impairer | None:
        return self.link.impairer(self.direction)


def _require_once(asked: Sequence[LinkChange]) -> None:
    named = Counter(
        (each.link.name, direction)
        for each in asked
        for direction in (DIRECTIONS if each.direction is None else (each.direction,))
    )
    (link, direction), times = named.most_common(1)[0] if named else (("", ""), 0)
    if times > 1:
        hint = "name each direction once among changes made together"
        raise LabError(f"link {link} {direction} is named {times} times", hint=hint)


def _put_in_force(wire: Wire, planned: Sequence[_Planned]) -> Refusals:
    """Make what is not there yet, each by itself; then change the rest together."""
    is_new = [one.impairer is None for one in planned]
    made = iter([_make(one) for one, new in zip(planned, is_new, strict=True) if new])
    changes = [
        Change(one.impairer, one.state)
        for one, new in zip(planned, is_new, strict=True)
        if not new and one.impairer is not None
    ]
    changed = iter(wire.change_together(changes) if changes else [])
    return [next(made if new else changed) for new in is_new]


def _make(one: _Planned) -> KernelError | ProfileError | None:
    try:
        one.link.put(one.direction, one.state)
    except (KernelError, ProfileError) as error:
        return error
    return None


def _read_back(one: _Planned) -> KernelError | None:
    try:
        if one.impairer is not None and not one.impairer.verify():
            return unproven(f"put link {one.link.name} {one.direction} in the state asked for")
    except KernelError as error:
        return error
    return None
