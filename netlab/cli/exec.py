"""``netlab exec``: any program behind an impaired link."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import click

from netlab.cli.command import KernelCommand, ResultOption, say, the_engine
from netlab.cli.types import SEED

__all__ = ["exec_"]


class ExecCommand(KernelCommand):
    """Runs a program that may read what we are given."""

    reads_stdin = True


@click.command("exec", cls=ExecCommand, context_settings={"allow_interspersed_args": False})
@click.option("--profile", required=True, help="Preset, TOML file or options such as delay=30ms,loss=2%.")
@click.option(
    "--peer", metavar="COMMAND", help="What to run in the host at the far end; split into words, no shell."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the link.")
@click.option(
    "--mtu", type=click.IntRange(68, 65535), default=1500, show_default=True, help="Of the link, in bytes."
)
@click.option(
    "--packets",
    cls=ResultOption,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a line a packet there: its fate.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def exec_(
    ctx: click.Context,
    profile: str,
    peer: str | None,
    seed: int,
    mtu: int,
    packets: Path | None,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND in a throw-away host behind a link; $NETLAB_PEER is the far end's address.

    No NAT and no rule on this machine: the host reaches the far end and nothing else. Exit status, terminal and
    folder are COMMAND's own.

    \b
    Example:
      netlab exec --profile wifi-degraded -- sh -c 'ping -c 5 $NETLAB_PEER'
      netlab exec --profile delay=20ms,loss=1% --peer "python3 -m http.server" -- \\
          sh -c 'curl -s http://$NETLAB_PEER:8000/'
    """  # noqa: D301
    from netlab.cli.packet_file import write_packets
    from netlab.documents import require_writable
    from netlab.lab_exec import run_exec
    from netlab.traces.presets import parse_preset

    if packets is not None:
        require_writable("--packets", packets)
    pair = parse_preset(profile)
    for text in pair.warnings():
        say(text)
    wiring = the_engine(ctx).wiring
    record = None if packets is None else functools.partial(write_packets, packets)
    sys.exit(run_exec(command, pair, peer=peer, seed=seed, mtu=mtu, wiring=wiring, record=record))
