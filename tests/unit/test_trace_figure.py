"""The picture: what is drawn is where it belongs, and the same traces give the same file."""

from __future__ import annotations

import builtins
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

from netlab.errors import FeatureMissing, TraceError
from netlab.install_hint import install_hint
from netlab.trace_figure import PictureFormat, TraceFigure, draw_traces
from netlab.traces.asked_trace import asked_trace
from netlab.traces.panel import MAX_PLOTTED, PlotKind
from netlab.traces.plotted import Plotted
from netlab.traces.presets import parse_preset
from netlab.traces.trace import ClockVerdict, LossTimes, Trace, TracedPath

LOSS_COLOUR = (0xD5 / 255, 0x5E / 255, 0)


def packets(delay_s: list[float], *, path: TracedPath = TracedPath.FORWARD, **fields: Any) -> Trace:
    """Return a trace of a packet each 0.1 s; not a number is lost."""
    delays_s = np.array(delay_s)
    fields = {"clocks": ClockVerdict.ONE_CLOCK, **fields}
    lost = np.isnan(delays_s).astype(np.int8)
    return Trace.of(np.arange(delays_s.size) * 0.1, path=path, delay_s=delays_s, lost=lost, **fields)


NAN = float("nan")
TWENTY = packets([0.01, 0.02, NAN, 0.03, 0.02, NAN, NAN, NAN, NAN, 0.05, *[0.02] * 10])


def lines(figure: TraceFigure, panel: int) -> dict[str, Any]:
    return {str(line.get_label()): line for line in figure.figure.axes[panel].get_lines()}


def test_delays_and_losses_are_drawn_where_they_are() -> None:
    figure = draw_traces([Plotted("ping.txt", TWENTY)])
    over_time, distribution, runs = figure.figure.axes
    drawn = lines(figure, 0)
    assert drawn["delay"].get_xdata() == pytest.approx(TWENTY.t_s[~np.isnan(TWENTY.delay_s)])
    assert drawn["delay"].get_ydata() == pytest.approx(1e3 * TWENTY.delays_s)
    assert drawn["lost"].get_xdata() == pytest.approx([0.2, 0.5, 0.6, 0.7, 0.8])
    (outage,) = over_time.patches
    assert outage.get_x() == pytest.approx(0.5)
    assert outage.get_width() == pytest.approx(0.4)
    assert outage.get_facecolor()[:3] == pytest.approx(LOSS_COLOUR)
    assert over_time.get_xlabel() == "time [s]"
    assert over_time.get_ylabel() == "delay [ms]"
    assert over_time.get_title(loc="left") == "ping.txt (forward, n = 20, 25 % lost)"
    assert over_time.get_legend() is not None
    (stairs,) = distribution.get_lines()
    assert stairs.get_xdata() == pytest.approx([10, 10, 20, 30, 50])
    assert stairs.get_ydata() == pytest.approx([0, 1 / 15, 13 / 15, 14 / 15, 1])
    assert [bar.get_height() for bar in runs.patches] == pytest.approx([500, 0, 0, 500])
    assert [tick.get_text() for tick in runs.get_xticklabels()] == ["1", "2", "3", "4"]


def test_everything_over_time_is_in_the_unit_of_its_axis() -> None:
    delays_s = np.full(121, 0.02)
    delays_s[[10, 11, 12, 50]] = NAN
    t_s = np.arange(121) * 60.0
    lost = np.isnan(delays_s).astype(np.int8)
    two_hours = Trace.of(
        t_s, path=TracedPath.FORWARD, clocks=ClockVerdict.ONE_CLOCK, delay_s=delays_s, lost=lost,
        rate_bps=np.full(121, 1e6),
    )  # fmt: skip
    figure = draw_traces([Plotted("x", two_hours)], [PlotKind.TIME])
    over_time, rates = figure.figure.axes
    drawn = lines(figure, 0)
    assert (over_time.get_xlabel(), rates.get_xlabel()) == ("time [min]", "time [min]")
    assert drawn["lost"].get_xdata() == pytest.approx([10, 11, 12, 50])
    assert drawn["delay"].get_xdata() == pytest.approx(np.flatnonzero(lost == 0))
    (outage,) = over_time.patches
    assert (outage.get_x(), outage.get_width()) == pytest.approx((10, 3))
    (stairs,) = rates.get_lines()
    assert max(stairs.get_xdata()) == pytest.approx(121)  # the last packet stands for a minute, too
    assert over_time.get_xlim() == rates.get_xlim() == pytest.approx((0, 121))


