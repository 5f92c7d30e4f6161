"""What every netlab command shares: where it runs, by which clock, and errors as one message with its hint.

::

    argv -> click -> NetlabCommand.invoke --host, relay-->  the command's own function
                            |
                            `--guest--> the same argv again, inside the guest kernel (twice with --check)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

from netlab.engine_request import EngineRequest
from netlab.errors import NetlabError, SpecError
from netlab.host_files import refuse_host_databases
from netlab.stop_signals import Stopped, unwound_by_signals

if TYPE_CHECKING:
    from netlab.engines import Engine, GuestEngine, LabEngine

__all__ = [
    "KernelCommand",
    "NetlabCommand",
    "ResultOption",
    "echo_error",
    "echo_json",
    "json_option",
    "output_option",
    "printable",
    "result_option",
    "say",
    "the_engine",
    "the_request",
]

GUEST_WORDS = "--on guest"
"""How the hint of an error names the kernel that can do everything; not every command can run on it."""
_LESS = "ask for less at once, or end what else takes memory; --debug shows where it was"
_REQUEST, _ENGINE = "netlab.request", "netlab.engine"
_OPTIONS = "netlab.options"

_Command = TypeVar("_Command", bound=Callable[..., Any])


def echo_error(error: NetlabError, elsewhere: str = GUEST_WORDS) -> None:
    """Print an error and its hint on stderr.

    Args:
        error: What went wrong.
        elsewhere: What the hint is to say for ``--on guest``, where the command cannot run there.
    """
    click.echo(f"netlab: {printable(str(error))}", err=True)
    if error.hint:
        click.echo(f"hint: {printable(error.hint.replace(GUEST_WORDS, elsewhere))}", err=True)


def _how_much(error: MemoryError) -> str:
    """Return how much was asked for, where that is known: numpy says so, Python does not."""
    return f": {str(error)[:1].lower()}{str(error)[1:]}" if str(error) else ""


def say(text: str) -> None:
    """Print a line for a person on stderr."""
    click.echo(f"netlab: {printable(text)}", err=True)


def printable(text: str) -> str:
    """Escape control characters: a message may quote a file, and a file must not drive the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def echo_json(document: object) -> None:
    """Print one JSON document on stdout, for machines."""
    import msgspec

    try:
        encoded = msgspec.json.encode(document)
    except UnicodeEncodeError:  # a path that is no UTF-8
        encoded = msgspec.json.encode(_readable(msgspec.to_builtins(document)))
    click.echo(msgspec.json.format(encoded, indent=2).decode())


