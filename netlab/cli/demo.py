"""``netlab demo``: the main job, seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli.command import KernelCommand, ResultOption, echo_json, say, the_engine
from netlab.cli.types import SEED

if TYPE_CHECKING:
    from netlab.report import ExperimentResult

__all__ = ["demo"]

_WORDS = 2
"""So many columns hold words; the others hold numbers."""
_LEGEND = """\
cartpole-baseline: trained without a network; -paper: on random ones, as CALF
does; -predictor: decides on the state that a learned model predicts.
D: decided so many ticks of {tick_ms:g} ms ahead, each played on its tick; -: the newest
action is played, and no push at a tick without one.
asked: the round trip as written; expect: what the links deliver of it;
p50/p99: measured, observation leaving to an action based on it arriving.
action misses: ticks that had no action, the first D of an episode among them;
late ticks: begun over 2 ms late, by this machine: a busy one has many."""


@click.command(cls=KernelCommand)
@click.option(
    "--episodes",
    type=click.IntRange(1, 1000),
    default=3,
    show_default=True,
    help="Episodes a network and policy.",
)
@click.option("--network", "networks", multiple=True, help="Networks to go through, in place of the demo's four.")
@click.option(
    "--labs",
    "labs_at_once",
    type=click.IntRange(1, 64),
    default=6,
    show_default=True,
    help="Labs beside one another.",
)
@click.option("--seed", type=SEED, default=1, show_default=True, help="Of links and episodes.")
@click.option(
    "--output",
    cls=ResultOption,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the result document there as well.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
@click.pass_context
def demo(
    ctx: click.Context,
    episodes: int,
    networks: tuple[str, ...],
    labs_at_once: int,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Balance CartPole-v1 at 50 Hz over real netem: environment on one host, policy on another.

    Goes through a measured series of ping delays and three networks, with three trained policies: one that knew no
    network, one trained by the CALF paper's method, and netlab's best, which schedules its actions for the tick at
    which they will arrive, on the state that a learned model predicts.

    \b
    Example:
      netlab demo
      netlab demo --episodes 20 --network wifi-degraded@oneway --json
    """  # noqa: D301
    import msgspec

    from netlab.demo import demo_experiment
    from netlab.documents import require_writable, write_document
    from netlab.experiment import run_experiment
    from netlab.progress import LabProgress

    if output is not None:
        require_writable("--output", output)
    if any(not network.strip() for network in networks):
        raise click.BadParameter("is empty; netlab profile list", param_hint="--network")
    experiment = demo_experiment(episodes, networks, labs_at_once, seed)
    engine = the_engine(ctx)
    say(f"labs run {engine.reason}")
    with LabProgress(experiment) as progress:
        result = run_experiment(experiment, engine.reason, progress.watch, engine.wiring)
    try:
        if as_json:
            echo_json(result)
        else:
            _print(result)
    finally:  # a closed stdout does not keep the result from its file
        if output is not None:
            write_document(output, msgspec.json.format(msgspec.json.encode(result), indent=2))


def _print(result: ExperimentResult) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from netlab.report import cell_table

    heading, *rows = cell_table(result)
    episodes = max(len(cell.returns) for cell in result.cells)
    table = Table(
        title=f"{result.task} at {result.rate_hz:g} Hz: mean return ± standard error, {episodes} episodes",
        box=box.SIMPLE_HEAD,
        padding=0,
        show_edge=False,
    )
    for number, name in enumerate(heading):
        table.add_column(
            name,
            justify="left" if number < _WORDS else "right",
            no_wrap=True,
            max_width=14 if number == 0 else None,
        )
    for row in rows:
        table.add_row(*row)
    console = Console()
    console.print(table)
    console.print(_LEGEND.format(tick_ms=1e3 / result.rate_hz), style="dim", highlight=False)
    for text in result.warnings:
        console.print(f"note: {text}", style="dim", highlight=False)
