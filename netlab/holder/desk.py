"""Desk: what a lab's holder does about each request.

::

    Door --request--> Desk --ShowLab----> LabReport, read back from the kernel
                       |  `--SetLinks---> change_links: all at one moment, then read back; then media
                       |  `--RunCommand-> HeldCommand, until it or its client ends
                       `-----EndLab-----> the holder's main thread is told
"""

from __future__ import annotations

import contextlib
import difflib
import platform
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from netlab.errors import KernelError, LabError, NetlabError, SpecError
from netlab.holder.command import serve_command
from netlab.holder.frames import Received, send_frame
from netlab.holder.medium_wish import MEDIUM_PREFIX, MediumWish
from netlab.holder.messages import (
    Ending,
    EndLab,
    LinksSet,
    LinkWish,
    Refused,
    RunCommand,
    SetLinks,
    ShowLab,
)
from netlab.holder.reading import report_hosts, report_links, report_media
from netlab.holder.record import LOG_FILE, LabRecord
from netlab.holder.report import ChangeReport, LabReport, state_document
from netlab.lab import Lab
from netlab.namespaces.cgroup_folder import CgroupFolder
from netlab.namespaces.link import Link
from netlab.namespaces.link_change import AppliedChange, LinkChange, change_links
from netlab.namespaces.process import HostProcess
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.seed import Direction

__all__ = ["Desk"]

_CHANGES_KEPT = 1000


