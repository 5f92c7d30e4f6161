"""Panel: what a picture of traces shows where: which panels, in which rows, of which traces. Knows no drawing.

::

    Plotted ..., PlotKind ... --panel_rows--> [delays of one]
                                              [delays of the next]
                                              [rates of all]
                                              [distributions of all | losses in a row of all]
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from netlab.errors import TraceError
from netlab.traces.plotted import Plotted

__all__ = ["MAX_PLOTTED", "Panel", "PanelKind", "PlotKind", "panel_rows"]

MAX_PLOTTED = 6
"""As many as can be told apart by colour."""


class PlotKind(enum.StrEnum):
    """What a person wants to see."""

    TIME = "time"
    CDF = "cdf"
    RUNS = "runs"


class PanelKind(enum.Enum):
    """What a panel shows."""

    DELAYS = enum.auto()
    RATES = enum.auto()
    DISTRIBUTIONS = enum.auto()
    LOSS_RUNS = enum.auto()


class Panel(NamedTuple):
    """A part of a picture with axes of its own.

    Attributes:
        kind: What it shows.
        shown: Of which traces; at least one.
    """

    kind: PanelKind
    shown: list[Plotted]


def panel_rows(plotted: Sequence[Plotted], kinds: Collection[PlotKind]) -> list[list[Panel]]:
    """Return the rows of a picture, those panels of the kinds wanted for which the traces have something to show.

    Raises:
        TraceError: There are too many traces, or there is nothing to be seen.
    """
    if not 1 <= len(plotted) <= MAX_PLOTTED:
        hint = "plot some of them into a picture of their own"
        raise TraceError(f"{len(plotted)} traces: a picture shows 1 to {MAX_PLOTTED}", "plot", hint=hint)
    rows = [row for row in (*_over_time(plotted, kinds), _laid_over(plotted, kinds)) if row]
    if not rows:
        where = plotted[-1].trace.source or "trace"
        raise TraceError(f"nothing to be seen as {' or '.join(kinds)}", where, hint="see: netlab trace show")
    return rows


def _over_time(plotted: Sequence[Plotted], kinds: Collection[PlotKind]) -> Iterator[list[Panel]]:
    """Yield a row for each measured trace, and one for the rates of all."""
    if PlotKind.TIME not in kinds:
        return
    measured = [one for one in plotted if not one.is_asked]
    for one in measured:
        if one.trace.has_delays or one.trace.has_losses:
            yield [Panel(PanelKind.DELAYS, [one])]
    with_rates = [one for one in measured if one.trace.has_rates]
    if with_rates:
        yield [Panel(PanelKind.RATES, with_rates)]


def _laid_over(plotted: Sequence[Plotted], kinds: Collection[PlotKind]) -> list[Panel]:
    """Return the panels in which all traces are laid over one another."""
    with_delays = [one for one in plotted if one.trace.has_delays]
    with_runs = [one for one in plotted if one.trace.has_loss_runs]
    row = []
    if PlotKind.CDF in kinds and with_delays:
        row.append(Panel(PanelKind.DISTRIBUTIONS, with_delays))
    if PlotKind.RUNS in kinds and with_runs:
        row.append(Panel(PanelKind.LOSS_RUNS, with_runs))
    return row
