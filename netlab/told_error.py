"""told_error: what a netlab command that has failed said on stderr, as an error's message and its hint.

::

    netlab: what it was doing           -
    netlab: cannot do this: why         -> message
    hint: do that                       -> hint
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ToldError", "told_error"]

_MESSAGE, _HINT, _TRACE = "netlab: ", "hint: ", "Traceback (most recent call last):"


class ToldError(NamedTuple):
    """What went wrong, as another command said it.

    Attributes:
        message: What went wrong; where it did not say so as netlab does, its last line.
        hint: What to do now; empty where it said nothing.
    """

    message: str
    hint: str = ""


def told_error(stderr: bytes) -> ToldError:
    """Return the error with which a command ended; see ``netlab.cli.command.echo_error``.

    Args:
        stderr: All that it said there.
    """
    lines = [line.rstrip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    if not lines:
        return ToldError("it said nothing")
    begin = max((place for place, line in enumerate(lines) if line.startswith(_MESSAGE)), default=None)
    if begin is None or _TRACE in lines[begin:]:
        return ToldError(lines[-1])
    end = next((place for place in range(begin, len(lines)) if lines[place].startswith(_HINT)), len(lines))
    message = "\n".join(lines[begin:end]).removeprefix(_MESSAGE)
    return ToldError(message, "\n".join(lines[end:]).removeprefix(_HINT))
