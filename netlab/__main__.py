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

_LAST_STANDARD_FD = 2


def run() -> None:
    """Run the command line; exit as it says."""
    _open_standard_streams()
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


def _open_standard_streams() -> None:
    """Let what we were started without (``<&-``, ``>&-``) be nothing instead of the next file or socket we open.

    A program that we start would take that one for its input or output.
    """
    with contextlib.suppress(OSError):  # a machine without /dev
        while (fd := os.open(os.devnull, os.O_RDWR)) <= _LAST_STANDARD_FD:
            os.set_inheritable(fd, True)
        os.close(fd)
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            if getattr(sys, name) is None:
                setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))


def _leave(message: str, status: int) -> None:
    """Say why on stderr and leave without another try at what is left in stdout's buffer."""
    with contextlib.suppress(OSError, ValueError):
        print(message, file=sys.stderr, flush=True)
    os._exit(status)


if __name__ == "__main__":
    run()
