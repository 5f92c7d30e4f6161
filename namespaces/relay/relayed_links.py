"""RelayedLinks: the links and media that one relay process carries, by their numbers.

::

    AddLinks, Join, Remove, AddMedium ... --> RelayedLinks --lanes--> RelayLoop
    Place ----------------------------------> ModelPlace: a Lane or a MediumQueue
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from netlab.errors import KernelError
from netlab.namespaces.relay.lane import Lane
from netlab.namespaces.relay.loop import RelayLoop
from netlab.namespaces.relay.medium_queue import MediumQueue
from netlab.namespaces.relay.model_place import ModelPlace
from netlab.namespaces.relay.packet import NOWHERE, PacketSink
from netlab.namespaces.relay.port import Port
from netlab.namespaces.relay.raw_port import RawPort
from netlab.namespaces.relay.requests import MediumPlace, NewLink, Place, PortKind
from netlab.namespaces.relay.tap import TapPort
from netlab.traces.seed import Direction

__all__ = ["RelayedLinks"]

_PORTS: dict[PortKind, Callable[[int, int], Port]] = {"tap": TapPort, "raw": RawPort}
_GONE_HINT = "it was removed, or belongs to another lab: ask for one of this lab's own"


class _RelayedLink:
    """Two ports and the lanes between them."""

    def __init__(
        self, link: NewLink, ports: tuple[Port, Port], loop: RelayLoop, medium: MediumQueue | None
    ) -> None:
        first, second = ports
        self.name = link.name
        self.ports = ports
        self.lanes: dict[Direction, Lane] = {
            "forward": Lane(first, second, loop.departures, link.number, "forward", medium),
            "back": Lane(second, first, loop.departures, link.number, "back", medium),
        }


class RelayedLinks:
    """Links and media.

    Args:
        loop: Lets their frames pass.
    """

    def __init__(self, loop: RelayLoop) -> None:
        self._loop = loop
        self._links: dict[int, _RelayedLink] = {}
        self._media: dict[int, MediumQueue] = {}
        self._log: PacketSink = NOWHERE

    def add(self, new: Sequence[NewLink], descriptors: Sequence[int]) -> None:
        """Have new links, through which nothing passes yet.

        Args:
            new: The links.
            descriptors: Of their ports, two a link in their order; the links' from now on, also when it fails.

        Raises:
            KernelError: One is to be part of a medium that is not there; none of them is made then.
        """
        pairs = zip(descriptors[::2], descriptors[1::2], strict=True)
        ports = [
            (_PORTS[link.kinds[0]](first, link.frame_bytes), _PORTS[link.kinds[1]](second, link.frame_bytes))
            for link, (first, second) in zip(new, pairs, strict=True)
        ]
        try:
            media = [None if link.medium is None else self._medium(link.medium) for link in new]
        except KernelError:
            for first, second in ports:
                first.close()
                second.close()
            raise
        for link, both, medium in zip(new, ports, media, strict=True):
            self._links[link.number] = _RelayedLink(link, both, self._loop, medium)
        self.log_to(self._log)

    def join(self, numbers: Iterable[int]) -> None:
        """Let packets through, both ways.

        Raises:
            KernelError: There is no such link.
            OSError: One of its interfaces is gone.
        """
        for number in numbers:
            link = self._link(number)
            for direction, lane in link.lanes.items():
                self._loop.watch_lane(lane, partial(_lament, link.name, direction))

    def remove(self, numbers: Iterable[int]) -> None:
        """Close the ports of links that there are, with all their packets in flight."""
        gone = [self._links.pop(number) for number in numbers if number in self._links]
        self._loop.departures.forget(
            {one for link in gone for lane in link.lanes.values() for one in lane.receivers}
        )
        for link in gone:
            for port in link.ports:
                self._loop.unwatch(port.fileno())
                port.close()

    def add_medium(self, number: int) -> None:
        """Have a medium, which lets all pass as yet."""
        self._media[number] = MediumQueue(self._loop.departures)

    def remove_medium(self, number: int) -> None:
        """Forget a medium."""
        self._media.pop(number, None)

    def place(self, place: Place) -> ModelPlace:
        """Return what is at a place.

        Raises:
            KernelError: There is no such link or medium.
        """
        if isinstance(place, MediumPlace):
            return self._medium(place.number)
        return self._link(place.number).lanes[place.direction]

    def log_to(self, log: PacketSink) -> None:
        """Have all links, those to come included, tell a log what becomes of their packets."""
        self._log = log
        for link in self._links.values():
            for lane in link.lanes.values():
                lane.log = log

    def _link(self, number: int) -> _RelayedLink:
        if number not in self._links:
            raise KernelError(f"find link {number}", errno.ENODEV, f"the relay has no link {number}", _GONE_HINT)
        return self._links[number]

    def _medium(self, number: int) -> MediumQueue:
        if number not in self._media:
            words = f"the relay has no medium {number}"
            raise KernelError(f"find medium {number}", errno.ENODEV, words, _GONE_HINT)
        return self._media[number]


def _lament(link: str, direction: Direction, error: OSError) -> None:
    """Say on stderr, which is what our lab quotes, that an interface was deleted under us."""
    print(f"relay: nothing more comes {direction} over link {link}: {error.strerror}", file=sys.stderr, flush=True)
