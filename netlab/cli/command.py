"""What every netlab command shares: ``--on``, ``--debug``, and errors shown as one message with its hint.

::

    argv -> click -> NetlabCommand.invoke --host-->  the command's own function
                            |
                            `--guest-->  the same argv again, inside the guest kernel
"""

from __future__ import annotations

import os
import sys
from typing import Any, ClassVar

import click

from netlab.errors import NetlabError

__all__ = ["KernelCommand", "NetlabCommand", "echo_error", "echo_json"]


def echo_error(error: NetlabError) -> None:
    """Print an error and its hint on stderr."""
    click.echo(f"netlab: {_printable(str(error))}", err=True)
    if error.hint:
        click.echo(f"hint: {_printable(error.hint)}", err=True)


def _printable(text: str) -> str:
    """Escape control characters: a message may quote a file, and a file must not drive the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def echo_json(document: object) -> None:
    """Print one JSON document on stdout, for machines."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


class NetlabCommand(click.Command):
    """A command that runs on this kernel unless ``--on guest`` asks for the guest's."""

    default_engine: ClassVar[str] = "host"
    reads_stdin: ClassVar[bool] = False
    engine_help: ClassVar[str] = "Run on this machine's kernel or inside the guest kernel."

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        shown = "the first that works" if self.default_engine == "auto" else self.default_engine
        self.params.append(
            click.Option(
                ["--on", "engine"],
                type=click.Choice(["host", "guest"]),
                default=None,
                expose_value=False,
                callback=_remember,
                help=f"{self.engine_help}  [default: {shown}]",
            )
        )
        self.params.append(
            click.Option(
                ["--debug"],
                is_flag=True,
                expose_value=False,
                callback=_remember,
                help="Show the traceback of an error.",
            )
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command on the engine that was asked for; show errors as people can use them."""
        try:
            return self._invoke_on_engine(ctx)
        except NetlabError as error:
            if ctx.meta["netlab.debug"]:
                raise
            echo_error(error)
            ctx.exit(error.exit_code)
        except BrokenPipeError:
            # The reader (head, less) has gone: not an error of ours, and stdout can take no more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(141)
        except KeyboardInterrupt:
            if ctx.meta["netlab.debug"]:
                raise
            click.echo("netlab: interrupted", err=True)
            ctx.exit(130)

    def _invoke_on_engine(self, ctx: click.Context) -> Any:
        wanted = ctx.meta["netlab.engine"] or self.default_engine
        if wanted != "host" or self.default_engine != "host":
            from netlab.engine import choose_engine

            engine = choose_engine(wanted, say=lambda text: click.echo(f"netlab: {text}", err=True))
            ctx.meta["netlab.chosen"] = engine
            if engine.elsewhere:
                ctx.exit(engine.rerun(sys.argv[1:], reads_stdin=self.reads_stdin))
        return super().invoke(ctx)


class KernelCommand(NetlabCommand):
    """A command that needs netem: by default it runs on the first kernel that has it."""

    default_engine: ClassVar[str] = "auto"


def _remember(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Keep an option that belongs to the command class and reaches no command function."""
    ctx.meta[f"netlab.{param.name}"] = value
