"""``netlab bench``: the figures, measured here and now."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import click

from netlab.cli.command import echo_error, echo_json, say, the_request
from netlab.cli.computing_command import ComputingCommand
from netlab.engine_request import EngineRequest
from netlab.errors import NetlabError, SpecError

if TYPE_CHECKING:
    from netlab.engines import Engine

__all__ = ["bench"]


class BenchCommand(ComputingCommand):
    """Measures figures, of which some refuse virtual time and all choose their links themselves."""

    engines: ClassVar[tuple[str, ...]] = ("host", "guest", "relay")
    engine_help: ClassVar[str] = "Measure on this machine's kernel, or inside the guest kernel."

    def choose(self, ctx: click.Context, request: EngineRequest) -> Engine | None:
        """Return where all figures are measured, nothing where they differ; see ``NetlabCommand.choose``."""
        if request.engine == "relay":
            hint = "netlab bench relay-error measures a relay"
            raise SpecError("each figure says itself what carries its packets", key="bench --on relay", hint=hint)
        names = ctx.params["names"]
        if not request.virtual_time or ctx.params["list_only"]:
            return super().choose(ctx, request)
        from netlab.bench.catalogue import CATALOGUE, require_virtual_time

        _require_known(names)
        require_virtual_time(names)
        outside = [name for name in names if CATALOGUE[name].starts_guests]
        if not outside:
            return super().choose(ctx, request)
        if request.check:
            problem = f"{', '.join(outside)}: it starts guests itself and says what the wall clock showed"
            raise SpecError(problem, key=request.words, hint="leave --check out, or name other figures")
        return None


@click.command(cls=BenchCommand)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--list", "list_only", is_flag=True, help="List the figures and leave.")
@click.pass_context
def bench(ctx: click.Context, names: tuple[str, ...], as_json: bool, list_only: bool) -> None:
    """Measure netlab's figures: each a ratio or a count within one run, in real time unless asked otherwise.

    A figure that needs netem is measured in the guest kernel where this one has none. In virtual time only
    figures that are not about netlab's own speed are measured. Exit status 1 when a target is missed.

    \b
    Example:
      netlab bench
      netlab bench help-time guest-boot --json
      netlab bench protocol --virtual-time
    """  # noqa: D301
    from netlab.bench.catalogue import CATALOGUE
    from netlab.machine import machine

    if list_only and as_json:
        echo_json([{"name": name, "about": entry.about} for name, entry in CATALOGUE.items()])
        return
    if list_only:
        for name, entry in CATALOGUE.items():
            click.echo(f"{name:16} {entry.about}")
        return
    _require_known(names)
    figures = [_measure(name, the_request(ctx)) for name in (names or CATALOGUE)]
    if as_json:
        here = {name: value for name, value in machine().items() if name != "engine"}  # each figure has its own
        echo_json({"figures": figures, "machine": here})
    else:
        _print_figures(figures)
    ctx.exit(0 if all(figure["holds"] for figure in figures) else 1)


def _require_known(names: Sequence[str]) -> None:
    from netlab.bench.catalogue import CATALOGUE

    unknown = [name for name in names if name not in CATALOGUE]
    if unknown:
        raise click.BadParameter(f"no figure {unknown[0]!r}; there are: {', '.join(CATALOGUE)}", param_hint="NAME")


def _measure(name: str, request: EngineRequest) -> dict[str, Any]:
    """Measure one figure here, or in the guest: for virtual time, or for a netem that this kernel lacks."""
    import msgspec

    from netlab.bench.catalogue import CATALOGUE, measure, not_measured
    from netlab.host_survey import host_netem_problem
    from netlab.machine import inside_guest

    entry = CATALOGUE[name]
    say(f"measuring {name}: {entry.about}")
    if not inside_guest() and not entry.starts_guests:
        if request.virtual_time:
            return _measure_in_guest(name, "--virtual-time")
        if entry.needs_netem and host_netem_problem() is not None:
            return _measure_in_guest(name, "--on", "guest")
    try:
        figure = measure(name, say)
    except NetlabError as error:
        # The other figures are worth having all the same.
        echo_error(error)
        figure = not_measured(name, str(error))
    except subprocess.CalledProcessError as error:
        figure = not_measured(name, str(error))
    document: dict[str, Any] = msgspec.to_builtins(figure)
    return document


def _measure_in_guest(name: str, *options: str) -> dict[str, Any]:
    import msgspec

    from netlab.bench.catalogue import not_measured

    command = [sys.executable, "-P", "-m", "netlab", "bench", name, "--json", *options]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    try:
        figure: dict[str, Any] = json.loads(done.stdout)["figures"][0]
    except (ValueError, LookupError):
        why = f"netlab bench {name} in the guest ended with status {done.returncode} and no figure"
        figure = msgspec.to_builtins(not_measured(name, why))
    return figure


def _print_figures(figures: list[dict[str, Any]]) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    for figure in figures:
        value = "not measured" if figure["value"] is None else f"{figure['value']:.3g} {figure['unit']}"
        verdict = "[green]holds[/]" if figure["holds"] else "[red]missed[/]"
        console.print(f"[bold]{figure['name']:16}[/] {value}   {verdict} ({figure['target']}), n = {figure['n']}")
        for text in (figure["spread"], figure["note"]):
            if text:
                console.print(f"{'':16} {text}", style="dim", soft_wrap=True)
