"""RelayRecorder: says what happened to each packet of a relayed lab: the relay itself writes it down.

::

    begin --Record + file--> relay --a line a packet--> file --finish--> PacketRecord ...
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from netlab.namespaces.netlink_ack import refusal
from netlab.namespaces.recorder import Recorded
from netlab.namespaces.relay.packet_file import link_label
from netlab.namespaces.relay.process import RelayProcess
from netlab.namespaces.relay.requests import Record
from netlab.traces.packets.packet_log import PacketLog

__all__ = ["RelayRecorder"]


class RelayRecorder:
    """Records all links of a relay; what is in flight at the end is pending.

    Args:
        relay: The relay process.
    """

    def __init__(self, relay: RelayProcess) -> None:
        self._relay = relay
        self._fd = -1

    def begin(self) -> None:
        """Begin now: what was sent before is not recorded.

        Raises:
            KernelError: No file descriptor is left.
            LabError: The relay is dead.
        """
        self.close()
        try:
            self._fd = os.memfd_create("netlab-packets", os.MFD_CLOEXEC)
        except OSError as error:
            raise refusal("make a file for the packet log", error.errno or 0) from error
        try:
            self._relay.ask(Record(starts=True), "begin a packet log", [self._fd])
        except BaseException:
            self.close()
            raise

    def finish(self, links: Mapping[int, str]) -> Recorded:
        """End now and return what was seen; see ``Recorder.finish``.

        Raises:
            LabError: The relay is dead.
        """
        missed = self._relay.ask(Record(starts=False), "end the packet log").missed
        text = os.pread(self._fd, os.fstat(self._fd).st_size, 0)
        names = {link_label(number): name for number, name in links.items()}
        records = [
            msgspec.structs.replace(record, link=names[record.link])
            for record in PacketLog.decode(text, "the relay's packet log").records
            if record.link in names and record.sent_ns >= 0
        ]
        # A packet stays before its further copies: they were sent at one moment.
        return Recorded(list(PacketLog.of({}, records).records), missed)

    def close(self) -> None:
        """Let go of the file; may be called again."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
