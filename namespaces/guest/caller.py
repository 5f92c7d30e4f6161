"""Caller: what a command finds where it is started, so that it finds the same inside the guest.

Reads this process and its surroundings, changes nothing.
"""

from __future__ import annotations

import os
import re
import resource
import secrets
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from netlab.errors import GuestError
from netlab.namespaces.guest.confinement import covered_places
from netlab.namespaces.guest.installed import GuestKernel
from netlab.namespaces.guest.job import Job
from netlab.namespaces.guest.streams import StreamKinds

__all__ = [
    "Surroundings",
    "describe_job",
    "init_interpreter",
    "new_job_folder",
    "working_folder",
    "writable_places",
]

_SYSTEM_PYTHON = Path("/usr/bin/python3")
_OLDEST_MINOR = 9
"""Pid 1 is written so that any Python from 3.9 on runs it."""

_GUESTS_OWN = ("/proc", "/sys", "/dev")


class Surroundings:
    """Where and with what a command is to run.

    Attributes:
        cwd: Its working folder, absolute.
        env: Its environment.
    """

    def __init__(self, cwd: str | None, env: Mapping[str, str] | None) -> None:
        self.cwd = working_folder(cwd)
        self.env = dict(os.environ if env is None else env)


def describe_job(
    argv: Sequence[str], around: Surroundings, kernel: GuestKernel, kinds: StreamKinds, window: tuple[int, int]
) -> Job:
    """Return the job that runs a command inside as it would have run here.

    Args:
        argv: The command.
        around: Its folder and environment.
        kernel: The kernel it will run on.
        kinds: What its standard streams are.
        window: Rows and columns of its terminal.
    """
    if not argv:
        raise GuestError("guest: no command to run")
    return Job(
        argv=tuple(argv),
        # Files of the host carry the host's times: a module rewritten within a second would run its old bytecode.
        env={
            **around.env,
            "NETLAB_GUEST": kernel.identity,
            "NETLAB_GUEST_USER": str(os.geteuid()),  # inside we are root, and our files are still ours
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        cwd=around.cwd,
        umask=_umask(),
        rlimits=_rlimits(),
        ignored_signals=_ignored_signals(),
        stdin=kinds.stdin,
        stdout=kinds.stdout,
        stderr=kinds.stderr,
        rows=window[0],
        columns=window[1],
        hostname=socket.gethostname(),
        modules=tuple(str(path) for path in kernel.module_paths),
    )


def working_folder(cwd: str | None) -> str:
    """Return the folder to run in, absolute.

    Raises:
        GuestError: It does not exist, or the guest has another one in its place.
    """
    try:
        folder = os.path.realpath(cwd or ".", strict=True)
    except OSError as error:
        raise GuestError(f"guest: working folder {cwd or '.'}: {error.strerror}") from error
    if not Path(folder).is_dir():
        raise GuestError(f"guest: working folder {folder}: not a folder")
    if _lies_in(folder, _GUESTS_OWN):
        raise GuestError(
            f"guest: working folder {folder}: the guest has a {'/'.join(folder.split('/')[:2])} of its own",
            hint="start it from another folder",
        )
    return folder


def writable_places(around: Surroundings, extra: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
    """Return the places that a confined guest may write to, without symbolic links.

    Args:
        around: The command's folder, and its idea of where temporary files go.
        extra: What the caller allows beside.
        own: What the guest's machinery needs.

    Raises:
        GuestError: One of the extra places does not exist or is the whole machine; or a place is one that the
            confined guest finds empty.
    """
    covered = covered_places()
    if around.cwd in covered:
        raise GuestError(
            f"guest: working folder {around.cwd}: root's guest finds it empty, because services listen there",
            hint="start it from another folder, or unconfined (--no-confine; in Python confine=False)",
        )
    for path in extra:
        if not Path(path).exists():
            raise GuestError(f"guest: writable {path!r}: no such file or folder", hint="make it first")
        if os.path.realpath(path) == "/":
            raise GuestError("guest: writable '/': that is the whole machine", hint="name the folders needed")
        if os.path.realpath(path) in covered:
            raise GuestError(f"guest: writable {path!r}: services listen there", hint="name the folders needed")
    temporary = [path for path in ("/tmp", "/var/tmp", around.env.get("TMPDIR")) if path and Path(path).is_dir()]
    places = (os.path.realpath(path) for path in (around.cwd, *temporary, *extra, *own))
    return tuple(place for place in places if place not in covered)


def new_job_folder() -> str:
    """Return the path of a folder for the files of one run; it is not made yet.

    Raises:
        GuestError: No temporary folder can be used.
    """
    tried = (tempfile.gettempdir(), "/tmp", "/var/tmp")
    for base in map(os.path.realpath, tried):
        # It stands on the kernel's command line, where white space separates. Pid 1 finds its job in it, and the
        # command its keys: so it must not be where the guest has files of its own (TMPDIR=/dev/shm).
        fit = not re.search(r"[\s\"]", base) and not _lies_in(base, (*_GUESTS_OWN, "/run"))
        if fit and os.access(base, os.W_OK | os.X_OK):
            return f"{base}/netlab-guest-{secrets.token_hex(8)}"
    raise GuestError(f"guest: no temporary folder can be used: tried {', '.join(tried)}", hint="set TMPDIR")


def init_interpreter() -> str:
    """Return the Python that becomes pid 1: the system's, which every user can read, else ours."""
    version = re.search(r"python3\.(\d+)$", os.path.realpath(_SYSTEM_PYTHON))
    if version and int(version[1]) >= _OLDEST_MINOR and os.access(_SYSTEM_PYTHON, os.X_OK):
        return str(_SYSTEM_PYTHON)
    return sys.executable


def _lies_in(folder: str, places: tuple[str, ...]) -> bool:
    return any(folder == place or folder.startswith(place + "/") for place in places)


def _umask() -> int:
    """Return the umask; asking the system call would set it, for all threads."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o022


def _rlimits() -> tuple[tuple[int, int, int], ...]:
    kinds = sorted({value for name, value in vars(resource).items() if name.startswith("RLIMIT_")})
    return tuple((kind, *resource.getrlimit(kind)) for kind in kinds)


def _ignored_signals() -> tuple[int, ...]:
    """Return the signals that we were started with ignored, without those that Python itself ignores."""
    pythons = {signal.SIGPIPE, signal.SIGXFSZ}
    return tuple(
        int(number)
        for number in sorted(signal.valid_signals())
        if number not in pythons and signal.getsignal(number) is signal.SIG_IGN
    )
