"""MediumWish: what ``netlab lab set NAME medium:ap rate=10mbit,queue=100`` asks of a shared medium.

::

    LinkWish("medium:ap", "rate=10mbit,queue=100") --read--> MediumWish --apply--> Medium, proven
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

from netlab.did_you_mean import did_you_mean
from netlab.errors import SpecError
from netlab.holder.messages import LinkWish
from netlab.lab import Lab
from netlab.namespaces.medium import Medium
from netlab.traces.qdisc_state import QdiscState
from netlab.units import parse_rate_bps

__all__ = ["MEDIUM_PREFIX", "MediumWish"]

MEDIUM_PREFIX = "medium:"
"""No link's name holds a colon."""


class MediumWish(NamedTuple):
    """A medium and what it is to be.

    Attributes:
        medium: The medium.
        rate_bps: Its new rate; None for the one it has.
        queue_packets: Its new queue; None for the one it has.
    """

    medium: Medium
    rate_bps: float | None
    queue_packets: int | None

    @classmethod
    def read(cls, lab: Lab, wish: LinkWish) -> Self:
        """Return what a wish asks for.

        Raises:
            SpecError: There is no such medium, or it is asked for something else than rate and queue.
        """
        name = wish.link.removeprefix(MEDIUM_PREFIX)
        medium = lab.media.get(name)
        if medium is None:
            hint = did_you_mean(name, lab.media) or f"its media: {', '.join(lab.media)[:500] or 'none'}"
            raise SpecError(f"{name!r:.80} is no medium of lab {lab.name}", key="medium", hint=hint)
        words = [word.partition("=") for word in wish.profile.split(",")]
        values = {key.strip(): value.strip() for key, _, value in words}
        if len(values) != len(words) or not set(values) <= {"rate", "queue"}:
            hint = "write rate=10mbit, queue=100, or both with a comma between"
            raise SpecError(f"{wish.profile!r:.80} is nothing a medium can be", key=wish.link, hint=hint)
        return cls(medium, _read_rate(wish.link, values.get("rate")), _read_queue(wish.link, values.get("queue")))

    @property
    def state(self) -> QdiscState:
        """The state its queue is to be in.

        Raises:
            ProfileError: A value is none a medium can have.
        """
        return self.medium.plan_state(rate_bps=self.rate_bps, queue_packets=self.queue_packets)

    def apply(self) -> None:
        """Change the medium and prove it; packets in it stay in it.

        Raises:
            ProfileError: A value is none a medium can have.
            KernelError: It is refused, or another state shows afterwards.
        """
        self.medium.apply(rate_bps=self.rate_bps, queue_packets=self.queue_packets)


def _read_rate(key: str, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        rate_bps = parse_rate_bps(text)
    except ValueError as error:
        raise SpecError(str(error), key=f"{key}.rate", hint="write a rate such as 10mbit") from error
    if not 0 < rate_bps < math.inf:
        raise SpecError(
            f"{text!r:.80}: must be more than 0", key=f"{key}.rate", hint="write a rate such as 10mbit"
        )
    return rate_bps


def _read_queue(key: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= 2**32 - 1):
        hint = "write a number of packets such as 100"
        raise SpecError(f"{text!r:.80}: must be a whole number, 1 .. {2**32 - 1}", key=f"{key}.queue", hint=hint)
    return int(text)
