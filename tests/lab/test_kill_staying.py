"""kill -9 at any moment of any ``netlab lab`` command leaves nothing that is not there on purpose."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = int(os.environ.get("NETLAB_KILLS", "25"))
SEED = 20260103


@pytest.mark.parametrize("command", ["up", "holder", "exec", "set", "show", "list", "down", "gc"])
def test_killed_at_random_moments_leaves_nothing(command: str, tmp_path: Path) -> None:
    interfaces = [name for _, name in socket.if_nameindex()]
    program = Path(__file__).with_name("killed_commands.py")
    words = [sys.executable, str(program), command, str(KILLS), str(SEED), str(tmp_path)]
    done = subprocess.run(words, stdout=subprocess.PIPE, timeout=60 + 20 * KILLS, check=True)
    outcome = json.loads(done.stdout)
    deaths = outcome["deaths"]
    assert len(deaths) == KILLS
    assert [death["problem"] for death in deaths if death["problem"]] == []
    assert all(death["interfaces"] == interfaces for death in deaths)
    assert outcome["left"] == ""
    least = 2 if command == "list" else KILLS // 5  # it takes some 10 ms, less than a busy machine's sleep is late
    assert sum(death["killed"] for death in deaths) >= least, "many must have been killed on the way"
