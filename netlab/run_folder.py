"""run_folder: a private folder for one run's keys and results, gone when the run is.

A run that is killed with SIGKILL cannot remove its folder. The next run does: each live run holds a lock on
its folder, and a folder whose lock can be had has no owner any more.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from netlab.machine import inside_guest

__all__ = ["run_folder"]

_PREFIX = "netlab-run-"


@contextlib.contextmanager
def run_folder(name: str, parent: Path | None = None) -> Iterator[Path]:
    """Make a folder that only this user may enter; remove it at the end, and those of dead runs at the next begin.

    Args:
        name: What it is for.
        parent: Where; the user's runtime folder unless given, which is in memory and no place for much.
    """
    parent = parent or _parent()
    _sweep(parent)
    folder, descriptor = _make(parent, name)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _make(parent: Path, name: str) -> tuple[Path, int]:
    """Return a new folder and the descriptor that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{name}-", dir=parent))
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if folder.exists():
            return folder, descriptor
        os.close(descriptor)  # another run swept it away before it was locked


def _parent() -> Path:
    # In a guest /tmp is the host's, and locks do not reach across: its own /run is the guest's alone.
    if inside_guest():
        return Path("/run")
    return Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())


def _sweep(parent: Path) -> None:
    """Remove the folders of runs that were killed."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.stat(follow_symlinks=False).st_uid != os.geteuid():
                continue
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)
