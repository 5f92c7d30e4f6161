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

from netlab.episode.quiet import packets_sent, wait_for_quiet
from netlab.episode.run import EpisodePlan, EpisodeRun, read_ticks, until_goodbye
from netlab.errors import LabError
from netlab.lab import Lab
from netlab.lab_key import lab_key
from netlab.lab_recording import LabRecording
from netlab.namespaces.host import Host
from netlab.namespaces.process import HostProcess
from netlab.namespaces.wire import Wiring
from netlab.run_folder import run_folder
from netlab.service_run import ServicePlan, Stage, run_services
from netlab.start_gate import StartGate
from netlab.traces.packets.packet_log import PacketLog

__all__ = ["play_in_lab"]

_QUIET_KEY = "restless"
_REPORTED_S = 5.0


def play_in_lab(plan: EpisodePlan, wiring: Wiring, say: Callable[[str], None] = lambda text: None) -> EpisodeRun:
    """Make the lab, play, take it down.

    Args:
        plan: What to play.
        wiring: What carries the packets.
        say: Told what a person must know of the lab before trusting what it shows.

    Raises:
        LabError: A program of the lab or what carries its packets died.
        KernelError: The kernel cannot do what the lab needs.
    """
    with run_folder("lab") as folder:
        key_file, ticks_file = folder / "lab.key", folder / "ticks.jsonl"
        lab_key().write(key_file)
        with Lab(seed=plan.seed, spec=plan.lab, spec_path=plan.path, wiring=wiring) as lab:
            for text in lab.warnings:
                say(text)
            lab.start_commands()
            stage = Stage(lab, lab.hosts[plan.episode.edge], lab.hosts[plan.episode.agent], folder)
            start = _FreshStart(stage, lab.record())
            gate = StartGate(folder / "start", 1)
            played = run_services(stage, _service_plan(plan, key_file, ticks_file), gate, before_start=start.begin)
            time.sleep(plan.settling_s)
            packets = start.finish()
            lab.check()
        ticks = read_ticks(ticks_file)
    for key in packets.header.keys() & {_QUIET_KEY}:
        say(f"{packets.header[key]}: corners may not agree")
    packets = until_goodbye(packets, plan, len(ticks))
    return EpisodeRun(result=played.run, ticks=ticks, packets=packets)


class _FreshStart:
    """The moment from which packet i of a link meets draw i, and what is recorded from then on.

    Args:
        stage: The lab and the two hosts whose services have nothing to say but heartbeats.
        recording: Of the lab's packets.
    """

    def __init__(self, stage: Stage, recording: LabRecording) -> None:
        self._stage = stage
        self._recording = recording
        self._was_quiet = True

    def begin(self) -> None:
        """Handshake and heartbeats have drawn from the links: put them afresh, and record."""
        self._was_quiet = wait_for_quiet([_sender(self._stage.edge), _sender(self._stage.agent)])
        self._stage.lab.restart_links()
        self._recording.begin()

    def finish(self) -> PacketLog:
        """Return what was recorded; its header says where there was no quiet moment to begin in."""
        log = self._recording.finish()
        if self._was_quiet:
            return log
        words = "the links were put afresh without a quiet moment: heartbeats may have taken draws of others"
        return PacketLog(log.header | {_QUIET_KEY: words}, log.records)


def _sender(host: Host) -> Callable[[], int]:
    """Return what tells how many packets a host has sent, by the service that was started there last."""
    return functools.partial(_packets_sent, host.processes[-1])


def _packets_sent(process: HostProcess) -> int:
    """Return how many packets have left the namespace of a process.

    Raises:
        LabError: The process has ended, and its namespace cannot be asked any more.
    """
    try:
        return packets_sent(process.pid)
    except OSError as error:
        process.wait(_REPORTED_S)  # the keeper is about to say how
        process.check()
        raise LabError(f"{process.label} (pid {process.pid}) ended before the first observation") from error


def _service_plan(plan: EpisodePlan, key_file: Path, ticks_file: Path) -> ServicePlan:
    episode = plan.episode
    return ServicePlan(
        label=plan.lab.name or "lab",
        key_file=key_file,
        task=episode.task,
        options=episode.options,
        rate_hz=plan.rate_hz,
        transport=episode.transport,
        policy=plan.policy,
        inference_s=episode.inference_s,
        actuator=episode.actuator,
        horizon_ticks=plan.horizon_ticks,
        fallback=episode.fallback,
        episodes=episode.episodes,
        seed=plan.seed,
        tick_log=str(ticks_file),
    )
