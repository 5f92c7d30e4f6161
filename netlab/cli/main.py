"""The ``netlab`` command: what there is; which of it is loaded is ``lazy_group.py``'s business."""

from __future__ import annotations

import click

from netlab import __version__
from netlab.cli.lazy_group import LazyGroup, Place

__all__ = ["main"]

# Kept here so that `netlab --help` loads click alone.
_COMMANDS = {
    "demo": Place("netlab.cli.demo:demo", "Run the main job on real netem and print its table."),
    "exec": Place("netlab.cli.exec:exec_", "Run any program in a throw-away host behind an impaired link."),
    "train": Place("netlab.cli.train:train", "Train a policy for a network, from a recipe."),
    "eval": Place("netlab.cli.eval:eval_", "Score a policy on networks, without packets."),
    "table": Place("netlab.cli.table:table", "Make tables of many scores, over all cores, resumable."),
    "run": Place("netlab.cli.run:run", "Play a policy in this process, on the model, in a lab, on two hosts."),
    "lab": Place("netlab.cli.lab:lab", "Play a lab from a file, or let it stay and work in it."),
    "shim": Place("netlab.cli.shim:shim", "Impair real traffic between two interfaces of this machine."),
    "doctor": Place("netlab.cli.doctor:doctor", "Say what this machine can do, and how to get the rest."),
    "profile": Place("netlab.cli.profile:profile", "List and show link profiles."),
    "trace": Place("netlab.cli.trace:trace", "Import, look at, fit and plot measured networks."),
    "capture": Place("netlab.cli.capture:capture", "Record packets on an interface of this machine, for a trace."),
    "probe": Place("netlab.cli.probe:probe", "Measure what a path between two hosts, or in a lab, delivers."),
    "verify": Place("netlab.cli.verify:verify", "Measure whether a link delivers what a profile asks for."),
    "env": Place("netlab.cli.env:env", "Run an environment that a remote policy controls."),
    "agent": Place("netlab.cli.agent:agent", "Serve a policy to environments on other hosts."),
    "key": Place("netlab.cli.key:key", "Make the key that two hosts share."),
    "guest": Place("netlab.cli.guest:guest", "Fetch, list and use guest kernels."),
    "bench": Place("netlab.cli.bench:bench", "Measure netlab's figures on this machine."),
}


@click.group(cls=LazyGroup, places=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="netlab")
def main() -> None:
    """Find out on one workstation whether a learned controller survives a real network.

    \b
    Example:
      netlab demo
      netlab exec --profile wifi-degraded -- sh -c 'ping -c 5 $NETLAB_PEER'
    """  # noqa: D301 - \b is click's mark for a paragraph that is not rewrapped
