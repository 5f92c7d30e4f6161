"""The ``netlab`` command: finds the command asked for and loads only that.

::

    netlab NAME ...  ->  LazyGroup  ->  netlab.cli.NAME  ->  one library function
"""

from __future__ import annotations

from importlib import import_module

import click

from netlab import __version__

__all__ = ["main"]

# Name -> where the command lives, and its line in --help. Kept here so that `netlab --help` loads click alone.
_COMMANDS = {
    "demo": ("netlab.cli.demo:demo", "Run the main job on real netem and print its table."),
    "exec": ("netlab.cli.exec:exec_", "Run any program in a throw-away host behind an impaired link."),
    "lab": ("netlab.cli.lab:lab", "Play a lab from a file, or let it stay and work in it."),
    "shim": ("netlab.cli.shim:shim", "Impair real traffic between two interfaces of this machine."),
    "doctor": ("netlab.cli.doctor:doctor", "Say what this machine can do, and how to get the rest."),
    "profile": ("netlab.cli.profile:profile", "List and show link profiles."),
    "env": ("netlab.cli.env:env", "Run an environment that a remote policy controls."),
    "agent": ("netlab.cli.agent:agent", "Serve a policy to environments on other hosts."),
    "key": ("netlab.cli.key:key", "Make the key that two hosts share."),
    "guest": ("netlab.cli.guest:guest", "Fetch, list and use guest kernels."),
    "bench": ("netlab.cli.bench:bench", "Measure netlab's figures on this machine."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order a newcomer meets them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which was probably meant."""
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from netlab.did_you_mean import closest

            close = closest(args[0], _COMMANDS)
            meant = f" Did you mean {close!r}?" if close else ""
            raise click.UsageError(f"No such command {args[0]!r}.{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_line) for name, (_, help_line) in _COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="netlab")
def main() -> None:
    """Find out on one workstation whether a learned controller survives a real network.

    \b
    Example:
      netlab demo
      netlab exec --profile wifi-degraded -- sh -c 'ping -c 5 $NETLAB_PEER'
    """  # noqa: D301 - \b is click's mark for a paragraph that is not rewrapped
