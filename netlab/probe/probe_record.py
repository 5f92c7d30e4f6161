"""ProbeRecord: columns of what a prober has sent and what it has learnt of it, as it comes. Pure.

::

    note_sent, note_departure, note_reply    while it runs  --.
    note_page                    the reflector's log, after --+--> ProbeResult

Bounded by the plan: what a reflector says that cannot be true is counted and not kept.
"""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from netlab.probe.departure import Departure
from netlab.probe.probe_frame import ROW, ROWS_A_PAGE, LogPage, ProbeReply
from netlab.wire.copy_opener import MAX_COPIES

__all__ = ["REPLY", "ProbeRecord"]

REPLY = np.dtype(
    [
        ("number", "i8"),
        ("receive_ns", "i8"),
        ("reply_ns", "i8"),
        ("seen", "u8"),
        ("reply_number", "i8"),
        ("arrival_ns", "i8"),
    ]
)
"""A reply that has come: see ``probe_frame.ProbeReply``; ``arrival_ns`` is the prober's stamp of its arrival."""

_SIGN = 1 << 63


class ProbeRecord:
    """What one prober has sent and learnt.

    Args:
        count: How many probes it may send.

    Attributes:
        late_replies: Replies that came after the wait; they are not kept.
        implausible: Replies and rows that cannot be true.
        no_way: Probes for which this host had no way; they count as lost.
        unstamped: Replies that the kernel has not stamped.
        too_large_bytes: Largest datagram that the path carried when the probes no longer fitted it; 0 if they did.
        clock_steps: How often this host's clock was set.
        port_refusals: How often the peer's host said that its port is closed.
        stopped_by: The signal that has ended the flow early; empty for none.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._sent_ns = array("q")
        self._replies = array("q")
        self._n_replies = 0
        self._pages: dict[int, LogPage] = {}
        self._n_pages: int | None = None
        self.late_replies = 0
        self.implausible = 0
        self._no_room = array("q")
        self.no_way = 0
        self.unstamped = 0
        self.too_large_bytes = 0
        self.clock_steps = 0
        self.port_refusals = 0
        self.stopped_by = ""

    @property
    def n_sent(self) -> int:
        """Return how many probes were sent."""
        return len(self._sent_ns)

    @property
    def n_replies(self) -> int:
        """Return how many replies have come, copies included."""
        return self._n_replies

    def note_sent(self, send_ns: int) -> None:
        """Note that the next number was sent.

        Args:
            send_ns: The stamp of its sending.
        """
        self._sent_ns.append(send_ns)

    def note_departure(self, departure: Departure) -> None:
        """Note what became of the probe that was noted last as sent.

        One for which this host had no room was never on the path, which is not judged by it. Where there is no
        way, that is what the path is like.
        """
        if departure is Departure.NO_ROOM:
            self._no_room.append(self.n_sent - 1)
        elif departure is not Departure.LEFT:
            self.no_way += 1

    def note_reply(self, reply: ProbeReply, arrival_ns: int, *, is_stamped: bool = True) -> bool:
        """Note a reply; whether it can be true."""
        if (
            reply.number >= self.n_sent
            or reply.reply_ns - reply.receive_ns > arrival_ns - self._sent_ns[reply.number]
            or reply.reply_number >= self.n_sent * MAX_COPIES
            or self._n_replies >= self._count * MAX_COPIES
        ):
            self.implausible += 1
            return False
        seen = reply.seen - (_SIGN << 1) if reply.seen & _SIGN else reply.seen
        self._replies.extend(
            (reply.number, reply.receive_ns, reply.reply_ns, seen, reply.reply_number, arrival_ns)
        )
        self._n_replies += 1
        self.unstamped += not is_stamped
        return True

    def note_page(self, page: LogPage) -> bool:
        """Note a page of the log; whether it is new and can be true."""
        n_pages = max(1, -(-page.n_rows // ROWS_A_PAGE))
        numbers = page.rows["number"]
        if (
            self._n_pages not in (None, n_pages)
            or page.n_rows > self.n_sent * MAX_COPIES
            or page.page >= n_pages
            or (numbers >= self.n_sent).any()
        ):
            self.implausible += 1
            return False
        is_new = page.page not in self._pages
        self._n_pages = n_pages
        self._pages[page.page] = page
        return is_new

    def missing_pages(self, most: int) -> list[int]:
        """Return the first pages of the log that are not here yet, at most so many; none once it is complete."""
        if self._n_pages is None:
            return [0]
        missing = []
        for page in range(self._n_pages):
            if page not in self._pages:
                missing.append(page)
                if len(missing) == most:
                    break
        return missing

    @property
    def sent_ns(self) -> NDArray[np.int64]:
        """Return the stamp of each probe's sending, ``[n_sent]``."""
        return np.array(self._sent_ns, dtype=np.int64)

    @property
    def no_room(self) -> NDArray[np.bool_]:
        """Return which probes this host had no room for, ``[n_sent]``."""
        refused = np.zeros(self.n_sent, dtype=np.bool_)
        refused[np.array(self._no_room, dtype=np.int64)] = True
        return refused

    @property
    def replies(self) -> NDArray[np.void]:
        """Return the replies as records of ``REPLY``, in order of arrival."""
        return np.frombuffer(self._replies.tobytes(), REPLY)

    @property
    def log(self) -> NDArray[np.void] | None:
        """Return all rows of the reflector's log, in order of arrival there; None unless it is complete."""
        if self._n_pages is None or len(self._pages) < self._n_pages:
            return None
        rows = [self._pages[page].rows for page in range(self._n_pages)]
        return np.concatenate(rows) if rows else np.zeros(0, ROW)

    @property
    def log_overflowed(self) -> bool:
        """Return whether the reflector had no room for all rows."""
        return any(page.overflowed for page in self._pages.values())

    @property
    def reflector_clock_set(self) -> bool:
        """Return whether the reflector's clock was set during the session, as far as it has said."""
        return any(page.clock_set for page in self._pages.values())

    @property
    def reflector_unstamped(self) -> bool:
        """Return whether arrivals are in its log that its kernel has not stamped, as far as it has said."""
        return any(page.unstamped for page in self._pages.values())

    @property
    def late_probes(self) -> int:
        """Return how many probes reached the reflector after the wait, as far as it has said."""
        return max((page.late for page in self._pages.values()), default=0)
