"""Starts guests as a user would: another process that calls ``run_in_guest`` as its arguments say."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any, NoReturn

import pytest
from leaks import children

from netlab.errors import GuestError, NetlabError
from netlab.namespaces.guest.installed import GuestKernel, default_guest_kernel, time_travel_kernel
from netlab.namespaces.guest.machine import check_distribution, check_processor, read_os_release
from netlab.namespaces.guest.toolchain import check_toolchain

WAIT_FOR_ALL = 0x40000000  # __WALL

_DRIVER = """
import json, sys
from pathlib import Path
from netlab.errors import NetlabError
from netlab.namespaces.guest.installed import read_kernel
from netlab.namespaces.guest.guest_clock import VirtualClock
from netlab.namespaces.guest.launcher import run_in_guest
options = json.loads(sys.argv[1])
if "virtual" in options:
    options["clock"] = VirtualClock(**options.pop("virtual"))
try:
    sys.exit(run_in_guest(options.pop("argv"), kernel=read_kernel(Path(options.pop("kernel"))),
                          private_files={"TEST_SECRET": b"\\x00secret\\xff"}, **options))
except NetlabError as error:
    sys.exit(f"ERROR {type(error).__name__}: {error}\\nHINT {error.hint}")
"""


class Driver:
    """Runs commands in guests of one kernel.

    Args:
        kernel: The kernel.
        python: What runs the launcher.
        defaults: Options of every run; ``virtual`` has the fields of a VirtualClock.
    """

    def __init__(self, kernel: GuestKernel, python: tuple[str, ...] = (sys.executable,), **defaults: Any) -> None:
        self.kernel = kernel
        self._python = python
        self._defaults = defaults

    def command(self, *argv: str, **options: Any) -> list[str]:
        """Return the command that runs ``argv`` in a guest."""
        document = json.dumps(
            {"argv": argv, "kernel": str(self.kernel.path), "timeout_s": 60.0, **self._defaults, **options}
        )
        return [*self._python, "-c", _DRIVER, document]

    def run(
        self,
        *argv: str,
        stdin: bytes | None = None,
        cwd: Path | str | None = None,
        env: dict[str, str] | None = None,
        **options: Any,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command in a guest and return what it left."""
        return subprocess.run(
            self.command(*argv, **options),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            cwd=cwd,
            env=None if env is None else {**os.environ, **env},
            timeout=240,
            check=False,
        )

    def start(self, *argv: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start a command in a guest, its output on pipes."""
        popen = {key: options.pop(key) for key in ("env", "cwd", "stdin", "stdout", "stderr") if key in options}
        popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **popen}
        return subprocess.Popen(self.command(*argv, **options), **popen)


def installed_kernel() -> GuestKernel | None:
    """Return the user's guest kernel; None where none has been fetched."""
    return default_guest_kernel()


def fetch_problem() -> str:
    """Say why this machine can have no guest kernel; empty where it can."""
    try:
        check_processor()
        check_distribution(read_os_release())
    except GuestError as error:
        return error.message
    return ""


def build_problem() -> str:
    """Say why nothing can be compiled here; empty where it can."""
    try:
        check_processor()
        check_toolchain()
    except NetlabError as error:
        return str(error)
    return ""


def virtual_problem() -> str:
    """Say why no guest can be started in virtual time here; empty where one can."""
    return "" if time_travel_kernel() else "no guest kernel with virtual time has been built: netlab guest build"


def kernel_problem() -> str:
    """Say why no guest can be started here; empty where one can."""
    if installed_kernel() is not None:
        return ""
    return fetch_problem() or "no guest kernel has been fetched: netlab guest fetch"


def skip_or_fail(problem: str, *needs: str) -> NoReturn:
    """Skip a test for what this machine lacks, or fail it where NETLAB_REQUIRE asks for one of these needs."""
    for need in set(needs) & set(os.environ.get("NETLAB_REQUIRE", "").split(",")):
        pytest.fail(f"NETLAB_REQUIRE asks for {need}: {problem}", pytrace=False)
    pytest.skip(problem)


def reap(pids: Collection[int]) -> None:
    """Collect those that have ended and are ours; the leak check makes us the parent of every orphan.

    Not whoever it may be: the guests with the kernel tests are waited for by others.
    """
    for pid in children().intersection(pids):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG | WAIT_FOR_ALL)


def wait_until_gone(before: set[int], folder: Path, wait_s: float = 60.0) -> list[str]:
    """Return what is left of a guest after some time: processes not among those before, names in a folder."""
    deadline = time.monotonic() + wait_s
    while True:
        reap(children() - before)
        # Not below those that were there before: the guests with the kernel tests start processes all the time.
        processes = set(descendants(os.getpid(), beside=before))
        names = sorted(path.name for path in folder.iterdir())
        if not processes and not names:
            return []
        if time.monotonic() > deadline:
            return [*(f"pid {pid}" for pid in processes), *names]
        time.sleep(0.005)


def other_guests() -> int:
    """Return how many guests run in this network namespace."""
    return Path("/proc/net/unix").read_text().count("@netlab-guest-cpu-")


def descendants(pid: int, beside: Collection[int] = ()) -> list[int]:
    """Return the processes below one, parents first; none of some, and none below them."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            below = [int(child) for child in task.read_text().split()]
        except OSError:  # ended meanwhile
            continue
        for child in below:
            if child not in beside:
                found += [child, *descendants(child, beside)]
    return found
