"""One two-host CartPole lab, run for the ``virtual-time`` figure inside the guest: a result and a tick log.

Its own program: ``python -m netlab.bench.cartpole_lab FOLDER NETWORK EPISODES``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from netlab.engine import lab_key
from netlab.lab import Lab
from netlab.run_folder import run_folder
from netlab.traces.horizon import horizon_ticks
from netlab.traces.presets import parse_preset

__all__ = ["RESULT_NAME", "TICKS_NAME", "run_lab"]

RESULT_NAME, TICKS_NAME = "result.json", "ticks.jsonl"
RATE_HZ = 50.0
SEED = 1
_PORT = 7447
_BUDGET_S = 3600.0


def run_lab(folder: Path, network: str, episodes: int) -> None:
    """Play the episodes over the network and write what came of them into a folder."""
    pair = parse_preset(network)
    with run_folder("virtual-time") as private, Lab("virtual-time", seed=SEED) as lab:
        key_file = private / "lab.key"
        lab_key().write(key_file)
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        lab.add_link(edge, agent, pair)
        address = f"{agent.address}:{_PORT}"
        serving = agent.start(
            _netlab("agent", "serve", "--bind", address, "--key-file", key_file, "--policy", "linear-predict")
        )
        running = edge.start(
            _netlab(
                "env", "run", "--agent", address, "--key-file", key_file,
                "--actuator", "scheduled", "--horizon", horizon_ticks(pair, 1.0 / RATE_HZ),
                "--rate", RATE_HZ, "--episodes", episodes, "--seed", SEED, "--wait", "60s",
                "--output", folder / RESULT_NAME, "--tick-log", folder / TICKS_NAME,
            )
        )  # fmt: skip
        running.wait(_BUDGET_S)
        running.check()
        serving.check()


def _netlab(*words: object) -> list[str]:
    return [sys.executable, "-P", "-m", "netlab", *(str(word) for word in words)]


if __name__ == "__main__":
    begin_s = time.monotonic()
    run_lab(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    print(f"{time.monotonic() - begin_s:.9f}")
