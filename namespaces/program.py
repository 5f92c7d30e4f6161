"""Program: what is to run in a host, and how the keeper is asked for it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from netlab.errors import SpecError

__all__ = ["Program", "start_request"]


class Program(Struct, frozen=True, kw_only=True):
    """What to run.

    Attributes:
        argv: The program and its arguments; looked up in ``env``'s PATH.
        env: Its whole environment.
        cwd: The folder it starts in.
        own_session: Start a session and process group of its own. False leaves it in netlab's: then the
            terminal's Ctrl-C and Ctrl-Z reach it as they would without netlab.
        terminal: Its stdin is a terminal that belongs to no session yet: make it that of its own.
        ignored_signals: Signals it starts with ignored, as under nohup.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    own_session: bool = True
    terminal: bool = False
    ignored_signals: frozenset[int] = frozenset()


def start_request(number: int, program: Program) -> dict[str, Any]:
    """Return the frame that asks a keeper to start a program; it will report by this number.

    Raises:
        SpecError: An argument, a variable or the folder cannot be encoded.
    """
    return {
        "do": "start",
        "id": number,
        "argv": [_text(argument) for argument in program.argv],
        "env": {_text(name): _text(value) for name, value in program.env.items()},
        "cwd": _text(program.cwd),
        "session": program.own_session,
        "terminal": program.terminal,
        "ignore": sorted(program.ignored_signals),
    }


def _text(argument: str) -> str:
    """Return an argument's bytes as text that JSON carries unchanged."""
    try:
        return os.fsencode(argument).decode("latin-1")
    except UnicodeEncodeError as error:
        rule = f"cannot be encoded as {error.encoding}"
        raise SpecError(f"{argument!r:.80} for a program: {rule}", hint="take the lone surrogate out") from error