def _readable(document: Any) -> Any:
    r"""Return a document in which bytes of paths that are no UTF-8 stand as ``\xe9``."""
    if isinstance(document, str):
        return os.fsencode(document).decode("utf-8", "backslashreplace")
    if isinstance(document, dict):
        return {_readable(key): _readable(value) for key, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [_readable(value) for value in document]
    return document


def the_request(ctx: click.Context) -> EngineRequest:
    """Return what the command line says of where the command is to run."""
    request = ctx.meta[_REQUEST]
    assert isinstance(request, EngineRequest)
    return request


def the_engine(ctx: click.Context) -> LabEngine:
    """Return what the labs of a ``KernelCommand`` run on; it has been begun."""
    engine: LabEngine = ctx.meta[_ENGINE]
    return engine


class ResultOption(click.Option):
    """An option that names a file or folder which the command writes: what ``--check`` compares."""


def result_option(name: str, text: str, *, is_folder: bool = False) -> Callable[[_Command], _Command]:
    """Return a decorator that adds a ``ResultOption``.

    Args:
        name: Of the option.
        text: Its help.
        is_folder: Whether what the command writes is a folder, not a file.
    """
    path = click.Path(path_type=Path, dir_okay=is_folder, file_okay=not is_folder)
    return click.option(name, cls=ResultOption, type=path, help=text)


output_option = result_option("--output", "Write the result document there.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")


class NetlabCommand(click.Command):
    """A command that runs on this kernel unless ``--on guest`` or ``--virtual-time`` asks for the guest's.

    Attributes:
        default_engine: Where it runs unless told: ``host``, or ``auto`` for the first that can impair links.
        engines: What ``--on`` takes.
        makes_labs: Whether it makes labs in this process, for which an ordinary user needs a user namespace.
        reads_stdin: Whether it may read what we are given.
        engine_help: What ``--on`` means for it.
    """

    default_engine: ClassVar[str] = "host"
    engines: ClassVar[tuple[str, ...]] = ("host", "guest")
    makes_labs: ClassVar[bool] = False
    reads_stdin: ClassVar[bool] = False
    engine_help: ClassVar[str] = "Run on this machine's kernel, or inside the guest kernel."

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

    def choose(self, ctx: click.Context, request: EngineRequest) -> Engine | None:
        """Return what the command runs on; None for this process as it is. What a command allows, it says here.

        Args:
            ctx: Its other options.
            request: What was asked for.

        Raises:
            NetlabError: What was asked for cannot be had, contradicts itself or is not for this command.
        """
        if not request.asks and self.default_engine == "host":
            return None
        if request.virtual_time and "guest" not in self.engines:
            problem = "virtual time is a guest kernel's, and this command runs in none"
            raise SpecError(problem, key=request.words, hint="leave it out")
        from netlab.engine_choice import choose_engine

        if not request.asks:
            request = request._replace(engine=self.default_engine)
        return choose_engine(request, say, makes_labs=self.makes_labs)

    def elsewhere(self, request: EngineRequest) -> str:
        """Return what a hint is to say where errors of the rooms below advise ``--on guest``."""
        return GUEST_WORDS

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command on what it chooses; show errors as people can use them; make way for signals."""
        request = ctx.meta[_REQUEST] = EngineRequest(**ctx.meta[_OPTIONS])
        refuse_host_databases()
        try:
            with unwound_by_signals():
                self._refuse_shared_files(ctx)
                return self._run_on(ctx, self.choose(ctx, request))
        except NetlabError as error:
            if request.debug:
                raise
            echo_error(error, self.elsewhere(request))
            ctx.exit(error.exit_code)
        except MemoryError as error:
            if request.debug:
                raise
            echo_error(NetlabError(f"not memory enough{_how_much(error)}", _LESS))
            ctx.exit(NetlabError.exit_code)
        except BrokenPipeError:
            # The reader (head, less) has gone: not an error of ours, and stdout can take no more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(141)
        except Stopped as error:
            if request.debug:
                raise
            say(str(error))
            ctx.exit(128 + error.number)
        except KeyboardInterrupt:
            if request.debug:
                raise
            say("interrupted")
            ctx.exit(130)

    def _run_on(self, ctx: click.Context, engine: Engine | None) -> Any:
        ctx.meta[_ENGINE] = engine
        if engine is not None:
            if engine.elsewhere:
                ctx.exit(self._rerun(ctx, engine))
            engine.begin()
        return super().invoke(ctx)

    def _rerun(self, ctx: click.Context, engine: GuestEngine) -> int:
        """Run the same arguments in the guest; with ``--check`` twice: inside, it means nothing more."""
        arguments, stdin = sys.argv[1:], 0 if self.reads_stdin else None
        if not the_request(ctx).check:
            return engine.rerun(arguments, stdin=stdin).status
        from netlab.check_run import CheckedRun, RunEnd

        def run(given: int | None, output: int) -> RunEnd:
            return engine.rerun(arguments, stdin=given, stdout=output)

        return CheckedRun(run, self._result_files(ctx), say).run(stdin, 1)

    def _refuse_shared_files(self, ctx: click.Context) -> None:
        """Refuse a result file that is another result's, or one that the command reads."""
        written: dict[str, Path] = {}
        read: dict[str, Path] = {}
        for param in self.params:
            value = ctx.params.get(param.name or "")
            if isinstance(value, str | os.PathLike) and os.fspath(value) and isinstance(param.type, click.Path):
                kind = written if isinstance(param, ResultOption) else read
                kind[param.opts[0] if isinstance(param, click.Option) else param.human_readable_name] = Path(value)
        if written:
            from netlab.documents import refuse_shared_files

            refuse_shared_files(written, read)

    def _result_files(self, ctx: click.Context) -> list[Path]:
        named = (ctx.params.get(param.name or "") for param in self.params if isinstance(param, ResultOption))
        return [Path(value) for value in named if isinstance(value, str | os.PathLike) and os.fspath(value)]


class KernelCommand(NetlabCommand):
    """A command that makes labs: by default it runs where links can be impaired first."""

    default_engine: ClassVar[str] = "auto"
    engines: ClassVar[tuple[str, ...]] = ("host", "guest", "relay")
    makes_labs: ClassVar[bool] = True
    engine_help: ClassVar[str] = "Run on this machine's kernel, inside the guest kernel, or with links by a relay."


def _flag(name: str, text: str) -> click.Option:
    return click.Option([name], is_flag=True, expose_value=False, callback=_remember, help=text)


def _remember(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Keep an option that belongs to the command class and reaches no command function."""
    ctx.meta.setdefault(_OPTIONS, {})[param.name] = value
