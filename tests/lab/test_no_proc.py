"""A machine without /proc: one error that says so, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
HIDE = 'mount -t tmpfs none /proc && exec "$@"'

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide /proc")


def netlab_without_proc(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["unshare", "--mount", "sh", "-c", HIDE, "sh", sys.executable, "-P", "-m", "netlab"]
    return subprocess.run(
        [*command, *map(str, words)], capture_output=True, text=True, check=False, timeout=120, cwd=folder
    )


@pytest.mark.parametrize(
    "words",
    [
        ["doctor"],
        ["demo"],
        ["exec", "--on", "relay", "--profile", "delay=1ms", "--", "true"],
        ["lab", "run", EXAMPLES / "two_hosts.toml", "--on", "host"],
        ["lab", "up", EXAMPLES / "two_hosts.toml"],
        ["lab", "list"],
        ["guest", "run", "--", "true"],
    ],
    ids=lambda words: " ".join(map(str, words[:2])),
)
def test_a_command_says_that_proc_is_to_be_mounted(tmp_path: Path, words: list[str]) -> None:
    done = netlab_without_proc(tmp_path, *words)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "/proc/" in done.stderr and "mount it" in done.stderr


def test_the_model_needs_no_proc(tmp_path: Path) -> None:
    done = netlab_without_proc(tmp_path, "lab", "run", EXAMPLES / "cartpole.toml", "--on", "model")
    assert done.returncode == 0, done.stderr
