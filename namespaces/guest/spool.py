"""Spool: the command's input, read to its end before a guest in virtual time starts.

Input that arrives while the guest runs would arrive at some moment of the world outside, another one in each run.
Standard library only: the supervisor imports it.
"""

from __future__ import annotations

import os
import select
from pathlib import Path

from netlab.errors import GuestError

__all__ = ["SPOOL_NAME", "spool_input"]

SPOOL_NAME = "stdin"
MOST_INPUT_BYTES = 1 << 30

_PIECE_BYTES = 1 << 20


def spool_input(source: int, path: Path, lifeline: int, most_bytes: int = MOST_INPUT_BYTES) -> bool:
    """Read an input to its end into a new file of ours alone, and close it.

    Args:
        source: Descriptor to read; -1 for none, then there is nothing to do.
        path: The file.
        lifeline: Descriptor that is readable when the one who asked has gone.
        most_bytes: Bound of the input.

    Returns:
        False when the lifeline ended first.

    Raises:
        GuestError: There is more than a guest may be given.
        OSError: No room for it.
    """
    if source < 0:
        return True
    file_fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(source, "rb", buffering=0) as stream, open(file_fd, "wb") as file:  # noqa: PTH123 - descriptors
        poller = select.poll()
        poller.register(source, select.POLLIN)
        poller.register(lifeline, select.POLLIN)
        while True:
            if lifeline in dict(poller.poll()):
                return False
            piece = stream.read(_PIECE_BYTES)  # None where it is non-blocking and another reader was faster
            if piece == b"":
                return True
            if piece is not None:
                most_bytes -= file.write(piece)
            if most_bytes < 0:
                raise GuestError(
                    f"guest: more input than the {MOST_INPUT_BYTES >> 20} MiB read before the start",
                    hint="name the file as an argument of the command",
                )
