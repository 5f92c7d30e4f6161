"""One two-host CartPole lab, run for the ``virtual-time`` figure inside the guest: a result and a tick log.

Its own program: ``python -m netlab.bench.cartpole_lab FOLDER NETWORK EPISODES``. It prints the clock when the
ticks are about to begin and when they have ended, each at once: whoever reads that outside has a clock of his own.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from netlab.engine import lab_key
from netlab.errors import LabError
from netlab.lab import Lab
from netlab.namespaces.process import HostProcess
from netlab.run_folder import run_folder
from netlab.traces.horizon import horizon_ticks
from netlab.traces.presets import parse_preset

__all__ = ["RESULT_NAME", "TICKS_NAME", "run_lab"]

RESULT_NAME, TICKS_NAME = "result.json", "ticks.jsonl"
RATE_HZ = 50.0
SEED = 1
_PORT = 7447
_BUDGET_S = 3600.0
_POLL_S = 0.1


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
        progress, gate = private / "progress", private / "gate"
        running = edge.start(
            _netlab(
                "env", "run", "--agent", address, "--key-file", key_file,
                "--actuator", "scheduled", "--horizon", horizon_ticks(pair, 1.0 / RATE_HZ),
                "--rate", RATE_HZ, "--episodes", episodes, "--seed", SEED, "--wait", "60s",
                "--progress-file", progress, "--start-when", gate,
                "--output", folder / RESULT_NAME, "--tick-log", folder / TICKS_NAME,
            )
        )  # fmt: skip
        _wait_for(progress, (serving, running))
        gate.touch()
        _print_clock()
        running.wait(_BUDGET_S)
        _print_clock()
        running.check()
        serving.check()


def _wait_for(progress: Path, services: tuple[HostProcess, ...]) -> None:
    """Wait until the environment says that it and its agent are ready."""
    for _ in range(round(_BUDGET_S / _POLL_S)):
        for service in services:
            service.check()
        if progress.exists() and progress.stat().st_size:
            return
        time.sleep(_POLL_S)
    raise LabError("the services of the virtual-time lab do not become ready")


def _print_clock() -> None:
    print(f"{time.monotonic():.9f}", flush=True)


def _netlab(*words: object) -> list[str]:
    return [sys.executable, "-P", "-m", "netlab", *(str(word) for word in words)]


if __name__ == "__main__":
    run_lab(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
