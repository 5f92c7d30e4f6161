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
SIDE_BY_SIDE = {"up": 5, "exec": 5, "down": 5}
"""Where a kill mostly waits, for programs that ignore SIGTERM have two seconds: so many labs share the kills."""
SHORT_S = 0.15


@pytest.mark.parametrize("command", ["up", "holder", "exec", "set", "show", "list", "down", "gc"])
def test_killed_at_random_moments_leaves_nothing(command: str, tmp_path: Path) -> None:
    interfaces = [name for _, name in socket.if_nameindex()]
    program = Path(__file__).with_name("killed_commands.py")
    shares = SIDE_BY_SIDE.get(command, 1)
    running = []
    for share in range(shares):
        folder = tmp_path / str(share)
        folder.mkdir()
        kills = (KILLS + share) // shares
        words = [sys.executable, str(program), command, str(kills), str(SEED + share), str(folder)]
        running.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
    outputs = [one.communicate(timeout=60 + 20 * KILLS)[0] for one in running]
    assert [one.returncode for one in running] == [0] * shares
    outcomes = [json.loads(output) for output in outputs]
    deaths = [death for outcome in outcomes for death in outcome["deaths"]]
    assert len(deaths) == KILLS
    assert [death["problem"] for death in deaths if death["problem"]] == []
    assert all(death["interfaces"] == interfaces for death in deaths)
    assert [outcome["left"] for outcome in outcomes] == [""] * shares
    longest_s = min(outcome["longest_s"] for outcome in outcomes)
    # A busy machine's sleep is late by as much as a short command takes; then few are still there to be killed.
    least = 2 if longest_s < SHORT_S else KILLS // 5
    killed = sum(death["killed"] for death in deaths)
    assert killed >= least, f"many must have been killed on the way, of {longest_s:.3f} s"
    print(f"{command}: {killed} of {KILLS} killed on the way, of at most {longest_s:.3f} s")
