"""ICMP round trips: echo requests and their replies, as a capture saw them pass.

::

    request 17  o--->          a reply: a round trip
    request 18  o--->          none until long after: lost
    reply 17    <---o
    reply 17    <---o          again: a duplicate

The capture holds the requests themselves, so a gap in their numbers is a request that was not captured, and no
loss. Numbers have sixteen bits: a reply is that of the latest request with its number, and a number seen again
within a second and half the circle is the same request, captured twice. What captures requests twice (``any``, a
bridge and its ports) captures replies twice: so of each request the replies are counted by how often it was seen.

A card with several queues may have a reply captured before its request: it counts by the times of both. One that
is stamped before its request tells that the clock was set meanwhile: nothing is known of that round trip, and it
was not lost.

Knows no file.
"""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from netlab.traces.capture.packet_headers import Echo, address_text
from netlab.traces.trace import UNKNOWN

__all__ = ["SET_BACK_NS", "IcmpPair", "IcmpRoundTrips"]

MAX_PAIRS = 10_000
MAX_EARLY = 256

SET_BACK_NS = 1_000_000_000
"""By how much times may go back within a capture, as a card with several queues has them; else a clock was set."""

_CIRCLE = 1 << 16
_COPY_NS = 1_000_000_000
_WAIT_NS = 1_000_000_000
"""How long a reply is awaited at the capture's end where none tells how long they take."""


class IcmpPair:
    """The requests of one host to another, and the replies.

    Attributes:
        here: The address that asks, packed.
        there: The one that replies.
    """

    def __init__(self, here: bytes, there: bytes) -> None:
        self.here, self.there = here, there
        self._sent_ns = array("q")
        self._delay_ns = array("q")
        self._replies = array("l")
        self._sightings = array("l")
        self._latest: dict[tuple[int, int], int] = {}
        self._last_sequence: dict[int, int] = {}
        self._stamped_after_reply: set[int] = set()

    @property
    def n(self) -> int:
        """Return how many requests there are."""
        return len(self._sent_ns)

    @property
    def label(self) -> str:
        """Return who asks whom, for a person."""
        return f"{address_text(self.here)} to {address_text(self.there)} and back"

    def request(self, echo: Echo) -> None:
        """Take in a request."""
        key = echo.ident, echo.sequence
        if key in self._latest and self._is_copy(echo, self._latest[key]):
            self._sightings[self._latest[key]] += 1
            return
        self._last_sequence[echo.ident] = echo.sequence
        self._latest[key] = len(self._sent_ns)
        self._sent_ns.append(echo.time_ns)
        self._delay_ns.append(UNKNOWN)
        self._replies.append(0)
        self._sightings.append(1)

    def _is_copy(self, echo: Echo, row: int) -> bool:
        soon = abs(echo.time_ns - self._sent_ns[row]) < _COPY_NS
        return soon and (self._last_sequence[echo.ident] - echo.sequence) % _CIRCLE < _CIRCLE // 2

    def reply(self, echo: Echo) -> bool:
        """Take in a reply; return whether it is one to a request that was captured."""
        row = self._latest.get((echo.ident, echo.sequence))
        if row is None:
            return False
        if echo.time_ns < self._sent_ns[row] and not self._replies[row]:
            self._stamped_after_reply.add(row)
        if not self._replies[row]:
            self._delay_ns[row] = echo.time_ns - self._sent_ns[row]
        self._replies[row] += 1
        return True

    def columns(
        self, end_ns: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int8], NDArray[np.int32]]:
        """Return of each request when it was sent (ns), its delay (s), if it was lost, its replies, ``[n]``.

        Args:
            end_ns: When the capture ended, by the clock at its end: what was sent within the longest delay before
                may have been on its way.
        """
        sent_ns = np.array(self._sent_ns, dtype=np.int64)
        delay_ns = np.array(self._delay_ns, dtype=np.int64)
        sightings = np.array(self._sightings, dtype=np.int32)
        copies = -(-np.array(self._replies, dtype=np.int32) // sightings)  # rounded up: one sighting may be missed
        answered = copies > 0
        wait_ns = int(delay_ns.max()) if (answered & (delay_ns >= 0)).any() else _WAIT_NS
        unknown = ~answered & (sent_ns > end_ns - wait_ns)
        unknown[: self._last_set_back(sent_ns)] = False
        unknown[list(self._stamped_after_reply)] = True
        lost = np.where(unknown, UNKNOWN, ~answered).astype(np.int8)
        copies = np.where(unknown, UNKNOWN, copies).astype(np.int32)
        return sent_ns, np.where(answered & ~unknown, delay_ns / 1e9, np.nan), lost, copies

    @staticmethod
    def _last_set_back(sent_ns: NDArray[np.int64]) -> int:
        """Return the first row after the clock was last set back; 0 where it was not."""
        back = np.flatnonzero(np.diff(sent_ns) < -SET_BACK_NS)
        return int(back[-1]) + 1 if back.size else 0


def _is_group(packed: bytes) -> bool:
    """Tell whether an address is that of many hosts, each of which replies by its own: there is no one path."""
    if len(packed) == 4:
        return packed[0] >> 4 == 14 or packed == b"\xff" * 4
    return packed[0] == 0xFF


class IcmpRoundTrips:
    """All pairs of hosts of a capture.

    Attributes:
        left_out: How many requests were of pairs beyond the most that are followed.
    """

    def __init__(self) -> None:
        self.left_out = 0
        self._pairs: dict[bytes, IcmpPair] = {}
        self._early: dict[tuple[bytes, int, int], Echo] = {}

    @property
    def pairs(self) -> int:
        """Return how many pairs there are."""
        return len(self._pairs)

    def add(self, echo: Echo) -> None:
        """Take in a request or a reply."""
        if not echo.request:
            self._reply(echo)
            return
        key = echo.source + echo.destination
        if key not in self._pairs:
            if _is_group(echo.destination):
                return
            if len(self._pairs) >= MAX_PAIRS:
                self.left_out += 1
                return
            self._pairs[key] = IcmpPair(echo.source, echo.destination)
        self._pairs[key].request(echo)
        early = self._early.pop((key, echo.ident, echo.sequence), None)
        if early is not None and abs(early.time_ns - echo.time_ns) < SET_BACK_NS:
            self._pairs[key].reply(early)

    def _reply(self, echo: Echo) -> None:
        """Take in a reply; where its request was not captured yet, keep it for a while."""
        key = echo.destination + echo.source
        if key in self._pairs and self._pairs[key].reply(echo):
            return
        self._early.setdefault((key, echo.ident, echo.sequence), echo)
        if len(self._early) > MAX_EARLY:
            del self._early[next(iter(self._early))]

    def best(self) -> IcmpPair | None:
        """Return the pair with the most requests."""
        return max(self._pairs.values(), key=lambda pair: pair.n, default=None)
