"""trace_figure: traces as a picture. The one door to matplotlib.

::

    Plotted(label, trace) ... --draw_traces--> TraceFigure --to_bytes--> PNG | SVG
       one panel a trace: delay over time, losses below, outages shaded
       rates over time  |  distributions, one over another  |  losses in a row, side by side

Roof. No display and nobody's own settings: the same traces give the same bytes. What is drawn, as numbers, comes
from ``traces/trace_series.py``, in which panel from ``traces/panel.py``; here are axes and colours.
"""

from __future__ import annotations

import enum
import io
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from netlab.errors import FeatureMissing
from netlab.install_hint import install_hint
from netlab.traces.axis_unit import AxisUnit
from netlab.traces.loss_run import loss_runs
from netlab.traces.panel import Panel, PanelKind, PlotKind, panel_rows
from netlab.traces.plotted import Plotted, delay_name
from netlab.traces.trace_series import (
    Series,
    delay_distribution,
    delay_series,
    loss_marks,
    outages,
    rate_series,
    run_bins,
    runs_by_length,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from netlab.traces.trace import Trace

__all__ = ["PictureFormat", "TraceFigure", "draw_traces"]

WIDTH_PIXELS, HEIGHT_PIXELS, DOTS_PER_INCH = 1200, 800, 100
_ROW_PIXELS = 260
_COLUMNS = 1000
_DISTRIBUTION_POINTS = 2000
_OUTAGE_WIDTH = 1 / 500

# Okabe and Ito's colours, which people with any kind of colour vision tell apart; vermilion is for losses alone.
_COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LOSS_COLOUR = "#D55E00"
_ASKED_COLOUR = "#666666"
_STYLE = {
    "font.size": 10,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,  # labels are names of files, not formulas
}


class PictureFormat(enum.StrEnum):
    """How a picture is stored."""

    PNG = "png"
    SVG = "svg"


class TraceFigure:
    """A drawn picture.

    Args:
        figure: With everything on it.
    """

    def __init__(self, figure: Figure) -> None:
        self.figure = figure

    def to_bytes(self, picture_format: PictureFormat) -> bytes:
        """Return the file; no date and no version in it."""
        metadata: dict[str, Any] = {"Date": None, "Creator": "netlab"}
        if picture_format is PictureFormat.PNG:
            metadata = {"Software": None}
        file = io.BytesIO()
        with _own_style():
            self.figure.savefig(file, format=picture_format.value, metadata=metadata)
        return file.getvalue()


def draw_traces(plotted: Sequence[Plotted], kinds: Collection[PlotKind] = tuple(PlotKind)) -> TraceFigure:
    """Draw traces, those panels of the kinds wanted for which they have something to show.

    Args:
        plotted: What was asked for first, where there is such.
        kinds: What is to be seen.

    Raises:
        FeatureMissing: matplotlib is not installed.
        TraceError: There are too many of them, or nothing to be seen.
    """
    rows = panel_rows(plotted, kinds)
    colours = _Colours(plotted)
    with _own_style():
        figure = _blank(len(rows))
        grid = figure.add_gridspec(len(rows), 2)
        for number, row in enumerate(rows):
            for column, panel in enumerate(row):
                axes = figure.add_subplot(grid[number, column] if len(row) > 1 else grid[number, :])
                _DRAW[panel.kind](axes, panel, colours)
        if len(plotted) > 1:
            _add_key(figure, plotted, colours)
        # Once and for all: laid out again for another format, it would move by a hair.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return TraceFigure(figure)


def _own_style() -> Any:
    """Return a context in which matplotlib does as it does out of the box, and as we say."""
    try:
        import matplotlib.style
    except ImportError as error:
        words = "matplotlib is not installed"
        raise FeatureMissing("draw a picture", words=words, hint=install_hint("plot")) from error
    # The salt of an SVG's names is random unless given.
    return matplotlib.style.context(["default", {**_STYLE, "svg.hashsalt": "netlab"}])


def _blank(rows: int) -> Figure:
    from matplotlib.figure import Figure

    height_pixels = max(HEIGHT_PIXELS, rows * _ROW_PIXELS)
    size = (WIDTH_PIXELS / DOTS_PER_INCH, height_pixels / DOTS_PER_INCH)
    return Figure(figsize=size, dpi=DOTS_PER_INCH, layout="constrained")


class _Colours:
    """A colour for each trace of a picture, the same in every panel."""

    def __init__(self, plotted: Sequence[Plotted]) -> None:
        self._measured = [one for one in plotted if not one.is_asked]

    def of(self, one: Plotted) -> str:
        return _ASKED_COLOUR if one.is_asked else _COLOURS[self._measured.index(one) % len(_COLOURS)]


def _draw_delays(axes: Axes, panel: Panel, colours: _Colours) -> None:
    (one,) = panel.shown
    trace = one.trace
    time = AxisUnit.for_time(trace.duration_s)
    series = delay_series(trace, _COLUMNS)
    delay = AxisUnit.for_delay(float(series.high.max(initial=0.0)))
    _draw_series(axes, series, time, delay, colours.of(one), "delay")
    _draw_losses(axes, trace, time)
    axes.set_xlim(0.0, max(trace.duration_s / time.size, 1e-9))
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel(f"time [{time.name}]")
    axes.set_ylabel(f"{delay_name([one])} [{delay.name}]")
    axes.set_title(one.about, loc="left", fontsize=11)
    # In the title's line, where it hides nothing.
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, frameon=False, borderaxespad=0.2)


