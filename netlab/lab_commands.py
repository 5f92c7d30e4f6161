"""run_commands: a lab without an episode: the commands of its hosts, until they have ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
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


def run_commands(
    lab: LabSpec, path: str, seed: int | None, wiring: Wiring, say: Callable[[str], None], *, is_recorded: bool
) -> Ended:
    """Make the lab, run the commands of its hosts until all have ended, take it down.

    Args:
        lab: The spec.
        path: The file it came from.
        seed: In place of the spec's.
        wiring: What carries the packets.
        say: Told of each command that fails, when it does.
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
        status = _wait(opened, running, say)
        opened.check_links()
        lines = [
            f"{name}: {line}" for name, process in running.items() for line in process.last_lines().splitlines()
        ]
        return Ended(status, lines, None if recording is None else recording.finish())


def _wait(lab: Lab, running: Mapping[str, HostProcess], say: Callable[[str], None]) -> int:
    """Wait until all have ended; return the status of the first that failed, 0 where none did."""
    left, first = dict(running), 0
    while left:
        lab.check_links()
        for name, process in list(left.items()):
            status = process.poll()
            if status is None:
                continue
            del left[name]
            if status:
                first = first or (status if status > 0 else _SIGNALLED - status)
                how = f"failed with status {status}" if status > 0 else f"was killed by signal {-status}"
                more = f"; waiting for {', '.join(left)}" if left else ""
                say(f"the command of {name} {how}{more}")
        if left:
            time.sleep(_LOOK_S)
    return first
