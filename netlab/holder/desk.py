"""Desk: what a lab's holder does about each request.

::

    Door --request--> Desk --ShowLab----> LabReport, read back from the kernel
                       |  `--SetLinks---> LabChanges: all at one moment, then read back
                       |  |--AskLink----> LinkAsked, what it is to do, tables included
                       |  `--RunCommand-> serve_command, until the program or its client ends
                       `-----EndLab-----> Farewell keeps the link; the holder's main thread is told
"""

from __future__ import annotations

import contextlib
import platform
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from netlab.errors import NetlabError, WireError
from netlab.holder.asked import report_asked
from netlab.holder.changes import LabChanges
from netlab.holder.command import serve_command
from netlab.holder.farewell import Farewell
from netlab.holder.frames import Received, send_frame
from netlab.holder.messages import (
    AskLink,
    EndLab,
    Refused,
    RunCommand,
    SetLinks,
    ShowLab,
)
from netlab.holder.reading import report_hosts, report_links, report_media
from netlab.holder.record import LOG_FILE, LabRecord
from netlab.holder.report import LabReport
from netlab.lab import Lab
from netlab.namespaces.cgroup_folder import CgroupFolder
from netlab.namespaces.process import HostProcess

__all__ = ["Desk"]


class Desk:
    """Answers for one lab.

    Args:
        lab: The lab, open.
        record: What is written of it.
        folder: Where its log is.
        group: Its control groups, entered.
        no_group: Why there are none.
        farewell: Keeps those who ask for the lab's end until it has come.
        end: Called when somebody asks for its end.
    """

    def __init__(
        self,
        lab: Lab,
        record: LabRecord,
        folder: Path,
        group: CgroupFolder,
        no_group: str,
        farewell: Farewell,
        end: Callable[[], None],
    ) -> None:
        self._lab = lab
        self._record = record
        self._folder = folder
        self._group = group
        self._no_group = no_group
        self._farewell = farewell
        self._end = end
        self._up_s = time.monotonic()
        self._changes = LabChanges(lab, self._up_s)
        self._commands: list[tuple[str, HostProcess]] = []

    def answer(self, link: socket.socket, received: Received) -> None:
        """Answer one request.

        Raises:
            WireError: The client breaks the protocol or is gone.
        """
        message = received.message
        try:
            if isinstance(message, RunCommand):
                serve_command(link, received, self._lab, self._registered)
            elif isinstance(message, ShowLab):
                send_frame(link, self.report())
            elif isinstance(message, SetLinks):
                send_frame(link, self._changes.make(message))
            elif isinstance(message, AskLink):
                send_frame(link, report_asked(self._lab, message))
            elif isinstance(message, EndLab):
                self._end_lab(link)
            else:
                send_frame(link, Refused(message="there is no command to signal"))
        except WireError:  # the link is what failed: nothing more can be said there
            raise
        except NetlabError as error:
            send_frame(link, Refused.of(error))

    def _end_lab(self, link: socket.socket) -> None:
        try:
            self._farewell.expect(link)
        finally:  # who asked for it may have gone; it is asked for all the same
            self._end()

    def report(self) -> LabReport:
        """Return what there is, read back from the kernel.

        Raises:
            KernelError: A qdisc has been deleted by someone else.
        """
        lab, record, player = self._lab, self._record, self._lab.player
        return LabReport(
            id=record.id,
            name=record.name,
            holder_pid=record.holder.pid,
            engine=record.engine,
            kernel=f"{platform.system()} {platform.release()}",
            spec=record.spec,
            version=record.version,
            uptime_s=time.monotonic() - self._up_s,
            seed=record.seed,
            seeded=lab.seeded,
            playing=player is not None and player.is_playing(),
            played=msgspec.to_builtins(player.counts) if player is not None else {},
            hosts=report_hosts(lab, list(self._commands)),
            links=report_links(lab),
            media=report_media(lab),
            changes=self._changes.newest(),
            use=self._group.use() if not self._no_group else None,
            no_use=self._no_group,
            problem=self._problem(),
            warnings=lab.warnings,
            log=str(self._folder / LOG_FILE),
        )

    def _problem(self) -> str:
        try:
            self._lab.check()
        except NetlabError as error:
            return str(error)
        return ""

    @contextlib.contextmanager
    def _registered(self, host: str, process: HostProcess) -> Iterator[None]:
        entry = (host, process)
        self._commands.append(entry)
        try:
            yield
        finally:
            self._commands.remove(entry)
