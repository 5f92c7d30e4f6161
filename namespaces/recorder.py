"""Recorder: says what happened to each packet of a lab, whoever carries it. No code: a protocol and its result.

::

    Wire.record() --> Recorder   begin() ... finish(links) --> Recorded: PacketRecord ..., frames missed
                        |- KernelRecorder   kernel_recorder.py: the kernel's taps, and what they saw matched
                        `- RelayRecorder    relay/recorder.py: the relay writes what it does
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from netlab.traces.packets.packet_log import PacketRecord

__all__ = ["Recorded", "Recorder"]


class Recorded(NamedTuple):
    """What a recorder has seen.

    Attributes:
        records: A record a packet and further copy, times from ``begin``.
        missed: Frames that it should have seen and did not.
    """

    records: list[PacketRecord]
    missed: int


class Recorder(Protocol):
    """Records the packets of all links of one lab."""

    def begin(self) -> None:
        """Begin now: what was sent before is not recorded.

        Raises:
            LabError: What records has died.
        """
        ...

    def finish(self, links: Mapping[int, str]) -> Recorded:
        """End now and return what was seen.

        Args:
            links: Names of the links by their numbers.

        Raises:
            LabError: What records has died.
        """
        ...

    def close(self) -> None:
        """Let go of what records; may be called again."""
        ...
