"""What a lab's holder is asked and what it answers. Plain data; docs/labs.md says who says what when.

::

    netlab lab up    -- LabOrder -->  <-- Refused | Published --  -- Kept -->          (the holder's birth)
    netlab lab set   -- SetLinks -->  <-- Refused | LinksSet --
    netlab lab show  -- ShowLab  -->  <-- Refused | LabReport --                       (netlab/holder/report.py)
    netlab lab down  -- EndLab   -->  <-- Ending --
    netlab lab exec  -- RunCommand + three descriptors -->  <-- Refused | Started --
                     -- SignalCommand ... -->               <-- Ended --
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from netlab.errors import NetlabError
from netlab.holder.record import LabRecord
from netlab.holder.report import ChangeReport, LabReport
from netlab.traces.seed import Direction

__all__ = [
    "BIRTH_ORDERS", "BIRTH_REPLIES", "REPLIES", "REQUESTS",
    "EndLab", "Ended", "Ending", "Kept", "LabOrder", "LinkWish", "LinksSet", "Published", "Refused", "Reply",
    "Request", "RunCommand", "SetLinks", "ShowLab", "SignalCommand", "Started",
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
        if isinstance(error, NetlabError):
            return cls(message=str(error), hint=error.hint, exit_code=error.exit_code)
        if isinstance(error, BaseExceptionGroup):
            return cls(message="; ".join(Refused.of(one).message for one in error.exceptions))
        return cls(message=f"an error of netlab's own: {error!r:.500}", hint="the lab's log has more")

    def error(self) -> NetlabError:
        """Return it as an error to raise."""
        error = NetlabError(self.message, self.hint)
        error.exit_code = self.exit_code
        return error


class ShowLab(Struct, frozen=True, tag=True):
    """Tell what there is, as the kernel has it."""


class EndLab(Struct, frozen=True, tag=True):
    """End the lab and yourself."""


class Ending(Struct, frozen=True, tag=True):
    """It has begun; the end of the process is the end of the lab."""


class LinkWish(Struct, frozen=True, kw_only=True):
    """A link and what it is to do.

    Attributes:
        link: Its name.
        profile: What ``parse_preset`` understands; a file's name is absolute.
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


class Ended(Struct, frozen=True, tag=True):
    """The program has ended.

    Attributes:
        status: Its exit status, -N when signal N killed it.
    """

    status: int


Request = ShowLab | EndLab | SetLinks | RunCommand | SignalCommand
Reply = Refused | Ending | LinksSet | Started | Ended | LabReport

REQUESTS = msgspec.json.Decoder(Request)
REPLIES = msgspec.json.Decoder(Reply)
BIRTH_ORDERS = msgspec.json.Decoder(LabOrder | Kept)
BIRTH_REPLIES = msgspec.json.Decoder(Published | Refused)
