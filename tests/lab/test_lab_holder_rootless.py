"""An ordinary user's labs that stay: made inside a user namespace, asked from outside."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from nobody import NOBODY, nobodys_python, require_labs_of_nobody
from orphans import Orphans


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="netlab-test-home-"))
    os.chown(folder, NOBODY, NOBODY)
    try:
        require_labs_of_nobody(folder)
        yield folder
    finally:
        shutil.rmtree(folder)


def run(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {"NETLAB_RUNTIME_DIR": str(home / "run"), **os.environ}
    return subprocess.run(
        [*nobodys_python(home), "-m", "netlab", "lab", *words],
        capture_output=True, text=True, check=False, cwd=home, timeout=120, env=environment,
    )  # fmt: skip


def test_a_lab_of_an_ordinary_user_stays(home: Path) -> None:
    orphans = Orphans()
    (home / "two.toml").write_text('name = "mine"\nhosts = { a = {}, b = {} }\n[[link]]\nends = ["a", "b"]\n')
    done = run(home, "up", "two.toml")
    assert done.returncode == 0, done.stderr
    try:
        assert "mine" in run(home, "list").stdout
        done = run(
            home, "exec", "mine", "a", "--", "sh", "-c", "id -u; echo $NETLAB_PEER; echo mine > written; exit 3"
        )
        assert (done.returncode, done.stdout) == (3, "0\n10.77.0.2\n"), done.stderr
        assert (home / "written").stat().st_uid == NOBODY
        assert "link a-b: a -- b" in run(home, "show", "mine").stdout
    finally:
        done = run(home, "down", "mine")
        orphans.bury()
    assert (done.returncode, done.stderr) == (0, "netlab: lab mine is down\n")