def test_rates_hold_until_the_next_and_the_last_to_the_end() -> None:
    trace = Trace.of(
        np.array([0.0, 1.0, 5.0]), path=TracedPath.BACK, clocks=ClockVerdict.UNKNOWN,
        rate_bps=np.array([1e6, 3e6, 2e6]), bin_s=2.0,
    )  # fmt: skip
    figure = draw_traces([Plotted("bus.txt", trace)])
    (axes,) = figure.figure.axes
    (line,) = axes.get_lines()
    assert line.get_drawstyle() == "steps-post"
    assert line.get_xdata() == pytest.approx([0, 1, 5, 7])
    assert line.get_ydata() == pytest.approx([1, 3, 2, 2])
    assert axes.get_ylabel() == "rate [Mbit/s]"


def test_many_packets_are_a_band_that_holds_the_worst() -> None:
    n = 100_000
    delay_s = np.full(n, 0.02)
    delay_s[77_777] = 1.5
    trace = Trace.of(
        np.arange(n) / 100, path=TracedPath.FORWARD, clocks=ClockVerdict.ONE_CLOCK, delay_s=delay_s,
        lost=np.zeros(n, dtype=np.int8),
    )  # fmt: skip
    figure = draw_traces([Plotted("long", trace)], [PlotKind.TIME])
    (axes,) = figure.figure.axes
    (band,) = axes.collections
    corners = band.get_paths()[0].vertices
    assert corners[:, 1].max() == pytest.approx(1500.0)
    assert corners[np.argmax(corners[:, 1]), 0] == pytest.approx(777.77 / 60, abs=0.02)
    assert axes.get_xlabel() == "time [min]"


def test_asked_and_delivered_lie_over_one_another_with_their_distance() -> None:
    pair = parse_preset("delay=30ms,jitter=5ms,loss.mean=5%,loss.burst=4")
    asked = Plotted("asked: p", asked_trace(pair, TracedPath.FORWARD, 50.0, 2000), is_asked=True)
    same = Plotted("same", asked.trace)
    other = Plotted("other", packets([0.030] * 50))
    back = Plotted("back", packets([0.030] * 50, path=TracedPath.BACK))
    figure = draw_traces([asked, same, other, back])
    titles = [axes.get_title(loc="left") for axes in figure.figure.axes]
    assert [title.split(" (")[0] for title in titles[:3]] == ["same", "other", "back"], (
        "what was asked has no times"
    )
    distribution, runs = figure.figure.axes[3:]
    assert [line.get_linestyle() for line in distribution.get_lines()] == ["--", "-", "-", "-"]
    (key,) = figure.figure.legends
    words = [text.get_text() for text in key.get_texts()]
    assert words[0].startswith("asked: p (forward, n = 2,000")
    assert "KS" not in words[0]
    assert "KS" not in words[1], "it is the very trace"
    assert "from the first: KS 0.5" in words[2]
    assert "KS" not in words[3], "another path"
    colours = [line.get_color() for line in distribution.get_lines()]
    assert len(set(colours)) == 4
    assert len(runs.patches) == 4 * len(runs.get_xticks())


def test_unsynchronised_clocks_are_named_on_the_axis() -> None:
    trace = packets([0.001, 0.002], clocks=ClockVerdict.VARIATION_ONLY)
    figure = draw_traces([Plotted("x", trace)])
    assert figure.figure.axes[0].get_ylabel() == "delay above the shortest [ms]"


def test_delays_above_the_shortest_are_not_compared_with_absolute_ones() -> None:
    absolute = Plotted("absolute", packets([0.030, 0.032]))
    above = Plotted("above", packets([0.0, 0.002], clocks=ClockVerdict.VARIATION_ONLY))
    wider = Plotted("wider", packets([0.0, 0.004], clocks=ClockVerdict.VARIATION_ONLY))
    figure = draw_traces([absolute, above], [PlotKind.CDF])
    (axes,), (key,) = figure.figure.axes, figure.figure.legends
    assert axes.get_xlabel() == "delay [ms]"
    assert [text.get_text() for text in key.get_texts()] == [
        "absolute (forward, n = 2, 0 % lost)",
        "above (forward, n = 2, 0 % lost); delay above the shortest",
    ]
    assert absolute.distances_from(above) == ""
    assert wider.distances_from(above) == "KS 0.5, W1 1 ms"
    figure = draw_traces([above, wider], [PlotKind.CDF])
    assert figure.figure.axes[0].get_xlabel() == "delay above the shortest [ms]"


