"""Trace: timed samples of one path, one direction or round trip, and what is known of where they come from.

::

    importer | capture | prober  -->  Trace  -->  trace file, fit, schedule, replay, conformance

Columns of numbers and a few words about them. Knows no format and no file; ``trace_file.py`` reads and writes it.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.errors import TraceError

__all__ = [
    "BIN_RULE",
    "MAX_ROWS",
    "MAX_TIME_S",
    "UNKNOWN",
    "ClockVerdict",
    "LossTimes",
    "RowError",
    "Trace",
    "TracedPath",
]

UNKNOWN = -1
"""Stands in ``lost`` and ``copies`` where nothing is known; unknown times and rates are not numbers (NaN)."""

MAX_TIME_S = 1e10
"""No sample is later: more than three hundred years, so that no sum of times overflows."""

MAX_ROWS = 10_000_000
"""The most rows a trace may have that is read from a file: four days at 25 packets a second, 290 MB in memory."""


BIN_RULE = f"above 0 and at most {MAX_TIME_S:g} s"


class TracedPath(enum.StrEnum):
    """What a trace's samples are of."""

    ROUND_TRIP = "round-trip"
    FORWARD = "forward"
    BACK = "back"


class ClockVerdict(enum.StrEnum):
    """What is known of the clocks that a trace's delays were measured by.

    ONE_CLOCK: one clock stamped both ends of each delay: a round trip, or a lab within one kernel.
    IN_STEP: two clocks, not shown to be out of step: the delays are taken as they are, and may be off by an offset
        that the path's own asymmetry hides, as the source says.
    CORRECTED: two clocks, their offset and drift estimated from the lower envelope of both directions: the
        delays are absolute if the shortest forward and back are alike.
    VARIATION_ONLY: two clocks out of step and not to be corrected: the delays are above the shortest one.
    UNKNOWN: nobody says.
    """

    ONE_CLOCK = "one-clock"
    IN_STEP = "in-step"
    CORRECTED = "corrected"
    VARIATION_ONLY = "variation-only"
    UNKNOWN = "unknown"


class LossTimes(enum.StrEnum):
    """What is known of when packets were lost.

    COUNTED: of each packet by itself.
    SPREAD: of stretches of time it is known how many were lost, not which: ``lost`` has them evenly spread, so
        that their share means something and their runs nothing.
    """

    COUNTED = "counted"
    SPREAD = "spread"


class RowError(TraceError):
    """Raised when a row of a trace breaks a rule.

    Args:
        row: Which, counted from 0: whoever has read it from a file knows its line.
        rule: The value and the rule.
        where: Where the trace comes from.
    """

    def __init__(self, row: int, rule: str, where: str) -> None:
        super().__init__(f"row {row + 1}: {rule}", where)
        self.row = row
        self.rule = rule


