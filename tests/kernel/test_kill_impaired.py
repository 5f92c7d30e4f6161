"""kill -9 at any moment of a lab with netem on its links leaves nothing; the kernel's own is a guest's too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = 30
SEED = 20260102


@pytest.mark.parametrize("profile", ["wifi-degraded", "measured"])  # the second one's steps are being played
def test_killed_at_random_moments_leaves_nothing(profile: str) -> None:
    program = Path(__file__).parents[1] / "lab" / "killed_lab.py"
    command = [sys.executable, str(program), str(KILLS), str(SEED), profile]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=600, check=True)
    deaths = json.loads(done.stdout)
    assert len(deaths) == KILLS
    assert all(death["killed"] for death in deaths), "a lab ended before it was killed"
    assert [death["left"] for death in deaths if death["left"]] == []
    assert len({tuple(death["interfaces"]) for death in deaths}) == 1
    assert sum(death["ups"] == 0 for death in deaths) >= KILLS // 10
    assert sum(death["ups"] > 0 for death in deaths) >= KILLS // 10
    print(f"{KILLS} kills, all gone after at most {max(d['gone_s'] for d in deaths) * 1e3:.0f} ms")
