"""SQLite in a guest: never on the machine's own files, across which no lock reaches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sqlite3, sys
from click.testing import CliRunner
from netlab.cli.main import main
assert CliRunner().invoke(main, ["profile", "list"]).exit_code == 0  # a netlab command has begun in this process
sqlite3.connect(":memory:").execute("create table t (x)")
sqlite3.connect("/run/inside.db").execute("create table t (x)")
try:
    sqlite3.connect(sys.argv[1])
except Exception as error:
    print(type(error).__name__, error, error.hint)
else:
    print("opened")
"""


def test_a_netlab_process_refuses_a_database_of_the_machine(tmp_path: Path) -> None:
    words = [sys.executable, "-P", "-m", "netlab", "guest", "run", "--", sys.executable, "-P", "-c", PROGRAM]
    done = subprocess.run(
        [*words, str(tmp_path / "mine.db")], capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("KernelError cannot open the SQLite database"), done.stdout
    assert "no lock reaches" in done.stdout and "tmpfs" in done.stdout
    assert not (tmp_path / "mine.db").exists()
