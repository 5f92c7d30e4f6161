"""``netlab probe lab``: whether a link of a lab that stays delivers what is asked of it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from netlab.cli.command import ResultOption, echo_json, say
from netlab.cli.lab_command import StayingLabCommand
from netlab.cli.types import DURATION, SIZE

__all__ = ["lab"]


@click.command(cls=StayingLabCommand)
@click.argument("name")
@click.option("--link", default="", help="Name of the link; the only one unless given.")
@click.option("--packets", type=int, default=2000, show_default=True, help="Sent each way.")
@click.option("--rate", type=float, default=100.0, show_default=True, help="Packets a second, each way.")
@click.option("--size", type=SIZE, default="200B", show_default=True, help="UDP payload of each packet.")
@click.option("--allowance", type=DURATION, default="1ms", show_default=True, help="How late packets may be.")
@click.option(
    "--output",
    cls=ResultOption,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the result document there.",
)
@click.option(
    "--traces",
    cls=ResultOption,
    type=click.Path(path_type=Path, file_okay=False),
    help="Write what was delivered into this folder: forward.csv, back.csv.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
def lab(
    name: str,
    link: str,
    packets: int,
    rate: float,
    size: float,
    allowance: float,
    output: Path | None,
    traces: Path | None,
    as_json: bool,
) -> None:
    """Measure a link of lab NAME both ways against what is asked of it now; exit status 1 where it differs.

    The flows run beside whatever else runs in the lab. A link whose schedule plays is refused: what it is asked to
    do changes.

    \b
    Example:
      netlab probe lab field
      netlab probe lab field --link edge-agent --packets 1000 --output field.json
    """  # noqa: D301
    import msgspec

    from netlab.cli.progress_line import ProgressLine
    from netlab.cli.verify_result import print_report, write_report, write_traces
    from netlab.documents import require_writable
    from netlab.probe.probe_plan import ProbePlan
    from netlab.traces.conformance.allowance import default_allowance
    from netlab.verification.staying import verify_staying

    plan = ProbePlan(rate_hz=rate, size_bytes=int(size), count=packets)
    allowed = msgspec.structs.replace(default_allowance(virtual=False), later_s=allowance)
    if output is not None:
        require_writable("--output", output)
    say(f"measuring for about {plan.duration_s:.0f} s")
    with ProgressLine() as line:
        measured, report = verify_staying(
            name, link, plan, allowed, watch=lambda share: line.count(f"measuring: {share:.0%}")
        )
    if traces is not None:
        write_traces(traces, measured)
    if output is not None:
        write_report(output, report)
    if as_json:
        echo_json(report)
    else:
        print_report(report)
    if not report.holds:
        sys.exit(1)
