"""``netlab trace plot``: traces as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli.command import NetlabCommand, ResultOption, say
from netlab.cli.types import SIZE

if TYPE_CHECKING:
    from netlab.trace_figure import PictureFormat
    from netlab.traces.plotted import Plotted

__all__ = ["plot"]

_FILE = click.Path(dir_okay=False, path_type=Path)
_ASKED_PACKETS = 20_000
_RATE_HZ = 50.0
"""Of the flow that is asked after, where the trace does not say."""
_LABEL = 60


@click.command("plot", cls=NetlabCommand)
@click.argument("traces", nargs=-1, required=True, type=_FILE, metavar="TRACE...")
@click.option(
    "-o", "--output", "output", cls=ResultOption, type=_FILE, required=True, help="The picture: .png or .svg."
)
@click.option(
    "--profile", metavar="PROFILE", help="What was asked for: preset, TOML file or options; drawn dashed."
)
@click.option(
    "--rate",
    "rate_hz",
    type=click.FloatRange(1e-3, 1e6),
    metavar="HZ",
    help="Packets a second of the flow that --profile is simulated for.  [default: the first trace's]",
)
@click.option(
    "--size",
    "size_bytes",
    type=SIZE,
    default="200B",
    show_default=True,
    help="UDP payload of its packets: where the link has a rate, they take their time.",
)
@click.option(
    "--kind",
    type=click.Choice(["time", "cdf", "runs", "all"]),
    default="all",
    show_default=True,
    help="Delays and rates over time, distributions, losses in a row.",
)
@click.option(
    "--format", "format_name", default="", metavar="NAME", help="Of all the files; recognised unless given."
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of what --profile simulates."
)
def plot(
    traces: Sequence[Path],
    output: Path,
    profile: str | None,
    kind: str,
    format_name: str,
    **flow: Any,
) -> None:
    """Draw traces: delay over time with losses marked, distributions over one another, losses in a row.

    TRACE is a trace file or a measurement in any format of `netlab trace formats`. With --profile, or with two
    traces, the distances of the later ones from the first are in the legend.

    \b
    Example:
      netlab trace plot ping.txt -o wifi.png
      netlab trace plot asked.csv delivered.csv --kind cdf -o both.svg
      netlab trace plot delivered.csv --profile wifi-normal -o kept.png
    """  # noqa: D301
    from netlab.documents import refuse_shared_files, require_writable, write_document
    from netlab.trace_figure import draw_traces
    from netlab.traces.panel import PlotKind

    picture_format = _picture_format(output)
    refuse_shared_files({"-o": output}, {str(path): path for path in traces})
    require_writable("-o", output)
    plotted = [one for path in traces for one in _read(path, format_name)]
    if profile is not None:
        plotted.insert(0, _asked(profile, plotted[0], **flow))
    kinds = tuple(PlotKind) if kind == "all" else (PlotKind(kind),)
    write_document(output, draw_traces(plotted, kinds).to_bytes(picture_format))
    say(f"wrote {output}: {', '.join(f'{one.label} (n = {one.trace.n:,})' for one in plotted)}")


def _picture_format(output: Path) -> PictureFormat:
    """Return the format that a file's name ends in.

    Raises:
        SpecError: It is none of them.
    """
    from netlab.errors import SpecError
    from netlab.trace_figure import PictureFormat

    try:
        return PictureFormat(output.suffix.lower().removeprefix("."))
    except ValueError:
        raise SpecError(f"{output.name}: pictures are .png or .svg", key="-o", hint="name it so") from None


def _read(path: Path, format_name: str) -> list[Plotted]:
    """Return what a file holds, each with a label that fits."""
    from netlab.traces.importers.catalogue import import_trace
    from netlab.traces.plotted import Plotted

    found = import_trace(path, format_name)
    name = "".join(letter if letter.isprintable() else "?" for letter in path.name)
    name = name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}\N{HORIZONTAL ELLIPSIS}"
    return [Plotted(name if len(found) == 1 else f"{name}, {trace.path.value}", trace) for trace in found]


def _asked(profile: str, beside: Plotted, *, rate_hz: float | None, size_bytes: float, seed: int) -> Plotted:
    """Return what a profile is expected to show on the path of another trace."""
    from netlab.probe.probe_plan import UDP_IP_BYTES
    from netlab.traces.asked_trace import asked_trace
    from netlab.traces.plotted import Plotted
    from netlab.traces.presets import parse_preset
    from netlab.verification.flow_order import ETHERNET_BYTES

    pair = parse_preset(profile)
    if rate_hz is None:
        interval_s = beside.trace.interval_s
        rate_hz = 1.0 / interval_s if interval_s > 0.0 else _RATE_HZ
    length_bytes = int(size_bytes) + UDP_IP_BYTES + ETHERNET_BYTES
    asked = asked_trace(pair, beside.trace.path, rate_hz, _ASKED_PACKETS, seed=seed, length_bytes=length_bytes)
    return Plotted(f"asked: {pair.name[:_LABEL]}", asked, is_asked=True)