def test_losses_of_which_only_the_number_is_known_are_neither_outages_nor_runs() -> None:
    trace = packets([0.01, NAN, NAN, NAN, 0.02], losses=LossTimes.SPREAD)
    figure = draw_traces([Plotted("x", trace)])
    over_time, distribution = figure.figure.axes
    assert "lost" in lines(figure, 0)
    assert not over_time.patches
    assert over_time.get_title(loc="left") == "x (forward, n = 5, 60 % lost)"
    assert distribution.get_xlabel() == "delay [ms]"


@pytest.mark.parametrize("picture_format", PictureFormat)
def test_the_same_traces_give_the_same_bytes(picture_format: PictureFormat) -> None:
    first = draw_traces([Plotted("x", TWENTY)]).to_bytes(picture_format)
    figure = draw_traces([Plotted("x", TWENTY)])
    for other in PictureFormat:  # drawn in one format, it is still the same in another
        figure.to_bytes(other)
    assert figure.to_bytes(picture_format) == first
    assert draw_traces([Plotted("y", TWENTY)]).to_bytes(picture_format) != first


def test_another_process_with_settings_of_its_own_gives_the_same_bytes(tmp_path: Any) -> None:
    (tmp_path / "matplotlibrc").write_text(
        "font.size: 30\nsavefig.dpi: 7\nsvg.hashsalt: mine\nlines.linewidth: 9\n"
    )
    script = (
        "import sys; sys.path.insert(0, 'tests/unit')\n"
        "from test_trace_figure import *\n"
        "sys.stdout.buffer.write(draw_traces([Plotted('x', TWENTY)]).to_bytes(PictureFormat.SVG))"
    )
    environment = {
        "PATH": "/usr/bin:/bin",
        "MPLCONFIGDIR": str(tmp_path),
        "SOURCE_DATE_EPOCH": "1",
        "HOME": str(tmp_path),
    }
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
    assert done.stdout == draw_traces([Plotted("x", TWENTY)]).to_bytes(PictureFormat.SVG)


def test_a_png_is_1200_by_800_and_an_svg_is_xml() -> None:
    figure = draw_traces([Plotted("x", TWENTY)])
    png = figure.to_bytes(PictureFormat.PNG)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", png[16:24]) == (1200, 800)
    assert b"tEXt" not in png
    root = ET.fromstring(figure.to_bytes(PictureFormat.SVG))
    assert root.tag.endswith("svg")
    assert root.get("width") == "864pt"


def test_a_name_is_shown_as_it_is() -> None:
    """Neither as a formula nor, for its low line, not at all."""
    figure = draw_traces([Plotted("a", TWENTY), Plotted("_$x_1^2$ {}", packets([0.1, 0.2]))])
    (key,) = figure.figure.legends
    assert key.get_texts()[1].get_text().startswith(" _$x_1^2$ {} (forward")
    figure.to_bytes(PictureFormat.PNG)


def test_kinds() -> None:
    for kind, panels in ((PlotKind.TIME, 1), (PlotKind.CDF, 1), (PlotKind.RUNS, 1)):
        assert len(draw_traces([Plotted("x", TWENTY)], [kind]).figure.axes) == panels


def test_what_cannot_be_drawn_is_refused() -> None:
    rates = Trace.of(np.arange(3.0), path=TracedPath.BACK, clocks=ClockVerdict.UNKNOWN, rate_bps=np.ones(3))
    with pytest.raises(TraceError, match="nothing to be seen as cdf or runs"):
        draw_traces([Plotted("x", rates)], [PlotKind.CDF, PlotKind.RUNS])
    with pytest.raises(TraceError, match="0 traces"):
        draw_traces([])
    with pytest.raises(TraceError, match="7 traces"):
        draw_traces([Plotted("x", TWENTY)] * (MAX_PLOTTED + 1))


def test_odd_traces_are_drawn() -> None:
    empty = packets([])
    with pytest.raises(TraceError):
        draw_traces([Plotted("empty", empty)])
    for one in (packets([0.0]), packets([NAN]), packets([NAN, NAN, NAN, NAN])):
        draw_traces([Plotted("odd", one)]).to_bytes(PictureFormat.PNG)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(FeatureMissing, match="matplotlib is not installed") as caught:
        draw_traces([Plotted("x", TWENTY)])
    assert caught.value.hint == install_hint("plot")
