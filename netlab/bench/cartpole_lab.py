"""One two-host CartPole lab, run for the ``virtual-time`` figure inside the guest: a result and a tick log.

Its own program: ``python -m netlab.bench.cartpole_lab FOLDER NETWORK EPISODES``. It prints the clock when the
ticks are about to begin and when they have ended, each at once: whoever reads that outside has a clock of his own.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from netlab.envs.result import encode_result
from netlab.host_files import refuse_host_databases
from netlab.lab import Lab
from netlab.lab_key import lab_key
from netlab.run_folder import run_folder
from netlab.service_run import ServicePlan, Stage, run_services
from netlab.start_gate import StartGate
from netlab.traces.horizon import horizon_ticks
from netlab.traces.presets import parse_preset

__all__ = ["RESULT_NAME", "TICKS_NAME", "run_lab"]

RESULT_NAME, TICKS_NAME = "result.json", "ticks.jsonl"
RATE_HZ = 50.0
SEED = 1
_LOOK_S = 2.0
"""Each look is work, of which the ratio is to have little."""


def run_lab(folder: Path, network: str, episodes: int) -> None:
    """Play the episodes over the network and write what came of them into a folder."""
    pair = parse_preset(network)
    with run_folder("virtual-time") as private, Lab("virtual-time", seed=SEED) as lab:
        key_file = private / "lab.key"
        lab_key().write(key_file)
        stage = Stage(lab, lab.add_host("edge"), lab.add_host("agent"), private)
        lab.add_link(stage.edge, stage.agent, pair)
        plan = ServicePlan(
            label=lab.name,
            key_file=key_file,
            rate_hz=RATE_HZ,
            policy="linear-predict",
            actuator="scheduled",
            horizon_ticks=horizon_ticks(pair, 1.0 / RATE_HZ),
            episodes=episodes,
            seed=SEED,
            tick_log=str(folder / TICKS_NAME),
        )
        played = run_services(stage, plan, _ClockedGate(private / "start", 1), look_s=_LOOK_S)
        _print_clock()
        (folder / RESULT_NAME).write_bytes(encode_result(played.run))


class _ClockedGate(StartGate):
    """Says at what time it opens."""

    def ready(self) -> None:
        """Say the time, and open."""
        _print_clock()
        super().ready()


def _print_clock() -> None:
    print(f"{time.monotonic():.9f}", flush=True)


if __name__ == "__main__":
    refuse_host_databases()
    run_lab(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
