"""Undo: whether what a sender has done about a loss was needless, so that its window may be given back.

Two things tell: an acknowledgement that shows the stamp of a first sending (Eifel, RFC 3522), and the far end's
word that it had each retransmission already (RFC 3708).
"""

from __future__ import annotations

from netlab.traces.model.stream.flight import Flight
from netlab.traces.model.stream.segment import stamp

__all__ = ["Undo"]

_NOTHING = -1


class Undo:
    """What one sender could take back.

    Args:
        flight: Its segments.
    """

    __slots__ = ("_first_ns", "_flight", "_from", "_left")

    def __init__(self, flight: Flight) -> None:
        self._flight = flight
        self._from = _NOTHING
        self._left = 0  # retransmissions that were not needless as far as is known; -1: there were none
        self._first_ns = 0  # stamp of the first retransmission; 0: there was none

    @property
    def is_possible(self) -> bool:
        """Whether there is anything to take back."""
        return self._from != _NOTHING

    @property
    def is_proven(self) -> bool:
        """Whether the far end had each retransmission already."""
        return self.is_possible and not self._left

    def begin(self, probes: int) -> None:
        """Begin with a loss.

        Args:
            probes: Copies on their way as probes, 0 or 1.
        """
        self.forget_if_done()
        self._from = self._flight.acknowledged
        self._left = (self._flight.resent + probes) or -1

    def end(self) -> None:
        """Take nothing back any more."""
        self._from = _NOTHING

    def forget(self) -> None:
        """Forget when the first retransmission was."""
        self._first_ns = 0

    def forget_if_done(self) -> None:
        """Forget it unless one is still on its way."""
        if not self._flight.was_resent:
            self._first_ns = 0

    def note_resent(self, sent_ns: int) -> None:
        """Note that a segment was to be sent again.

        Where it still waits in the host's own queue it is not, and Linux takes the time of its first sending for
        that of the second: then nothing shows that the loss was none.
        """
        self._first_ns = self._first_ns or stamp(sent_ns)
        self._left = max(self._left, 0) + 1

    def note_duplicate(self, end: int, prior: int) -> None:
        """Note that the far end had bytes up to ``end`` already; ``prior`` were acknowledged before."""
        if self.is_possible and self._left > 0 and self._from < end <= prior:
            self._left -= 1

    def came_first(self, echoed_ns: int) -> bool:
        """Tell whether what an acknowledgement is for had been sent before the first retransmission."""
        return self.is_possible and (not self._first_ns or echoed_ns < self._first_ns)
