"""``netlab probe lab``: whether a link of a lab that stays delivers what is asked of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from netlab.cli.command import json_option, output_option, say
from netlab.cli.flow_options import flow_options, flow_plan
from netlab.cli.lab_command import StayingLabCommand
from netlab.cli.types import DURATION
from netlab.cli.verify_result import give_result, prepare_traces, traces_option

__all__ = ["lab"]


@click.command(cls=StayingLabCommand)
@click.argument("name")
@click.option("--link", default="", help="Name of the link; the only one unless given.")
@flow_options
@click.option(
    "--allowance",
    "later_s",
    type=DURATION,
    default="1ms",
    show_default=True,
    help="How late every packet may be.",
)
@output_option
@traces_option
@json_option
def lab(
    name: str,
    link: str,
    later_s: float,
    output: Path | None,
    traces: Path | None,
    as_json: bool,
    **flow: Any,
) -> None:
    """Measure a link of lab NAME both ways against what is asked of it now; exit status 1 where it differs.

    The flows run beside whatever else runs in the lab. A link whose schedule plays is refused: what it is asked to
    do changes.

    \b
    Example:
      netlab probe lab field
      netlab probe lab field --link edge-agent --count 1000 --output field.json
    """  # noqa: D301
    import msgspec

    from netlab.cli.progress_line import ProgressLine
    from netlab.documents import require_writable
    from netlab.traces.conformance.allowance import default_allowance
    from netlab.verification.staying import verify_staying

    plan = flow_plan(**flow)
    allowed = msgspec.structs.replace(default_allowance(virtual=False), later_s=later_s)
    if traces is not None:
        prepare_traces(traces)
    if output is not None:
        require_writable("--output", output)
    say(f"measuring for about {plan.duration_s:.0f} s")
    with ProgressLine() as line:
        measured, report = verify_staying(
            name, link, plan, allowed, watch=lambda share: line.count(f"measuring: {share:.0%}")
        )
    give_result(measured, report, output, traces, as_json)
    if not report.holds:
        sys.exit(1)
