"""The tests of the guest are skipped with the reason where none can be, and fail where one is demanded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("name", "demand"),
    [
        ("test_rerun.py", ""),
        ("test_guest_kill.py", ""),
        ("test_rerun.py", "guest"),
        ("test_guest_kill.py", "guest"),
        ("test_four_corners.py", ""),
        ("test_four_corners.py", "virtual"),
        ("test_guest_virtual_time.py", "virtual"),
    ],
)
def test_the_door(tmp_path: Path, name: str, demand: str) -> None:
    demanded = bool(demand)
    root = Path(__file__).parents[2]
    env = {key: value for key, value in os.environ.items() if key not in ("NETLAB_REQUIRE", "NETLAB_GUEST")}
    env["XDG_CACHE_HOME"] = str(tmp_path)  # no guest in it
    if demanded:
        env["NETLAB_REQUIRE"] = demand
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", str(root / "tests" / "guest" / name)],
        env=env, cwd=root, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    summary = done.stdout.splitlines()[-1]
    assert "passed" not in summary
    assert ("skipped" in summary, "error" in summary) == (not demanded, demanded), done.stdout
    assert done.returncode == (1 if demanded else 0)
    assert "guest" in done.stdout
