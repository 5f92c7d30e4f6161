"""The file of ``--packets``: what became of each packet, a line each, and whether that is all of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netlab.cli.command import say

if TYPE_CHECKING:
    from netlab.traces.packets.packet_log import PacketLog

__all__ = ["write_packets"]


def write_packets(path: Path, log: PacketLog) -> None:
    """Write a packet log, and say so where packets are missing in it.

    Raises:
        NetlabError: The file cannot be written.
    """
    from netlab.documents import write_document

    write_document(path, log.encode())
    if "incomplete" in log.header:
        say(f"{path} is incomplete: {log.header['incomplete']}")
