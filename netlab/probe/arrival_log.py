"""ArrivalLog: what a reflector has received in one session, bounded, and the pages in which it is handed over.

::

    probe --add--> number, receive stamp, turnaround | ...   --page(k)--> 71 rows of 16 bytes

Only this log knows of a lost reply that its probe arrived, and only by it can a flow be measured that gets no
replies. It closes when its first page is asked for: what comes later is counted, not kept. Pure.
"""

from __future__ import annotations

from array import array

import numpy as np

from netlab.probe.probe_frame import ROW, ROWS_A_PAGE, TOO_LONG_NS, UNANSWERED_NS, UNSENT_NS, LogPage
from netlab.probe.probe_plan import MAX_COUNT

__all__ = ["MAX_ROWS", "ArrivalLog"]

MAX_ROWS = 2 * MAX_COUNT
"""Rows a session may keep, 32 MB of them: every probe of the longest plan twice."""


class ArrivalLog:
    """Arrivals of one session, in order.

    Args:
        max_rows: Rows it keeps.

    Attributes:
        late: Probes that came after it was closed.
        overflowed: Probes it had no room for.
    """

    __slots__ = ("_is_closed", "_max_rows", "_numbers", "_receive_ns", "_turnaround_ns", "late", "overflowed")

    def __init__(self, max_rows: int = MAX_ROWS) -> None:
        self._max_rows = max_rows
        self._numbers = array("I")
        self._receive_ns = array("q")
        self._turnaround_ns = array("I")
        self._is_closed = False
        self.late = 0
        self.overflowed = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, number: int, receive_ns: int) -> int | None:
        """Note an arrival.

        Returns:
            Its row; None where it is late or there is no room.
        """
        if self._is_closed:
            self.late += 1
            return None
        row = len(self._numbers)
        if row >= self._max_rows:
            self.overflowed += 1
            return None
        self._numbers.append(number)
        self._receive_ns.append(receive_ns)
        self._turnaround_ns.append(UNANSWERED_NS)
        return row

    def note_reply(self, row: int, reply_ns: int) -> None:
        """Note when an arrival was answered."""
        turnaround_ns = reply_ns - self._receive_ns[row]
        self._turnaround_ns[row] = turnaround_ns if 0 <= turnaround_ns < TOO_LONG_NS else TOO_LONG_NS

    def note_unsent(self, row: int) -> None:
        """Note that the reply to an arrival did not leave this host."""
        self._turnaround_ns[row] = UNSENT_NS

    def page(self, page: int, *, clock_set: bool = False, unstamped: bool = False) -> LogPage:
        """Return a page, empty behind the last one; the log is closed from now on.

        Args:
            page: Which.
            clock_set: Whether this host's clock was set meanwhile.
            unstamped: Whether arrivals are in it that the kernel has not stamped.
        """
        self._is_closed = True
        begin = min(page * ROWS_A_PAGE, len(self._numbers))
        end = min(begin + ROWS_A_PAGE, len(self._numbers))
        rows = np.zeros(end - begin, ROW)
        rows["number"] = self._numbers[begin:end]
        rows["receive_ns"] = self._receive_ns[begin:end]
        rows["turnaround_ns"] = self._turnaround_ns[begin:end]
        return LogPage(page, len(self._numbers), self.late, rows, self.overflowed > 0, clock_set, unstamped)
