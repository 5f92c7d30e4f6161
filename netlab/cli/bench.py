"""``netlab bench``: the figures, measured here and now."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import click

from netlab.cli.command import NetlabCommand, echo_error, echo_json
from netlab.errors import NetlabError, SpecError

__all__ = ["bench"]


class BenchCommand(NetlabCommand):
    """Measures figures, of which some refuse virtual time and all choose their links themselves."""

    def _invoke_on_engine(self, ctx: click.Context) -> Any:
        if ctx.meta["netlab.engine"] == "relay":
            hint = "netlab bench relay-error measures a relay"
            raise SpecError("each figure says itself what carries its packets", key="bench --on relay", hint=hint)
        names = ctx.params["names"]
        if ctx.meta["netlab.virtual_time"] and not ctx.params["list_only"]:
            from netlab.bench.catalogue import CATALOGUE, require_virtual_time

            _require_known(names)
            require_virtual_time(names)
            if all(CATALOGUE[name].starts_guests for name in names):
                return click.Command.invoke(self, ctx)
        return super()._invoke_on_engine(ctx)


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
    figures = [_measure(name) for name in (names or CATALOGUE)]
    if as_json:
        echo_json({"figures": figures, "machine": machine()})
    else:
        _print_figures(figures)
    ctx.exit(0 if all(figure["holds"] for figure in figures) else 1)


def _require_known(names: Sequence[str]) -> None:
    from netlab.bench.catalogue import CATALOGUE

    unknown = [name for name in names if name not in CATALOGUE]
    if unknown:
        raise click.BadParameter(f"no figure {unknown[0]!r}; there are: {', '.join(CATALOGUE)}", param_hint="NAME")


def _measure(name: str) -> dict[str, Any]:
    """Measure one figure here, or in the guest where it needs a netem that this kernel lacks."""
    import msgspec

    from netlab.bench.catalogue import CATALOGUE, measure, not_measured
    from netlab.engine import host_netem_problem, inside_guest

    click.echo(f"netlab: measuring {name}: {CATALOGUE[name].about}", err=True)
    if CATALOGUE[name].needs_netem and not inside_guest() and host_netem_problem() is not None:
        return _measure_in_guest(name)
    try:
        figure = measure(name, lambda text: click.echo(f"netlab: {text}", err=True))
    except NetlabError as error:
        # The other figures are worth having all the same.
        echo_error(error)
        figure = not_measured(name, str(error))
    except subprocess.CalledProcessError as error:
        figure = not_measured(name, str(error))
    document: dict[str, Any] = msgspec.to_builtins(figure)
    return document


def _measure_in_guest(name: str) -> dict[str, Any]:
    import msgspec

    from netlab.bench.catalogue import not_measured

    command = [sys.executable, "-P", "-m", "netlab", "bench", name, "--json", "--on", "guest"]
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
