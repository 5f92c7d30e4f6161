"""play_in_lab: a plan's episodes by the services in the hosts of a lab, whatever carries its packets.

::

    Lab up, commands of its hosts --> agent serve, env run --ready--> links afresh, log begins --> gate
                                                                                                     |
    EpisodeRun <-- result, tick log, packet log <-- what is in flight arrives <-- episodes played <--'
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from pathlib import Path

from netlab.engine import lab_key
from netlab.episode.quiet import packets_sent, wait_for_quiet
from netlab.episode.run import EpisodePlan, EpisodeRun, read_ticks, until_goodbye
from netlab.lab import Lab
from netlab.namespaces.host import Host
from netlab.namespaces.wire import Wiring
from netlab.run_folder import run_folder
from netlab.share import Cell, Share, Stage, Surroundings, run_services
from netlab.start_gate import StartGate
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile

__all__ = ["play_in_lab"]

_SETTLE_S = 1.0
"""How long packets may be in flight after the last tick; the longest presets take half of it."""


def play_in_lab(plan: EpisodePlan, wiring: Wiring, say: Callable[[str], None] = lambda text: None) -> EpisodeRun:
    """Make the lab, play, take it down.

    Args:
        plan: What to play.
        wiring: What carries the packets.
        say: Told what a person must know of the lab before trusting what it shows.

    Raises:
        LabError: A service died.
        KernelError: The kernel cannot do what the lab needs.
    """
    with run_folder("lab") as folder:
        key_file, ticks_file = folder / "lab.key", folder / "ticks.jsonl"
        lab_key().write(key_file)
        with Lab(seed=plan.seed, spec=plan.lab, spec_path=plan.path, wiring=wiring) as lab:
            for text in lab.warnings:
                say(text)
            lab.start_commands()
            recording = lab.record()

            stage = Stage(lab, lab.hosts[plan.episode.edge], lab.hosts[plan.episode.agent], folder)

            def begin() -> None:
                # Handshake and heartbeats have drawn from the links: from here on packet i meets draw i.
                wait_for_quiet([_sender(stage.edge), _sender(stage.agent)])
                lab.restart_links()
                recording.begin()

            gate = StartGate(folder / "start", 1)
            share, surroundings = _share(plan, ticks_file), _surroundings(plan, key_file, wiring)
            played = run_services(stage, share, surroundings, gate, lambda share, progress: None, begin)
            time.sleep(_SETTLE_S)
            packets = recording.finish()
        ticks = read_ticks(ticks_file)
    packets = until_goodbye(packets, plan, len(ticks))
    return EpisodeRun(result=played.run, ticks=ticks, packets=packets)


def _sender(host: Host) -> Callable[[], int]:
    """Return what tells how many packets a host has sent, by the service that was started there last."""
    return functools.partial(packets_sent, host.processes[-1].pid)


def _share(plan: EpisodePlan, ticks_file: Path) -> Share:
    episode = plan.episode
    cell = Cell(
        network=plan.link.profile,
        policy=episode.policy,
        actuator=episode.actuator,
        fallback=episode.fallback,
        inference_s=episode.inference_s,
    )
    return Share(
        cell=cell,
        cell_index=0,
        pair=plan.pair or ProfilePair("clean", LinkProfile(), LinkProfile()),
        horizon_ticks=plan.horizon_ticks,
        episodes=episode.episodes,
        seed=plan.seed,
        label=plan.lab.name or "lab",
        tick_log=str(ticks_file),
    )


def _surroundings(plan: EpisodePlan, key_file: Path, wiring: Wiring) -> Surroundings:
    return Surroundings(
        task=plan.episode.task,
        rate_hz=plan.episode.rate_hz,
        transport=plan.episode.transport,
        key_file=key_file,
        wiring=wiring,
    )
