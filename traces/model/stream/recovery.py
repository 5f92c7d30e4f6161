"""Recovery: what a sender makes of an acknowledgement: is something lost, is the loss over, was it none?

::

    OPEN <--> DISORDER --lost--> RECOVERY --all acknowledged--> OPEN
      ^           `------timeout-----> LOSS --all acknowledged or needless--'

Linux' states, F-RTO (RFC 5682) and the undoing of what was needless, without which links whose packets overtake
one another would have no window left.
"""

from __future__ import annotations

from enum import IntEnum

from netlab.traces.model.stream.flight import Flight
from netlab.traces.model.stream.loss_detection import LossDetection
from netlab.traces.model.stream.news import News
from netlab.traces.model.stream.round_trip import RoundTrip
from netlab.traces.model.stream.undo import Undo
from netlab.traces.model.stream.window import CongestionWindow

__all__ = ["Next", "Recovery", "State"]


class State(IntEnum):
    """What a sender believes."""

    OPEN = 0
    DISORDER = 1
    REDUCED = 2
    RECOVERY = 3
    LOSS = 4


class Next(IntEnum):
    """What is to be sent."""

    NOTHING = 0
    LOST = 1
    NEW = 2


class Recovery:
    """The state of one sender.

    Args:
        flight: Its segments.
        window: Its window.
        rack: What finds its losses.
        trip: Its round trip.

    Attributes:
        state: What it believes.
        end: The loss is over when all before this byte are acknowledged.
        probe_end: What had been sent when a probe was; 0 where none is out.
        probe_is_copy: The probe was a retransmission.
        patience_ns: How long to wait before more is lost, by the newest news; 0 where nothing is waited for.
        timeouts: In a row, without an answer.
        undo: What may be taken back.
    """

    def __init__(self, flight: Flight, window: CongestionWindow, rack: LossDetection, trip: RoundTrip) -> None:
        self.state = State.OPEN
        self.end = 0
        self.probe_end = 0
        self.probe_is_copy = False
        self.patience_ns = 0
        self.timeouts = 0
        self.undo = Undo(flight)
        self._flight, self._window, self._rack, self._trip = flight, window, rack, trip
        self._on_trial = False  # F-RTO: the timeout may have been needless
        self._newly_lost = 0

    @property
    def is_reducing(self) -> bool:
        """Whether the window is being reduced."""
        return self.state in (State.REDUCED, State.RECOVERY)

    def note_duplicate(self, start: int, end: int, prior: int, news: News) -> None:
        """Note that the far end had these bytes already."""
        news.has_duplicate = True
        is_of_probe = self.probe_is_copy and end == self.probe_end
        self._rack.duplicate_seen |= self._rack.reordering_seen and not is_of_probe
        news.delivered += 1
        self._flight.delivered += 1
        self.undo.note_duplicate(end, prior)
        if is_of_probe:
            self.probe_end = 0  # probe and original have arrived: no loss
        for segment in self._flight.segments:
            if segment.is_resent and start <= segment.start and segment.end <= end:
                segment.is_resent = False

    def note_probe_answer(self, news: News) -> None:
        """Learn from what comes back after a probe."""
        acknowledged = self._flight.acknowledged
        if not self.probe_end or acknowledged < self.probe_end:
            return
        if not self.probe_is_copy:
            self.probe_end = 0
        elif acknowledged > self.probe_end:
            self._reduce()  # the probe has filled a hole
            self.state = State.REDUCED
            self._window.end_reduction()
            self._keep_open()
        elif news.is_bare and not news.sacked:
            self.probe_end = 0

    def react(self, now_ns: int, news: News, has_unsent: bool) -> Next:
        """Find losses and ends of losses; return what is to be sent.

        Args:
            now_ns: The clock.
            news: What the acknowledgement told.
            has_unsent: Something has never been sent.
        """
        self.patience_ns = self._newly_lost = 0
        if self.state is State.OPEN:
            self.undo.forget()
        elif self._flight.acknowledged >= self.end:
            self._leave(news)
        if self.state is State.RECOVERY:
            return self._react_in_recovery(now_ns, news)
        then = Next.NOTHING
        if self.state is State.LOSS:
            then = self._react_to_loss(news, has_unsent)
            resent = self._flight.resent
            self._look(now_ns)
            if self.state > State.OPEN and self._flight.resent >= resent:
                return then
        if self.state <= State.DISORDER:
            self._undo_by_duplicates()
        self._look(now_ns)
        if not self._flight.has_lost:
            self._try_to_open()
            return then
        self.enter_recovery()
        return Next.LOST

    def find_lost(self, now_ns: int) -> int:
        """Let RACK mark losses; return how many."""
        marked, self.patience_ns = self._rack.mark(
            now_ns,
            self._flight.segments,
            least_ns=self._trip.least_ns,
            smoothed_ns=self._trip.smoothed_ns,
            sacked=self._flight.sacked,
            recovering=self.state >= State.RECOVERY,
        )
        self._newly_lost += marked
        return marked

    def resize(self, now_ns: int, news: News) -> None:
        """Let the window follow."""
        if self.is_reducing:
            self._window.reduce_to(
                self._flight.in_flight, news.delivered, advanced=news.advanced, lost=self._newly_lost
            )
        elif news.acked:
            self._window.grow(now_ns, news.delivered, self._trip.least_ns)

    def enter_recovery(self) -> None:
        """Begin to repair, and to send less."""
        self.undo.begin(int(self.probe_end > 0 and self.probe_is_copy))
        kept = 0
        if not self.is_reducing:
            kept = self._window.kept_threshold()
            self._reduce()
        self._window.keep_for_undo(kept)
        self.state = State.RECOVERY

    def enter_loss(self, now_ns: int) -> None:
        """After a timeout: take for lost what is overdue, the oldest segment in any case."""
        flight = self._flight
        is_new = self.state < State.RECOVERY
        for segment in flight.segments:
            overdue = segment is flight.segments[0] or self._rack.left_ns(now_ns, segment) <= 0
            if overdue:
                segment.lose()
        anew = (
            self.state <= State.DISORDER
            or self.end <= flight.acknowledged
            or (self.state is State.LOSS and not self.timeouts)
        )
        self._window.collapse(flight.in_flight, anew=anew)
        if anew:
            self.undo.begin(int(self.probe_end > 0 and self.probe_is_copy))
        self._on_trial = is_new or self.timeouts > 0
        self.state = State.LOSS
        self.end, self.probe_end = flight.next_byte, 0

    def _react_in_recovery(self, now_ns: int, news: News) -> Next:
        if news.advanced and self._undo_partly(news):
            return Next.NOTHING
        if self._undo_by_duplicates():
            self._try_to_open()
        self._look(now_ns)
        if self.state is not State.RECOVERY:
            if not self._flight.has_lost:
                return Next.NOTHING
            self.enter_recovery()
        return Next.LOST

    def _look(self, now_ns: int) -> None:
        if self._rack.has_advanced and self._flight.segments:
            self.find_lost(now_ns)

    def _leave(self, news: News) -> None:
        """End what is over: all that had been sent by then has arrived."""
        if self.state is State.REDUCED:
            if self._flight.acknowledged != self.end:
                self._window.end_reduction()
                self.state = State.OPEN
        elif self.state is State.RECOVERY:
            self._recovered(news)
            if self.undo.is_possible:
                self._window.end_reduction()

    def _react_to_loss(self, news: News, has_unsent: bool) -> Next:
        is_over = self._flight.acknowledged >= self.end
        if news.advanced and self._was_needless(news):
            self._undo_loss()
            return Next.NOTHING
        if self._on_trial:
            if news.original:
                self._undo_loss()
                return Next.NOTHING
            if self._flight.next_byte > self.end:
                if news.sacked or (news.is_bare and not news.has_duplicate):
                    self._on_trial = False
            elif news.advanced and not is_over:
                self.end = self._flight.next_byte
                if has_unsent:
                    return Next.NEW
                self._on_trial = False
        if is_over:
            self._recovered(news)
            return Next.NOTHING
        return Next.LOST

    def end_trial(self) -> None:
        """Take the timeout for a real one."""
        self._on_trial = False

    def _reduce(self) -> None:
        self.end, self.probe_end = self._flight.next_byte, 0
        self._window.reduce()

    def _was_needless(self, news: News) -> bool:
        return self.undo.is_proven or self.undo.came_first(news.echoed_ns)

    def _take_back(self, *, unmark: bool) -> None:
        if unmark:
            for segment in self._flight.segments:
                segment.is_lost = False
        self._window.undo()
        self.undo.end()
        self._rack.has_advanced = True

    def _undo_loss(self) -> None:
        self._take_back(unmark=True)
        self.timeouts = 0
        self.state = State.OPEN

    def _undo_by_duplicates(self) -> bool:
        if not self.undo.is_proven:
            return False
        self._rack.note_recovery(needless=True)
        self._take_back(unmark=False)
        return True

    def _undo_partly(self, news: News) -> bool:
        """Undo where a hole was filled by what was merely late; return whether to wait for what is on its way."""
        if not self.undo.came_first(news.echoed_ns):
            return False
        self._rack.reordering_seen = True
        if self._flight.resent:
            return True
        self.undo.forget_if_done()
        self._take_back(unmark=True)
        self._keep_open()
        return False

    def _recovered(self, news: News) -> None:
        if self._was_needless(news):
            self._take_back(unmark=False)
        else:
            self._rack.note_recovery(needless=False)
        self.state = State.OPEN

    def _try_to_open(self) -> None:
        self.undo.forget_if_done()
        if self.state is not State.REDUCED:
            self._keep_open()

    def _keep_open(self) -> None:
        flight = self._flight
        is_clear = not (flight.sacked or flight.has_lost or flight.was_resent)
        self.state = State.OPEN if is_clear else State.DISORDER
