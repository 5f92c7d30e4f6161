"""Commands as an ordinary user: user 65534 with a home of his own, on the system's interpreter."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

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


def why_not_nobody(home: Path) -> str:
    """Say why nobody cannot run netlab in a user namespace here; empty where he can."""
    if os.geteuid() != 0:
        return "only root can become an ordinary user"
    trial = "from netlab.rootless import try_rootless; import sys; sys.exit(try_rootless().problem or None)"
    done = subprocess.run(
        [*nobodys_python(home), "-c", trial], capture_output=True, text=True, check=False, cwd="/", timeout=60
    )
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""
