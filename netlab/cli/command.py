"""What every netlab command shares: where it runs, by which clock, and errors as one message with its hint.

::

    argv -> click -> NetlabCommand.invoke --host, relay-->  the command's own function
                            |
                            `--guest--> the same argv again, inside the guest kernel (twice with --check)
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from netlab.errors import NetlabError, SpecError

if TYPE_CHECKING:
    from netlab.engine import Engine, GuestEngine

__all__ = ["KernelCommand", "NetlabCommand", "echo_error", "echo_json", "say"]


def echo_error(error: NetlabError) -> None:
    """Print an error and its hint on stderr."""
    click.echo(f"netlab: {_printable(str(error))}", err=True)
    if error.hint:
        click.echo(f"hint: {_printable(error.hint)}", err=True)


def say(text: str) -> None:
    """Print a line for a person on stderr."""
    click.echo(f"netlab: {text}", err=True)


def _printable(text: str) -> str:
    """Escape control characters: a message may quote a file, and a file must not drive the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def echo_json(document: object) -> None:
    """Print one JSON document on stdout, for machines."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


class NetlabCommand(click.Command):
    """A command that runs on this kernel unless ``--on guest`` or ``--virtual-time`` asks for the guest's.

    Attributes:
        default_engine: Where it runs unless told: ``host``, or ``auto`` for the first that can impair links.
        engines: What ``--on`` takes.
        makes_labs: Whether it makes labs in this process, for which an ordinary user needs a user namespace.
        reads_stdin: Whether it may read what we are given.
        result_options: Options that name files which it writes: what ``--check`` compares.
        engine_help: What ``--on`` means for it.
    """

    default_engine: ClassVar[str] = "host"
    engines: ClassVar[tuple[str, ...]] = ("host", "guest", "relay")
    makes_labs: ClassVar[bool] = False
    reads_stdin: ClassVar[bool] = False
    result_options: ClassVar[tuple[str, ...]] = ("output", "packets", "ticks", "tick_log")
    engine_help: ClassVar[str] = "Run on this machine's kernel, inside the guest kernel, or with links by a relay."

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        shown = "the first that works" if self.default_engine == "auto" else self.default_engine
        self.params += [
            click.Option(
                ["--on", "engine"],
                type=click.Choice(self.engines),
                default=None,
                expose_value=False,
                callback=_remember,
                help=f"{self.engine_help}  [default: {shown}]",
            ),
            _flag("--virtual-time", "In a guest kernel with virtual time: the same run gives the same output."),
            _flag("--check", "With --virtual-time: run twice and compare what is printed and written."),
            _flag("--debug", "Show the traceback of an error."),
        ]

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
        asked = ctx.meta["netlab.engine"] or ctx.meta["netlab.virtual_time"] or ctx.meta["netlab.check"]
        if asked or self.default_engine != "host":
            engine = self._choose(ctx)
            ctx.meta["netlab.chosen"] = engine
            if engine.elsewhere:
                ctx.exit(self._rerun(ctx, engine))
            engine.begin()
        return super().invoke(ctx)

    def _choose(self, ctx: click.Context) -> Engine:
        """Return what the command runs on.

        Raises:
            NetlabError: What was asked for cannot be had, or contradicts itself.
        """
        from netlab.engine import choose_engine, virtual_engine

        wanted = ctx.meta["netlab.engine"]
        if ctx.meta["netlab.virtual_time"]:
            return virtual_engine(wanted or "", makes_labs=self.makes_labs)
        if ctx.meta["netlab.check"]:
            raise SpecError(
                "two runs are alike in virtual time alone",
                key="--check",
                hint="add --virtual-time, or leave it out",
            )
        return choose_engine(wanted or self.default_engine, say, makes_labs=self.makes_labs)

    def _rerun(self, ctx: click.Context, engine: GuestEngine) -> int:
        """Run the same arguments in the guest; with ``--check`` twice: inside, it means nothing more."""
        arguments, stdin = sys.argv[1:], 0 if self.reads_stdin else None
        if not ctx.meta["netlab.check"]:
            return engine.rerun(arguments, stdin=stdin)
        from netlab.check_run import CheckedRun

        def run(given: int | None, output: int) -> int:
            return engine.rerun(arguments, stdin=given, stdout=output)

        return CheckedRun(run, self._result_files(ctx), say).run(stdin, 1)

    def _result_files(self, ctx: click.Context) -> list[Path]:
        named = (ctx.params.get(option) for option in self.result_options)
        return [Path(value) for value in named if isinstance(value, str | os.PathLike) and os.fspath(value)]


class KernelCommand(NetlabCommand):
    """A command that makes labs: by default it runs where links can be impaired first."""

    default_engine: ClassVar[str] = "auto"
    makes_labs: ClassVar[bool] = True


def _flag(name: str, text: str) -> click.Option:
    return click.Option([name], is_flag=True, expose_value=False, callback=_remember, help=text)


def _remember(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Keep an option that belongs to the command class and reaches no command function."""
    ctx.meta[f"netlab.{param.name}"] = value