class Trace(Struct, frozen=True, kw_only=True, eq=False):
    """Timed samples of one path.

    A row is a packet (its delay, whether it was lost, how many copies came), or a stretch of time that begins
    there (its rate), or both.

    Attributes:
        path: What they are of.
        clocks: What is known of the clocks.
        t_s: When each was sent, from the trace's beginning; never decreasing, ``[n]``.
        delay_s: Delay of the first copy that arrived; NaN where it is lost or unknown, ``[n]``.
        lost: 1 lost, 0 arrived, ``UNKNOWN``, ``[n]``.
        copies: How many copies arrived, or ``UNKNOWN``, ``[n]``.
        rate_bps: Bits a second from this time on; NaN where unknown, ``[n]``.
        bin_s: How long each rate holds; None where rates hold until the next row, or there are none.
        source: Where it comes from, for a person: a file's name, the format it had, a host.
        source_sha256: Of the file it was read from, in hex; empty where it was no file.
        losses: Whether it is known which packets were lost, or only how many.

    Raises:
        TraceError: Columns of unequal lengths, times that go back, a negative delay, a lost packet that arrived.
    """

    path: TracedPath
    clocks: ClockVerdict
    t_s: NDArray[np.float64]
    delay_s: NDArray[np.float64]
    lost: NDArray[np.int8]
    copies: NDArray[np.int32]
    rate_bps: NDArray[np.float64]
    bin_s: float | None = None
    source: str = ""
    source_sha256: str = ""
    losses: LossTimes = LossTimes.COUNTED

    def __post_init__(self) -> None:
        for name in ("t_s", "delay_s", "lost", "copies", "rate_bps"):
            column: NDArray[Any] = getattr(self, name)
            if column.ndim != 1 or column.size != self.t_s.size:
                raise TraceError(f"{name} has the shape {column.shape}, t_s has {self.t_s.shape}", self._where)
            column.flags.writeable = False
        self._refuse(~(self.t_s >= 0.0), "t_s", "must be 0 or later")
        self._refuse(self.t_s > MAX_TIME_S, "t_s", f"must be at most {MAX_TIME_S:g} s")
        self._refuse(np.diff(self.t_s, prepend=0.0) < 0.0, "t_s", "must not be before the row above")
        self._refuse(self.delay_s < 0.0, "delay_s", "must not be negative")
        self._refuse(self.delay_s > MAX_TIME_S, "delay_s", f"must be at most {MAX_TIME_S:g} s")
        self._refuse(self.rate_bps < 0.0, "rate_bps", "must not be negative")
        self._refuse(np.isinf(self.rate_bps), "rate_bps", "must be finite")
        self._refuse((self.lost < UNKNOWN) | (self.lost > 1), "lost", "must be 0 or 1")
        self._refuse(self.copies < UNKNOWN, "copies", "must not be negative")
        arrived = (self.copies > 0) | ~np.isnan(self.delay_s)
        self._refuse((self.lost == 1) & arrived, "lost", "must not be 1 for a packet that arrived")
        self._refuse((self.lost == 0) & (self.copies == 0), "copies", "must not be 0 for a packet that arrived")
        if self.bin_s is not None and not 0.0 < self.bin_s <= MAX_TIME_S:
            raise TraceError(f"bin_s = {self.bin_s!r}: must be {BIN_RULE}", self._where)

    def _refuse(self, broken: NDArray[np.bool_], name: str, rule: str) -> None:
        if broken.any():
            row = int(np.argmax(broken))
            raise RowError(row, f"{name} = {getattr(self, name)[row]}: {rule}", self._where)

    @property
    def _where(self) -> str:
        return self.source or "trace"

    @classmethod
    def of(
        cls,
        t_s: NDArray[np.float64],
        *,
        path: TracedPath,
        clocks: ClockVerdict,
        delay_s: NDArray[np.float64] | None = None,
        lost: NDArray[np.int8] | None = None,
        copies: NDArray[np.int32] | None = None,
        rate_bps: NDArray[np.float64] | None = None,
        **rest: Any,
    ) -> Trace:
        """Return a trace of the columns that are known; the others are unknown throughout."""
        n = t_s.size

        def numbers(column: NDArray[np.float64] | None) -> NDArray[np.float64]:
            return np.full(n, np.nan) if column is None else np.array(column, dtype=np.float64)

        return cls(
            path=path,
            clocks=clocks,
            t_s=np.array(t_s, dtype=np.float64),
            delay_s=numbers(delay_s),
            lost=np.full(n, UNKNOWN, dtype=np.int8) if lost is None else np.array(lost, dtype=np.int8),
            copies=np.full(n, UNKNOWN, dtype=np.int32) if copies is None else np.array(copies, dtype=np.int32),
            rate_bps=numbers(rate_bps),
            **rest,
        )

    @property
    def n(self) -> int:
        """Return how many rows there are."""
        return int(self.t_s.size)

    @property
    def duration_s(self) -> float:
        """Return how long it lasts: to the last row, and for as long as that one holds."""
        if not self.n:
            return 0.0
        return float(self.t_s[-1]) + (self.bin_s if self.bin_s is not None else self.interval_s)

    @property
    def interval_s(self) -> float:
        """Return the usual time from one row to the next, their median; 0 for fewer than two."""
        return float(np.median(np.diff(self.t_s))) if self.n > 1 else 0.0

    @property
    def delays_s(self) -> NDArray[np.float64]:
        """Return the delays that are known, in the order of sending."""
        return self.delay_s[~np.isnan(self.delay_s)]

    @property
    def has_delays(self) -> bool:
        """Tell whether any delay is known."""
        return bool((~np.isnan(self.delay_s)).any())

    @property
    def has_losses(self) -> bool:
        """Tell whether it is known of any packet whether it was lost."""
        return bool((self.lost != UNKNOWN).any())

    @property
    def has_loss_runs(self) -> bool:
        """Tell whether it is known which packets were lost, and so how many in a row."""
        return self.has_losses and self.losses is LossTimes.COUNTED

    @property
    def has_rates(self) -> bool:
        """Tell whether any rate is known."""
        return bool((~np.isnan(self.rate_bps)).any())

    @property
    def loss_ratio(self) -> float | None:
        """Return the share of packets lost among those of which it is known; None where it is of none."""
        known = self.lost[self.lost != UNKNOWN]
        return float(known.mean()) if known.size else None
