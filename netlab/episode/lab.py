"""play_in_lab: a plan's episodes by the services in the hosts of a lab, whatever carries its packets.

::

    Lab up, commands of its hosts --> agent serve, env run --ready--> links afresh, log begins --> gate
                                                          ^                                          |
                                                          |--again, until all are played-- an episode played
    EpisodeRun <-- result, tick log, packet log <---------'                               what is in flight arrives
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from pathlib import Path

from netlab.envs.virtual.seeds import first_change
from netlab.episode.played_packets import of_episodes, ticks_of_episodes
from netlab.episode.quiet import packets_sent, wait_for_quiet
from netlab.episode.run import EpisodePlan, EpisodeRun, read_ticks
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

_LOOK_S = 0.02
"""How soon it is seen that an episode has ended."""
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
            starts = _FreshStarts(stage, lab.record(), plan.settling_s)
            gate = StartGate(folder / "start", 1)
            services = _service_plan(plan, key_file, ticks_file)
            played = run_services(stage, services, gate, renew=starts.begin, look_s=_LOOK_S)
            time.sleep(plan.settling_s)
            packets = starts.finish()
            lab.check()
        ticks = read_ticks(ticks_file)
    for key in packets.header.keys() & {_QUIET_KEY}:
        say(f"{packets.header[key]}: corners may not agree")
    packets = of_episodes(packets, plan, ticks_of_episodes(ticks), starts.begun_ns)
    return EpisodeRun(result=played.run, ticks=ticks, packets=packets)


class _FreshStarts:
    """The moments from which packet i of an episode meets draw i, and what is recorded from the first one on.

    Args:
        stage: The lab and the two hosts whose services have nothing to say but heartbeats.
        recording: Of the lab's packets.
        settling_s: How long after an episode's end a packet may still be under way.

    Attributes:
        begun_ns: Those moments, from the first one.
    """

    def __init__(self, stage: Stage, recording: LabRecording, settling_s: float) -> None:
        self.begun_ns: list[int] = []
        self._stage = stage
        self._recording = recording
        self._settling_s = settling_s
        self._was_quiet = True
        self._first_ns = 0

    def begin(self, episode: int) -> None:
        """Put the links afresh, from which all that was sent before has drawn; record from the first time on."""
        lab = self._stage.lab
        if episode:
            time.sleep(self._settling_s)
            lab.stop_playing()
        self._was_quiet &= wait_for_quiet([_sender(self._stage.edge), _sender(self._stage.agent)])
        lab.restart_links(first_change(episode))
        if not episode:
            self._recording.begin()
            self._first_ns = time.monotonic_ns()
        self.begun_ns.append(time.monotonic_ns() - self._first_ns)

    def finish(self) -> PacketLog:
        """Return what was recorded; its header says where there was no quiet moment to begin in."""
        log = self._recording.finish()
        if self._was_quiet:
            return log
        words = "links were put afresh without a quiet moment: heartbeats may have taken draws of others"
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
