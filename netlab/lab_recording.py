"""LabRecording: the packet log of one lab, from the moment it is asked for to its end.

::

    lab.record() --> LabRecording    begin()  what counts from here on    finish() --> PacketLog

Roof: joins a lab's recorder, which knows numbers, with the names of its links and with what a file says of where
it comes from.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import netlab
from netlab.machine import machine
from netlab.namespaces.link import Link
from netlab.namespaces.recorder import Recorder
from netlab.traces.packets.packet_log import PacketLog

__all__ = ["LabRecording", "log_header"]


class LabRecording:
    """Records what happens to every packet of a lab.

    Args:
        recorder: What sees the packets.
        links: The lab's links by name; links that come later included.
        wiring: What carries the packets, as results call it.
    """

    def __init__(self, recorder: Recorder, links: Mapping[str, Link], wiring: str) -> None:
        self._recorder = recorder
        self._links = links
        self._wiring = wiring
        self._finish = functools.cache(self._finish_once)

    def begin(self) -> None:
        """Begin now: what was sent before is not in the log."""
        self._recorder.begin()

    def finish(self) -> PacketLog:
        """End now and return the log; later calls return the same one.

        Raises:
            LabError: What recorded has died.
        """
        return self._finish()

    def _finish_once(self) -> PacketLog:
        recorded = self._recorder.finish({link.plan.number: name for name, link in self._links.items()})
        header = log_header(machine(self._wiring))
        if recorded.missed:
            header["incomplete"] = f"{recorded.missed} frames were missed"
        return PacketLog.of(header, recorded.records)

    def close(self) -> None:
        """Let go of what records."""
        self._recorder.close()


def log_header(here: Mapping[str, object]) -> dict[str, str]:
    """Return what a packet log says of where it comes from.

    Args:
        here: What results say of the machine (``netlab.machine.machine``).
    """
    return {
        "netlab": netlab.__version__,
        "engine": str(here["engine"]),
        "clock": str(here["clock"]),
        "kernel": str(here["guest"] or here["kernel"]),
    }
