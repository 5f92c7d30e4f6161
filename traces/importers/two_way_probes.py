"""Probes there and back: packets that a host answered, and what is known of each direction, as up to three traces.

::

    sent  ---------- forward ---------->  answered         round trip: every probe
          <----------- back ------------                   forward:    every probe
                                                           back:       probes that came to be answered

The one-way delays are by two clocks; ``clock_sync.py`` says what to believe of them. Knows no format; irtt's own
JSON and the CSV made of it are read into this.
"""

from __future__ import annotations

import enum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.traces.clock_sync import synchronise
from netlab.traces.trace import UNKNOWN, ClockVerdict, Trace, TracedPath
from netlab.traces.trace_source import TraceSource

__all__ = ["ProbeFate", "TwoWayProbes"]

MAX_UNDIRECTED_RATIO = 0.1
"""Of the losses, how many may be of unknown direction before nothing is claimed of losses a direction."""

Floats = NDArray[np.float64]


class ProbeFate(enum.IntEnum):
    """What became of a probe."""

    ANSWERED = 0
    LOST = 1
    LOST_FORWARD = 2
    LOST_BACK = 3


class TwoWayProbes(Struct, frozen=True, kw_only=True, eq=False):
    """Probes in the order of sending, ``[n]`` each.

    Attributes:
        t_s: When each was sent, from the first.
        round_trip_s: Round trip; NaN where it was lost.
        forward_s: As two clocks have it, possibly negative; NaN where unknown.
        back_s: The same.
        fate: A ``ProbeFate`` each.
        single: Whether it is known that no probe came twice.
    """

    t_s: Floats
    round_trip_s: Floats
    forward_s: Floats
    back_s: Floats
    fate: NDArray[np.int8]
    single: bool

    def traces(self, source: TraceSource, words: str) -> list[Trace]:
        """Return the round trip, and forward and back where anything is known of them.

        Args:
            source: The file.
            words: Its name and format.

        Raises:
            TraceError: The columns are none that a trace may have.
        """
        directed = np.isin(self.fate, (ProbeFate.LOST_FORWARD, ProbeFate.LOST_BACK)).any()
        measured = np.isfinite(self.forward_s).any() or np.isfinite(self.back_s).any()
        found = [self._round_trip(source, words)]
        if directed or measured:
            found += self._one_way(source, words, bool(measured))
        return found

    def _round_trip(self, source: TraceSource, words: str) -> Trace:
        lost = (self.fate != ProbeFate.ANSWERED).astype(np.int8)
        return Trace.of(
            self.t_s,
            path=TracedPath.ROUND_TRIP,
            clocks=ClockVerdict.ONE_CLOCK,
            delay_s=self.round_trip_s,
            lost=lost,
            copies=(1 - lost).astype(np.int32) if self.single else None,
            source=words,
            source_sha256=source.sha256,
        )

    def _one_way(self, source: TraceSource, words: str, measured: bool) -> list[Trace]:
        # The answer comes at about t + round trip by the first clock; a direction's drift is far smaller.
        clocks = synchronise(self.t_s, self.forward_s, self.t_s + np.nan_to_num(self.round_trip_s), self.back_s)
        verdict = clocks.verdict if measured else ClockVerdict.UNKNOWN
        said = f"{words}; {clocks.words}" if measured else words
        forward_lost, back_lost = self._directed_losses()
        sent_back = self.fate != ProbeFate.LOST_FORWARD
        t_back_s = self._answered_at_s(clocks.back_s)[sent_back]
        order = np.argsort(t_back_s, kind="stable")
        forward = Trace.of(
            self.t_s,
            path=TracedPath.FORWARD,
            clocks=verdict,
            delay_s=clocks.forward_s,
            lost=forward_lost,
            source=said,
            source_sha256=source.sha256,
        )
        back = Trace.of(
            t_back_s[order],
            path=TracedPath.BACK,
            clocks=verdict,
            delay_s=clocks.back_s[sent_back][order],
            lost=back_lost[sent_back][order],
            source=said,
            source_sha256=source.sha256,
        )
        return [forward, back]

    def _directed_losses(self) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Return what is known of losses forward and back."""
        forward = (self.fate == ProbeFate.LOST_FORWARD).astype(np.int8)
        back = (self.fate == ProbeFate.LOST_BACK).astype(np.int8)
        undirected = self.fate == ProbeFate.LOST
        losses = int(np.count_nonzero(self.fate))
        if np.count_nonzero(undirected) > MAX_UNDIRECTED_RATIO * losses:
            undirected = np.ones_like(undirected)  # the rest alone would be too good a direction
        forward[undirected] = UNKNOWN
        back[undirected] = UNKNOWN
        return forward, back

    def _answered_at_s(self, back_s: Floats) -> Floats:
        """Return when each answer was sent; of one that is lost, after the usual time."""
        after_s = self.round_trip_s - back_s
        known = np.isfinite(after_s)
        usual_s = float(np.median(after_s[known])) if known.any() else 0.0
        at_s: Floats = self.t_s + np.maximum(np.where(known, after_s, usual_s), 0.0)
        return at_s
