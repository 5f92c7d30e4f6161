"""LabRecord: what is written down of a lab that stays, so that others find it. Written once, whole."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from netlab.errors import LabError
from netlab.holder.process_identity import ProcessIdentity
from netlab.namespaces.process_output import last_lines

__all__ = [
    "LAB_ID",
    "LOG_FILE",
    "RECORD_FILE",
    "SOCKET_FILE",
    "LabRecord",
    "last_logged",
    "read_record",
    "write_record",
]

RECORD_FILE = "lab.json"
SOCKET_FILE = "socket"
LOG_FILE = "log"
LAB_ID = re.compile(r"[0-9a-f]{6}\Z")
_MAX_BYTES = 1 << 16
_LOG_TAIL_BYTES = 1 << 12


class LabRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A lab that stays.

    Attributes:
        id: Its own, which everything of it bears.
        name: What its user calls it.
        holder: The process that holds it.
        engine: What carries its packets: ``host`` or ``relay``.
        spec: The file it was made from.
        seed: Of its links.
        version: Of the netlab that made it.
        made_s: When, in seconds since 1970.
        cgroup: Its folders among the control groups.
    """

    id: Annotated[str, Meta(pattern=r"^[0-9a-f]{6}$")]
    name: str
    holder: ProcessIdentity
    engine: str
    spec: str
    seed: int
    version: str
    made_s: float
    cgroup: list[Annotated[str, Meta(pattern=r"/netlab-[0-9a-f]{6}\Z")]] = []

    def own_groups(self) -> list[Path]:
        """Return its control groups that bear its id: no record speaks for another lab's."""
        return [path for path in map(Path, self.cgroup) if path.name.endswith(f"-{self.id}")]


def read_record(folder: Path) -> LabRecord:
    """Read the record in a lab's folder.

    Raises:
        LabError: It is not there, or is none.
    """
    path = folder / RECORD_FILE
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise LabError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        record = msgspec.json.decode(data, type=LabRecord)
    except (msgspec.DecodeError, ValueError) as error:
        raise LabError(f"{path}: is no record of a lab: {error}") from error
    if record.id != folder.name:
        raise LabError(f"{path}: is the record of lab {record.id}, not {folder.name}")
    return record


def write_record(folder: Path, record: LabRecord) -> None:
    """Write the record into a folder that nobody looks at yet.

    Raises:
        LabError: It cannot be written.
    """
    path = folder / RECORD_FILE
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(msgspec.json.encode(record))
    except OSError as error:
        raise LabError(f"cannot write {path}: {error.strerror}", hint="make room on that file system") from error


def last_logged(folder: Path) -> str:
    """Return the end of what a holder wrote of its lab, to follow a sentence; empty where there is nothing."""
    try:
        with (folder / LOG_FILE).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LOG_TAIL_BYTES))
            said = last_lines(file.read(), 5)
    except OSError:
        return ""
    return "; its last words:\n" + "\n".join(f"  {line}" for line in said.splitlines()) if said else ""
