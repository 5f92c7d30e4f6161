"""ProgressLine: what a long command is doing, rewritten on a terminal; elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

import click

from netlab.cli.command import printable

__all__ = ["ProgressLine"]

REDRAW_S = 0.1
PLAIN_S = 30.0

_ERASE = "\r\x1b[K"


class ProgressLine:
    """Shows on stderr what is being done and how far it is."""

    def __init__(self) -> None:
        self._rewrites = sys.stderr.isatty()
        self._interval_s = REDRAW_S if self._rewrites else PLAIN_S
        self._began_s = time.monotonic()
        self._shown_s = self._began_s
        self._open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._erase()

    def say(self, text: str) -> None:
        """Show what is being done now, on a line that stays."""
        self._erase()
        click.echo(f"netlab: {printable(text)}", err=True)
        self._shown_s = time.monotonic()

    def count(self, text: str) -> None:
        """Show how far it is, unless that was shown a moment ago."""
        now_s = time.monotonic()
        if now_s - self._shown_s < self._interval_s:
            return
        self._shown_s = now_s
        line = f"netlab: {text}, {now_s - self._began_s:.0f} s"
        self._open = self._rewrites
        click.echo(f"{_ERASE}{line}" if self._rewrites else line, err=True, nl=not self._rewrites)

    def _erase(self) -> None:
        if self._open:
            click.echo(_ERASE, err=True, nl=False)
            self._open = False
