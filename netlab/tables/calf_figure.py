"""calf_figure: the tables as a picture; a door to matplotlib.

No display and nobody's own settings. What is drawn is in the CalfTable; here are axes and colours.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from netlab.errors import FeatureMissing
from netlab.install_hint import install_hint
from netlab.tables.calf_rows import PAPER, Section
from netlab.tables.calf_table import CalfTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_calf", "require_picture"]

_WIDTH_INCHES, _PANEL_INCHES, _DOTS_PER_INCH = 12.0, 3.6, 100
# Okabe and Ito's colours, which people with any kind of colour vision tell apart.
_COLOURS = ("#0072B2", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000")
_PAPER_MARKS = {"network-aware": "*", "baseline": "x"}
_STYLE = {"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "axes.spines.top": False,
          "axes.spines.right": False, "text.parse_math": False}  # fmt: skip


def require_picture() -> None:
    """Make sure, before anything is played, that a picture can be drawn.

    Raises:
        FeatureMissing: matplotlib is not installed.
    """
    _own_style()


def draw_calf(table: CalfTable) -> bytes:
    """Return the tables as a PNG, a panel each; no date and no version in it.

    Raises:
        FeatureMissing: matplotlib is not installed.
    """
    file = io.BytesIO()
    with _own_style():
        from matplotlib.figure import Figure

        size = (_WIDTH_INCHES, _PANEL_INCHES * len(table.sections))
        figure = Figure(figsize=size, dpi=_DOTS_PER_INCH, layout="constrained")
        many = figure.subplots(len(table.sections), 1, squeeze=False)
        for axes, section in zip(many[:, 0], table.sections, strict=True):
            _draw(axes, section, table)
        figure.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()


def _own_style() -> Any:
    """Return a context in which matplotlib does as it does out of the box, and as we say."""
    try:
        import matplotlib.style
    except ImportError as error:
        words = "matplotlib is not installed"
        raise FeatureMissing("draw the tables", words=words, hint=install_hint("plot")) from error
    return matplotlib.style.context(["default", _STYLE])


def _draw(axes: Axes, section: Section, table: CalfTable) -> None:
    """Draw a table: networks from left to right, a colour a row, bars from the least seed to the greatest."""
    shift = 0.8 / max(len(section.rows), 1)
    for number, row in enumerate(section.rows):
        entries = [(place, table.entry(section.name, row.name, network))
                   for place, network in enumerate(section.networks)]  # fmt: skip
        played = [(place, entry) for place, entry in entries if entry is not None]
        if not played:
            continue
        x = [place - 0.4 + shift * (number + 0.5) for place, _ in played]
        y = [entry.median for _, entry in played]
        spread = [[entry.median - entry.least for _, entry in played],
                  [entry.greatest - entry.median for _, entry in played]]  # fmt: skip
        axes.errorbar(
            x,
            y,
            yerr=spread,
            fmt="o",
            color=_COLOURS[number % len(_COLOURS)],
            label=row.name,
            capsize=2,
            markersize=4,
        )
    if any(row.paper for row in section.rows):
        _draw_paper(axes, section)
    axes.set_xticks(range(len(section.networks)), [name.replace("@", "\n@") for name in section.networks])
    axes.set_xlim(-0.5, len(section.networks) - 0.5)
    axes.set_ylim(0.0, section.most * 1.04)
    axes.set_ylabel(section.unit)
    axes.set_title(section.title, loc="left")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def _draw_paper(axes: Axes, section: Section) -> None:
    for name, figures in PAPER[section.task].items():
        found = [(place, figures.get(network.partition("@")[0])) for place, network in enumerate(section.networks)]
        shown = [(place, figure) for place, figure in found if figure is not None]
        x, y = zip(*shown, strict=True)
        axes.plot(x, y, _PAPER_MARKS[name], color="#666666", markersize=8, label=f"the paper's {name}")
