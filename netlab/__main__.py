"""The ``netlab`` command and ``python -m netlab``: the outermost frame, in which nothing becomes a traceback.

Imports nothing but the standard library before it is inside: even Ctrl-C during the first import is one line.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys

__all__ = ["run"]

_STDOUT_IS_BROKEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def run() -> None:
    """Run the command line; exit as it says."""
    try:
        from netlab.cli.main import main

        try:
            main()
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt as error:
        number = getattr(error, "number", signal.SIGINT)  # netlab.stop_signals.Stopped has one
        _leave(f"netlab: {error}" if str(error) else "netlab: interrupted", 128 + number)
    except OSError as error:
        # What writes files says itself which; of stdout alone Python does not know the name.
        if error.filename is not None or error.errno not in _STDOUT_IS_BROKEN or "--debug" in sys.argv:
            raise
        _leave(f"netlab: cannot write the output: {error.strerror}", 1)


def _leave(message: str, status: int) -> None:
    """Say why on stderr and leave without another try at what is left in stdout's buffer."""
    with contextlib.suppress(OSError, ValueError):
        print(message, file=sys.stderr, flush=True)
    os._exit(status)


if __name__ == "__main__":
    run()
