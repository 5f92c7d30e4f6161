"""The ``netlab`` command and ``python -m netlab``: the outermost frame, in which nothing becomes a traceback.

Imports nothing but the standard library before it is inside: even Ctrl-C during the first import is one line.
"""

from __future__ import annotations

import contextlib
import os
import sys

__all__ = ["run"]


def run() -> None:
    """Run the command line; exit as it says."""
    try:
        from netlab.cli.main import main

        try:
            main()
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        _leave("netlab: interrupted", 130)
    except OSError as error:
        if error.filename is not None or "--debug" in sys.argv:
            raise
        _leave(f"netlab: cannot write the output: {error.strerror}", 1)


def _leave(message: str, status: int) -> None:
    """Say why on stderr and leave without another try at what is left in stdout's buffer."""
    with contextlib.suppress(OSError, ValueError):
        print(message, file=sys.stderr, flush=True)
    os._exit(status)


if __name__ == "__main__":
    run()
