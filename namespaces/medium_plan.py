"""MediumPlan: names and numbers of the n-th shared medium of a lab. Pure.

::

    links' inner ends ==> nl4f09ac-m0 [shared rate and queue] ====veth==== nl4f09ac-m0o ==> links' far ends
"""

from __future__ import annotations

from msgspec import Struct

from netlab.errors import SpecError

__all__ = ["MAX_MEDIA", "MediumPlan", "plan_medium"]

MAX_MEDIA = 256
_FIRST_INDEX = 40001
"""Beyond the wire's ends of all the links that a lab can have."""


class MediumPlan(Struct, frozen=True, kw_only=True):
    """Where the links of a medium meet, in the wire.

    Attributes:
        name: What messages, seeds and links call it.
        number: Counted from 0 over the lab.
        entry: Name of the interface that frames enter by, which holds the shared queue.
        entry_index: Its number in the wire.
        exit: Name of the interface they come out of.
        exit_index: Its number in the wire.
    """

    name: str
    number: int
    entry: str
    entry_index: int
    exit: str
    exit_index: int


def plan_medium(number: int, name: str, lab_id: str) -> MediumPlan:
    """Return the plan of a lab's ``number``-th medium.

    Args:
        number: Counted from 0 over the lab.
        name: Its name.
        lab_id: Six characters.

    Raises:
        SpecError: More media than a lab can have.
    """
    if not 0 <= number < MAX_MEDIA:
        raise SpecError(f"medium {number}: a lab has at most {MAX_MEDIA} media", key=f"media.{name}")
    return MediumPlan(
        name=name,
        number=number,
        entry=f"nl{lab_id}-m{number}",
        entry_index=_FIRST_INDEX + 2 * number,
        exit=f"nl{lab_id}-m{number}o",
        exit_index=_FIRST_INDEX + 2 * number + 1,
    )
