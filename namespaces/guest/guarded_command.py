"""run_guarded: a command whose whole tree of processes ends when it does, or when we do.

Starts ``guard.py`` around it and holds the lifeline; knows no command and no kernel.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = ["run_guarded"]

_ENTRY = Path(__file__).with_name("entry.py")


def run_guarded(
    argv: list[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    on_line: Callable[[str], None],
) -> int:
    """Run a command to its end and return its exit status, 128 + n for signal n, 127 where it is not there.

    Whatever ends the wait (an exception, Ctrl-C, kill -9 of this process) ends the command with all below it.

    Args:
        argv: Program and arguments.
        cwd: Working folder.
        environment: All of its environment.
        on_line: Told each line of its output, standard error included, without the line break.

    Raises:
        OSError: No process can be started.
    """
    lifeline, ours = os.pipe()
    try:
        guard = subprocess.Popen(
            [sys.executable, "-IS", str(_ENTRY), "guard", str(lifeline), *argv],
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            pass_fds=(lifeline,),
            start_new_session=True,  # a Ctrl-C is for us to act on
        )
    except OSError:
        os.close(ours)
        raise
    finally:
        os.close(lifeline)
    assert guard.stdout is not None
    try:
        with guard.stdout:
            for line in guard.stdout:
                on_line(line.rstrip("\n"))
        return guard.wait()
    finally:
        os.close(ours)
        guard.wait()
