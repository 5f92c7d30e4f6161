"""run_commands: a lab without an episode: the commands of its hosts, until they have ended."""

from __future__ import annotations

import time
from typing import NamedTuple

from netlab.lab import Lab
from netlab.lab_spec import LabSpec
from netlab.namespaces.process import HostProcess
from netlab.namespaces.wire import Wiring
from netlab.traces.packets.packet_log import PacketLog

__all__ = ["Ended", "run_commands"]

_LOOK_S = 0.05
_SIGNALLED = 128


class Ended(NamedTuple):
    """How the commands have ended.

    Attributes:
        status: Exit status of the first that failed; 0 where all did well. 128 + N when signal N killed it.
        lines: The last lines of each, with the names of their hosts.
        packets: What happened to each packet; None where nobody asked.
    """

    status: int
    lines: list[str]
    packets: PacketLog | None


def run_commands(lab: LabSpec, path: str, seed: int | None, wiring: Wiring, *, is_recorded: bool) -> Ended:
    """Make the lab, run the commands of its hosts until all have ended or one has failed, take it down.

    Args:
        lab: The spec.
        path: The file it came from.
        seed: In place of the spec's.
        wiring: What carries the packets.
        is_recorded: Whether to record them.

    Raises:
        SpecError: The lab cannot be made of this spec.
        KernelError: The kernel refuses.
        LabError: What carries the packets has died.
    """
    with Lab(seed=seed, spec=lab, spec_path=path, wiring=wiring) as opened:
        recording = opened.record() if is_recorded else None
        opened.play()
        names = [name for name, host in lab.hosts.items() if host.command]
        running = dict(zip(names, opened.start_commands(), strict=True))
        failed = _wait(opened, list(running.values()))
        opened.check_links()
        status = 0 if failed is None else failed
        lines = [
            f"{name}: {line}" for name, process in running.items() for line in process.last_lines().splitlines()
        ]
        return Ended(status, lines, None if recording is None else recording.finish())


def _wait(lab: Lab, processes: list[HostProcess]) -> int | None:
    """Wait until all have ended or one has failed; return the status of that one."""
    left = processes
    while left:
        lab.check_links()
        for process in left:
            status = process.poll()
            if status:
                return status if status > 0 else _SIGNALLED - status
        left = [process for process in left if process.poll() is None]
        if left:
            time.sleep(_LOOK_S)
    return None
