"""Commands as an ordinary user: user 65534 with a home of his own, on the system's interpreter."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

import netlab

NOBODY = 65534
SYSTEM_PYTHON = "/usr/bin/python3"


def nobodys_python(home: Path) -> list[str]:
    """Return the beginning of a command that runs Python with our packages as nobody.

    Args:
        home: His home folder, which he may write to.
    """
    root = Path(netlab.__file__).parents[1]
    packages = f"{root}:{sysconfig.get_path('purelib')}"
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env",
            "--unset=XDG_CACHE_HOME", "--unset=XDG_RUNTIME_DIR", f"HOME={home}", f"TMPDIR={home}",
            f"PYTHONPATH={packages}", SYSTEM_PYTHON, "-P"]  # fmt: skip


def require_labs_of_nobody(home: Path) -> None:
    """Skip a test where this machine gives nobody no namespaces; fail it where netlab alone does not.

    The machine is asked without a line of netlab's: a fault of ours must not pass for a lack of the machine.

    Args:
        home: His home folder, which he may write to.
    """
    if problem := _what_nobody_lacks(home):
        pytest.skip(f"nobody can have no labs here: {problem}")
    if problem := _why_netlab_does_not(home):
        pytest.fail(f"nobody has namespaces on this machine, and no labs: {problem}", pytrace=False)


def _what_nobody_lacks(home: Path) -> str:
    """Say what nobody lacks on this machine, or in its Python; empty where he has it all."""
    if os.geteuid() != 0:
        return "only root can become an ordinary user"
    python = nobodys_python(home)
    become = python[: python.index(SYSTEM_PYTHON)]
    for command in (
        [*become, "unshare", "-U", "-r", "-n", "-m", "-p", "--fork", "--mount-proc", "true"],
        [*python, "-c", "import click, msgspec, netlab"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", timeout=60)
        if done.returncode:
            return (done.stderr.strip().splitlines() or [f"{command} fails"])[-1]
    return ""


def _why_netlab_does_not(home: Path) -> str:
    """Say why netlab gives nobody no labs; empty where it does."""
    trial = "from netlab.rootless import try_rootless; import sys; sys.exit(try_rootless().problem or None)"
    done = subprocess.run(
        [*nobodys_python(home), "-c", trial], capture_output=True, text=True, check=False, cwd="/", timeout=60
    )
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""