class Desk:
    """Answers for one lab.

    Args:
        lab: The lab, open.
        record: What is written of it.
        folder: Where its log is.
        group: Its control groups, entered.
        no_group: Why there are none.
        end: Called when somebody asks for its end.
    """

    def __init__(
        self,
        lab: Lab,
        record: LabRecord,
        folder: Path,
        group: CgroupFolder,
        no_group: str,
        end: Callable[[], None],
    ) -> None:
        self._lab = lab
        self._record = record
        self._folder = folder
        self._group = group
        self._no_group = no_group
        self._end = end
        self._up_s = time.monotonic()
        self._changes: deque[ChangeReport] = deque(maxlen=_CHANGES_KEPT)
        self._commands: list[tuple[str, HostProcess]] = []
        self._change_turn = threading.Lock()

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
                send_frame(link, self.set_links(message))
            elif isinstance(message, EndLab):
                send_frame(link, Ending())
                self._end()
            else:
                send_frame(link, Refused(message="there is no command to signal"))
        except NetlabError as error:
            send_frame(link, Refused.of(error))

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
            changes=list(self._changes),
            use=self._group.use() if not self._no_group else None,
            no_use=self._no_group,
            problem=self._problem(),
            warnings=lab.warnings,
            log=str(self._folder / LOG_FILE),
        )

    def set_links(self, asked: SetLinks) -> LinksSet:
        """Change links, all at one moment, then media, and prove it.

        Raises:
            SpecError: There is no such link or medium, or a direction of a medium is asked for.
            ProfileError: A profile is none, or is a schedule.
            LabError: A schedule is being played on one of them.
            KernelError: A change was refused or shows otherwise; says which took hold all the same.
        """
        media = [self._find_medium(wish, asked) for wish in asked.wishes if wish.link.startswith(MEDIUM_PREFIX)]
        wishes = [wish for wish in asked.wishes if not wish.link.startswith(MEDIUM_PREFIX)]
        links = [self._find_link(wish.link) for wish in wishes]
        pairs = [parse_preset(wish.profile) for wish in wishes]
        for wish, pair in zip(wishes, pairs, strict=True):
            _require_steady(wish.link, pair, asked.direction)
        wanted = [
            LinkChange(link, _part(pair, asked.direction), asked.direction)
            for link, pair in zip(links, pairs, strict=True)
        ]
        with self._change_turn:
            if asked.stop_playing:
                self._lab.stop_playing()
            try:
                applied = change_links(links[0].wire, wanted) if links else []
            except LabError as error:
                playing = self._lab.player is not None and self._lab.player.is_playing()
                hint = "--stop-playing stops the lab's schedules first" if playing else error.hint
                raise LabError(error.message, hint=hint) from error
            changes = [self._report_change(change) for change in applied]
            changes += [self._change_medium(wish) for wish in media]
        self._changes.extend(changes)
        _require_all(changes)
        warnings = [text for pair in pairs for text in pair.warnings()]
        return LinksSet(changes=changes, warnings=list(dict.fromkeys(warnings)))

    def _report_change(self, change: AppliedChange) -> ChangeReport:
        return ChangeReport(
            link=change.link,
            direction=change.direction,
            state=state_document(change.state),
            asked_s=change.asked_s - self._up_s,
            applied_s=change.applied_s - self._up_s,
            refusal=str(change.refusal) if change.refusal is not None else "",
        )

    def _find_medium(self, wish: LinkWish, asked: SetLinks) -> MediumWish:
        if asked.direction is not None:
            hint = "leave --direction out, or change links and media one after the other"
            raise SpecError("a medium is shared by both directions", key=wish.link, hint=hint)
        found = MediumWish.read(self._lab, wish)
        _ = found.state  # refuses what is none before anything changes
        return found

    def _change_medium(self, wish: MediumWish) -> ChangeReport:
        asked_s, refusal = time.monotonic(), ""
        try:
            wish.apply()
        except KernelError as error:
            refusal = str(error)
        return ChangeReport(
            link=f"{MEDIUM_PREFIX}{wish.medium.name}",
            direction="shared",
            state=state_document(wish.state),
            asked_s=asked_s - self._up_s,
            applied_s=time.monotonic() - self._up_s,
            refusal=refusal,
        )

    def _problem(self) -> str:
        try:
            self._lab.check()
        except NetlabError as error:
            return str(error)
        return ""

    def _find_link(self, name: str) -> Link:
        link = self._lab.links.get(name)
        if link is None:
            close = difflib.get_close_matches(name, list(self._lab.links), 1)
            known = ", ".join(self._lab.links)[:500] or "none"
            hint = f"did you mean {close[0]!r}?" if close else f"its links: {known}"
            raise SpecError(f"{name!r:.80} is no link of lab {self._lab.name}", key="link", hint=hint)
        return link

    @contextlib.contextmanager
    def _registered(self, host: str, process: HostProcess) -> Iterator[None]:
        entry = (host, process)
        self._commands.append(entry)
        try:
            yield
        finally:
            self._commands.remove(entry)


def _part(pair: ProfilePair, direction: Direction | None) -> ProfilePair | LinkProfile:
    if direction is None:
        return pair
    part = pair.forward if direction == "forward" else pair.back
    assert isinstance(part, LinkProfile)  # _require_steady
    return part


def _require_steady(link: str, pair: ProfilePair, direction: Direction | None) -> None:
    """Refuse a schedule: a link that stays is changed by hand to one profile."""
    parts = [pair.forward] * (direction != "back") + [pair.back] * (direction != "forward")
    if not all(isinstance(part, LinkProfile) for part in parts):
        hint = "give a profile without steps here, or the schedule in the spec of a new lab"
        raise SpecError(f"{pair.name!r:.80} is a schedule", key=link, hint=hint)


def _require_all(changes: list[ChangeReport]) -> None:
    """Refuse to call it done where a direction did not change.

    Raises:
        KernelError: Names those that did not, and those that did.
    """
    refused = [f"{change.link} {change.direction}: {change.refusal}" for change in changes if change.refusal]
    if refused:
        done = [f"{change.link} {change.direction}" for change in changes if not change.refusal]
        rest = f"; changed all the same: {', '.join(done)}" if done else ""
        hint = "netlab lab show tells what is in force"
        raise KernelError("change every link as asked", 0, "; ".join(refused) + rest, hint)
