"""An ordinary user's links with real netem, in a user namespace of his own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from nobody import NOBODY, nobodys_python, require_labs_of_nobody


@pytest.fixture
def home() -> Iterator[Path]:
    """A home folder of nobody's, in memory: on the guest's root every file belongs to who runs the guest."""
    folder = Path(tempfile.mkdtemp(prefix="netlab-test-home-", dir="/dev/shm"))
    os.chown(folder, NOBODY, NOBODY)
    try:
        require_labs_of_nobody(folder)
        yield folder
    finally:
        shutil.rmtree(folder)


def test_an_ordinary_user_has_netem(home: Path) -> None:
    done = subprocess.run(
        [*nobodys_python(home), "-m", "netlab", "exec", "--on", "host", "--profile", "delay=20ms", "--",
         "sh", "-c", "id -u; ping -c 5 -i 0.1 -q $NETLAB_PEER; echo hi > written; exit 7"],
        capture_output=True, text=True, check=False, cwd=home, timeout=120,
    )  # fmt: skip
    assert done.returncode == 7, done.stderr
    assert done.stdout.startswith("0\n"), "root inside"
    least_ms = float(done.stdout.split("min/avg/max/mdev = ")[1].split("/")[0])
    assert 40.0 <= least_ms < 60.0
    assert (home / "written").stat().st_uid == NOBODY
