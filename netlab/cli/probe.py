"""``netlab probe``: what a path delivers, measured by numbered, stamped packets."""

from __future__ import annotations

import click

from netlab.cli.lazy_group import LazyGroup, Place

__all__ = ["probe"]

_COMMANDS = {
    "serve": Place("netlab.cli.probe_hosts:serve", "Answer the probes of another host that has the key."),
    "run": Place("netlab.cli.probe_hosts:run", "Probe the path to a host where netlab probe serve runs."),
    "lab": Place("netlab.cli.probe_lab:lab", "Measure a link of a staying lab against what was asked of it."),
}


@click.group(cls=LazyGroup, places=_COMMANDS)
def probe() -> None:
    """Measure what a path between two hosts, or in a lab, delivers.

    \b
    Example:
      netlab probe serve --bind 0.0.0.0:7448 --key-file probe.key
      netlab probe run desktop:7448 --key-file probe.key --for 60s -o wifi
    """  # noqa: D301
