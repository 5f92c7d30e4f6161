"""``netlab shim``: impair real traffic between two interfaces of this machine."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, ClassVar, Self

import click

from netlab.cli.command import NetlabCommand, echo_json, say
from netlab.cli.types import SEED

if TYPE_CHECKING:
    from netlab.engine_request import EngineRequest
    from netlab.namespaces.relay.requests import LaneCounts
    from netlab.shim import ShimReport

__all__ = ["shim"]


class ShimCommand(NetlabCommand):
    """Real interfaces are this machine's alone: it runs nowhere else."""

    engines: ClassVar[tuple[str, ...]] = ("host",)
    engine_help: ClassVar[str] = "Real interfaces are on this machine."

    def elsewhere(self, request: EngineRequest) -> str:
        """Return what hints say for the guest's kernel; see ``NetlabCommand.elsewhere``."""
        return "another machine"


@click.command("shim", cls=ShimCommand)
@click.argument("first", metavar="PORT")
@click.argument("second", metavar="PORT")
@click.option("--profile", required=True, help="Preset, TOML file or options such as delay=30ms,loss=2%.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of losses and delays.")
@click.option("--force", is_flag=True, help="Take an interface that carries this machine's default route, too.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON document.")
def shim(first: str, second: str, profile: str, seed: int, force: bool, as_json: bool) -> None:
    """Lie between two networks and impair what passes, until Ctrl-C.

    A PORT is an interface (all its frames, in both directions) or tap:NAME, a new TAP for programs of this
    machine. Forward is from the first to the second. Nothing on either side knows of the shim.

    \b
    Example:
      netlab shim enp3s0 enp4s0 --profile wifi-degraded
      netlab shim tap:robot0 enp3s0 --profile delay=30ms,loss=2% --json
    """  # noqa: D301
    from netlab.shim import run_shim
    from netlab.traces.presets import parse_preset

    pair = parse_preset(profile)
    for text in pair.warnings():
        say(text)
    with _Display() as show:
        finish = functools.partial(_print_end, show, as_json)
        run_shim((first, second), pair, seed=seed, force=force, show=show, finish=finish, warn=say)


def _print_end(display: _Display, as_json: bool, report: ShimReport) -> None:
    """Print what was done in all, below the counters that were rewritten until now."""
    display.stop()
    if as_json:
        echo_json(report)
        return
    click.echo(f"{report.ports[0]} <-> {report.ports[1]}: {report.profile}, {report.duration_s:.1f} s")
    click.echo(f"forward: {_line(report.forward)}")
    click.echo(f"back:    {_line(report.back)}")


class _Display:
    """Live counters on stderr: rewritten on a terminal, a line every ten seconds elsewhere."""

    _EVERY = 10

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True)
        self._live = Live("", console=console, auto_refresh=False) if console.is_terminal else None
        self._shown = 0
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Leave the counters as they are."""
        if self._live is not None:
            self._live.stop()

    def __call__(self, report: ShimReport) -> None:
        text = f"{report.duration_s:6.0f} s  forward: {_line(report.forward)}"
        text += f"\n          back:    {_line(report.back)}"
        if self._live is not None:
            self._live.update(text, refresh=True)
        elif self._shown % self._EVERY == 0:
            click.echo(text, err=True)
        self._shown += 1


def _line(counts: LaneCounts) -> str:
    """Return a direction's counts for a person: what always counts, then what is not zero."""
    text = f"{counts.received} received, {counts.delivered} delivered, {counts.lost} lost, {counts.held} in flight"
    for field in ("over_limit", "no_room", "refused", "oversized", "corrupted", "marked", "late"):
        count = getattr(counts, field)
        text += f", {count} {field.replace('_', ' ')}" if count else ""
    return f"{text}; {1e3 * counts.late_mean_s:.2f} ms late on average"