def _draw_losses(axes: Axes, trace: Trace, time: AxisUnit) -> None:
    for index, outage in enumerate(outages(trace, trace.duration_s * _OUTAGE_WIDTH)):
        axes.axvspan(
            outage.begin_s / time.size, outage.end_s / time.size, color=_LOSS_COLOUR, alpha=0.15, linewidth=0,
            label="outage" if index == 0 else None,
        )  # fmt: skip
    lost_s = loss_marks(trace, _COLUMNS)
    if lost_s.size:
        # In a strip below the delays, in the axes' own height, so that they hide nothing.
        axes.plot(
            lost_s / time.size, np.full(lost_s.size, -0.03), "|", color=_LOSS_COLOUR, markersize=9, label="lost",
            transform=axes.get_xaxis_transform(), clip_on=False,
        )  # fmt: skip
        axes.tick_params(axis="x", pad=10)


def _draw_series(axes: Axes, series: Series, time: AxisUnit, value: AxisUnit, colour: str, label: str) -> None:
    t = series.t_s / time.size
    if series.is_band:
        low, high = series.low / value.size, series.high / value.size
        axes.fill_between(t, low, high, color=colour, alpha=0.3, linewidth=0, label=f"{label}, least to greatest")
        axes.plot(t, series.middle / value.size, color=colour, linewidth=0.8, label=f"{label}, median")
    elif t.size:
        axes.plot(t, series.middle / value.size, ".", color=colour, markersize=3, label=label)


def _draw_rates(axes: Axes, panel: Panel, colours: _Colours) -> None:
    shown = panel.shown
    time = AxisUnit.for_time(max(one.trace.duration_s for one in shown))
    many = [rate_series(one.trace, _COLUMNS) for one in shown]
    unit = AxisUnit.for_rate(max(float(series.high.max()) for series in many))
    for one, series in zip(shown, many, strict=True):
        colour = colours.of(one)
        # A rate holds until the next one, so the last has to be drawn to the end.
        t = np.append(series.t_s, max(one.trace.duration_s, series.t_s[-1])) / time.size
        low, middle, high = (np.append(v, v[-1]) / unit.size for v in (series.low, series.middle, series.high))
        if series.is_band:
            axes.fill_between(t, low, high, step="post", color=colour, alpha=0.3, linewidth=0)
        axes.step(t, middle, where="post", color=colour, linewidth=1.0)
    axes.set_xlim(0.0, max(one.trace.duration_s for one in shown) / time.size)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel(f"time [{time.name}]")
    axes.set_ylabel(f"rate [{unit.name}]")
    axes.set_title(shown[0].about if len(shown) == 1 else "Rates", loc="left", fontsize=11)


def _draw_distributions(axes: Axes, panel: Panel, colours: _Colours) -> None:
    steps = [delay_distribution(one.trace, _DISTRIBUTION_POINTS) for one in panel.shown]
    unit = AxisUnit.for_delay(max(float(delays_s[-1]) for delays_s, _ in steps))
    for one, (delays_s, shares) in zip(panel.shown, steps, strict=True):
        axes.step(
            np.concatenate([delays_s[:1], delays_s]) / unit.size, np.concatenate([[0.0], shares]), where="post",
            color=colours.of(one), linestyle="--" if one.is_asked else "-", linewidth=1.6,
        )  # fmt: skip
    axes.set_ylim(0.0, 1.0)
    axes.set_xlabel(f"{delay_name(panel.shown)} [{unit.name}]")
    axes.set_ylabel("share of packets that arrived")
    axes.set_title("Distribution of the delay", loc="left", fontsize=11)


def _add_key(figure: Figure, plotted: Sequence[Plotted], colours: _Colours) -> None:
    """Say below the panels which colour is which trace, and how far its delays are from the first one's."""
    from matplotlib.patches import Patch

    patches = [
        Patch(
            facecolor=colours.of(one), hatch="//" if one.is_asked else None, edgecolor="white",
            label=_visible(one.beside(plotted[0])),
        )
        for one in plotted
    ]  # fmt: skip
    figure.legend(handles=patches, loc="outside lower left", frameon=False)


def _visible(label: str) -> str:
    """Return a label that matplotlib shows: those that begin with a low line it hides."""
    return f" {label}" if label.startswith("_") else label


def _draw_runs(axes: Axes, panel: Panel, colours: _Colours) -> None:
    shown = panel.shown
    bins = run_bins(max(int(loss_runs(one.trace).max(initial=1)) for one in shown))
    runs = [runs_by_length(one.trace, bins) for one in shown]
    places = np.arange(len(bins))
    width = 0.8 / len(shown)
    for index, one in enumerate(shown):
        axes.bar(
            places - 0.4 + width * (index + 0.5), runs[index], width,
            color=colours.of(one), hatch="//" if one.is_asked else None, edgecolor="white", linewidth=0.5,
        )  # fmt: skip
    axes.set_xticks(places, [one.name for one in bins])
    axes.set_yscale("symlog", linthresh=1.0)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylim(0.0, 1.5 * max(float(heights.max()) for heights in runs) or 1.0)
    axes.set_xlabel("packets lost in a row")
    axes.set_ylabel("runs per 10,000 packets")
    axes.set_title("Losses in a row", loc="left", fontsize=11)


_DRAW: dict[PanelKind, Callable[[Axes, Panel, _Colours], None]] = {
    PanelKind.DELAYS: _draw_delays,
    PanelKind.RATES: _draw_rates,
    PanelKind.DISTRIBUTIONS: _draw_distributions,
    PanelKind.LOSS_RUNS: _draw_runs,
}
