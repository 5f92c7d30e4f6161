"""What a lab's holder is asked and what it answers. Plain data; docs/labs.md says who says what when.

::

    netlab lab up    -- LabOrder -->  <-- Refused | Published --  -- Kept -->          (the holder's birth)
    netlab lab set   -- SetLinks -->  <-- Refused | LinksSet --
    netlab lab show  -- ShowLab  -->  <-- Refused | LabReport --                       (netlab/holder/report.py)
    netlab probe lab -- AskLink  -->  <-- Refused | LinkAsked --
    netlab lab down  -- EndLab   -->  <-- Ending --  <-- LabEnded --       (all is gone but the process itself)
    netlab lab exec  -- RunCommand + three descriptors -->  <-- Refused | Started --
                     -- SignalCommand ... -->               <-- CommandEnded --
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from netlab.errors import NetlabError
from netlab.holder.record import LabRecord
from netlab.holder.report import ChangeReport, LabReport
from netlab.namespaces.relay.requests import PlainState
from netlab.traces.seed import Direction

__all__ = [
    "BIRTH_ORDERS", "BIRTH_REPLIES", "REPLIES", "REQUESTS",
    "AskLink", "CommandEnded", "EndLab", "Ending", "Kept", "LabEnded", "LabOrder", "LinkAsked", "LinkWish",
    "LinksSet", "Published",
    "Refused", "Reply", "Request", "RunCommand", "SetLinks", "ShowLab", "SignalCommand", "Started", "problems_of",
]  # fmt: skip

Name = Annotated[str, Meta(max_length=256)]


class LabOrder(Struct, frozen=True, kw_only=True, tag=True, forbid_unknown_fields=True):
    """Make this lab.

    Attributes:
        spec: The spec file, absolute.
        name: In place of the spec's; empty for the spec's.
        seed: In place of the spec's.
        engine: What carries its packets.
    """

    spec: str
    name: str = ""
    seed: int | None = None
    engine: Literal["host", "relay"] = "host"


class Published(Struct, frozen=True, tag=True):
    """The lab is up.

    Attributes:
        record: What is written of it.
        warnings: What a person must know of it.
    """

    record: LabRecord
    warnings: list[str]


class Kept(Struct, frozen=True, tag=True):
    """Whoever ordered the lab knows that it is up: from now on it stays."""


class Refused(Struct, frozen=True, kw_only=True, tag=True):
    """An error, as the one who asked is to see it.

    Attributes:
        message: What went wrong.
        hint: What to do now.
        exit_code: Of the command.
    """

    message: str
    hint: str = ""
    exit_code: int = 1

    @classmethod
    def of(cls, error: BaseException) -> Refused:
        """Put an error, or a group of them, into words that travel."""
        hint, exit_code = (error.hint, error.exit_code) if isinstance(error, NetlabError) else ("", 1)
        return cls(message="; ".join(problems_of(error)), hint=hint, exit_code=exit_code)

    def error(self) -> NetlabError:
        """Return it as an error to raise."""
        error = NetlabError(self.message, self.hint)
        error.exit_code = self.exit_code
        return error


def problems_of(error: BaseException) -> list[str]:
    """Return an error, each of a group of them, and what has been noted on it while closing, in words."""
    if isinstance(error, BaseExceptionGroup):
        return [text for one in error.exceptions for text in problems_of(one)]
    first = str(error) if isinstance(error, NetlabError) else f"an error of netlab's own: {error!r:.500}"
    hint = f"hint: {error.hint}" if isinstance(error, NetlabError) else ""
    notes = [note for note in getattr(error, "__notes__", ()) if note != hint]
    return [" ".join([first, *(f"({note})" for note in notes)])]


class ShowLab(Struct, frozen=True, tag=True):
    """Tell what there is, as the kernel has it."""


class EndLab(Struct, frozen=True, tag=True):
    """End the lab and yourself."""


class Ending(Struct, frozen=True, tag=True):
    """It has begun; how it went follows."""


class LabEnded(Struct, frozen=True, tag=True):
    """The lab has been closed; the end of the process is all that is still to come.

    Attributes:
        problems: What could not be closed as it should, or has not been seen to go.
    """

    problems: list[str]


class LinkWish(Struct, frozen=True, kw_only=True):
    """A link or a medium, and what it is to do.

    Attributes:
        link: Its name; ``medium:`` before that of a medium.
        profile: What ``parse_preset`` understands; a file's name is absolute. Rate and queue of a medium.
    """

    link: Name
    profile: Annotated[str, Meta(max_length=65536)]


class SetLinks(Struct, frozen=True, kw_only=True, tag=True):
    """Change links, all at one moment.

    Attributes:
        wishes: Which, and to what.
        direction: The one direction to change; both where it is None.
        stop_playing: Stop the lab's schedules first.
    """

    wishes: Annotated[list[LinkWish], Meta(min_length=1, max_length=16384)]
    direction: Direction | None = None
    stop_playing: bool = False


class LinksSet(Struct, frozen=True, tag=True):
    """They are changed, and read back.

    Attributes:
        changes: One entry a direction.
        warnings: What a person must know of the profiles.
    """

    changes: list[ChangeReport]
    warnings: list[str]


class AskLink(Struct, frozen=True, kw_only=True, tag=True):
    """Tell what a link is asked to do now.

    Attributes:
        link: Its name; empty for the only one.
    """

    link: Name = ""


class LinkAsked(Struct, frozen=True, kw_only=True, tag=True):
    """What a link is asked to do now.

    Attributes:
        link: Its name.
        hosts: Who sends forward, and who back.
        addresses: Theirs on the link.
        forward: The state last taken, tables and seed included (``from_plain``); None where nothing is done.
        back: Likewise.
        playing: Whether a schedule changes it by itself.
        medium: What it shares with other links; empty for nothing.
        seeded: Whether its seeds decide what it does.
    """

    link: str
    hosts: tuple[str, str]
    addresses: tuple[str, str]
    forward: PlainState | None
    back: PlainState | None
    playing: bool
    medium: str
    seeded: bool


class RunCommand(Struct, frozen=True, kw_only=True, tag=True):
    """Run a program in a host; its stdin, stdout and stderr ride along.

    Attributes:
        host: Name of the host.
        argv: Program and arguments, as bytes.
        env: Its environment, but for what tells it of the lab.
        cwd: The folder it starts in.
        ignored_signals: Signals it starts with ignored.
        terminal: Its stdin is a terminal, to be its own.
    """

    host: Name
    argv: Annotated[list[bytes], Meta(min_length=1)]
    env: list[tuple[bytes, bytes]]
    cwd: bytes
    ignored_signals: list[int] = []
    terminal: bool = False


class Started(Struct, frozen=True, tag=True):
    """The program runs.

    Attributes:
        pid: Its process id.
    """

    pid: int


class SignalCommand(Struct, frozen=True, tag=True):
    """Signal the program and its group.

    Attributes:
        number: Of the signal.
    """

    number: Annotated[int, Meta(gt=0, le=64)]


class CommandEnded(Struct, frozen=True, tag=True):
    """The program has ended.

    Attributes:
        status: Its exit status, -N when signal N killed it.
    """

    status: int


Request = ShowLab | EndLab | SetLinks | AskLink | RunCommand | SignalCommand
Reply = Refused | Ending | LabEnded | LinksSet | LinkAsked | Started | CommandEnded | LabReport

REQUESTS = msgspec.json.Decoder(Request)
REPLIES = msgspec.json.Decoder(Reply)
BIRTH_ORDERS = msgspec.json.Decoder(LabOrder | Kept)
BIRTH_REPLIES = msgspec.json.Decoder(Published | Refused)
