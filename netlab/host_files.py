"""HostFiles: which files in a guest are the machine's own, and that no SQLite database among them is opened.

Roof. The root of a guest is the host's file tree (hostfs). Locks do not reach across it: a program outside and one
in here would both hold a database's write lock, and destroy it without noticing.

::

    sqlite3.connect(path) --audit event--> file system of the path --hostfs--> KernelError
                                                                  `-tmpfs ..-> opened
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from netlab.errors import KernelError
from netlab.machine import inside_guest

__all__ = ["is_host_file", "refuse_host_databases"]

_MOUNTS = Path("/proc/self/mountinfo")
_HOSTFS = "hostfs"
_EVENT = "sqlite3.connect"
_installed: list[bool] = []


def refuse_host_databases() -> None:
    """Inside a guest, have this process refuse to open SQLite databases of the machine from now on.

    For netlab's own processes: it cannot be taken back, since Python's audit hooks cannot.
    """
    if inside_guest() and not _installed:
        _installed.append(True)
        sys.addaudithook(_audit)


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event == _EVENT and arguments and isinstance(arguments[0], str | bytes | os.PathLike):
        _check(arguments[0])


def _check(database: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> None:
    """Refuse a database on the host's file system.

    Raises:
        KernelError: It is on it.
    """
    path = _path_of(os.fsdecode(database))
    if path is not None and is_host_file(path):
        raise KernelError(
            f"open the SQLite database {path} in a guest",
            words="it is on the host's file system, across which no lock reaches: it would be damaged",
            hint="keep it on a tmpfs in here (/run, /dev/shm), or have a process outside the guest write it",
        )


def _path_of(database: str) -> Path | None:
    """Return the file of a database; None for one in memory."""
    if database.startswith("file:"):
        import urllib.parse  # late: every command imports this file

        parts = urllib.parse.urlsplit(database)
        if parts.path == ":memory:" or "memory" in urllib.parse.parse_qs(parts.query).get("mode", ()):
            return None
        database = urllib.parse.unquote(parts.path)
    return None if database in ("", ":memory:") else Path(database)


def is_host_file(path: Path, mounts: Path = _MOUNTS) -> bool:
    """Tell whether a file, which need not exist yet, is on the host's file system.

    Args:
        path: The file.
        mounts: Where the kernel shows what is mounted.
    """
    try:
        device = (path if path.exists() else path.parent).stat().st_dev
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return False  # no such folder: whoever opens it is told so
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in lines:
        mount, _, kind = line.partition(" - ")
        if mount.split()[2] == wanted:
            return kind.split()[0] == _HOSTFS
    return False
