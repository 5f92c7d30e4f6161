"""LabDirectory: the labs of this user that stay, alive and dead, by what lies in the runtime folder.

::

    publish --record, lock--> RUNTIME/<id>/ { lab.json, socket, log }   appears whole or not at all
    entries, find <---------      |
    tidy_up: a dead lab's folder -'--> gone, and its control groups with it

A lab is dead when its holder is: no process has its number *and* start time, and nobody has the lock of its
folder, which the kernel takes back from the dead.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
from pathlib import Path
from typing import Literal

from msgspec import Struct

from netlab.did_you_mean import did_you_mean
from netlab.errors import LabError, SpecError
from netlab.holder.record import LAB_ID, SOCKET_FILE, LabRecord, read_record, write_record
from netlab.holder.runtime_folder import RuntimeFolder
from netlab.namespaces.cgroup_folder import CgroupFolder

__all__ = ["LabDirectory", "LabEntry", "LabFolder"]

# Half made or half removed: only ever there while the runtime folder is locked, or since a kill.
_NEW, _GONE = ".new-", ".gone-"


class LabEntry(Struct, frozen=True, kw_only=True):
    """A lab as the directory shows it.

    Attributes:
        id: Its own.
        path: Its folder.
        record: What is written of it; None where that cannot be read.
        alive: Whether its holder runs.
        problem: Why the record cannot be read.
    """

    id: str
    path: Path
    record: LabRecord | None
    alive: bool
    problem: str = ""

    @property
    def name(self) -> str:
        """Its name, as far as it is known."""
        return self.record.name if self.record else ""

    @property
    def state(self) -> Literal["starting", "up", "unreadable", "dead"]:
        """How it is."""
        if not self.alive:
            return "dead"
        if self.record is None:
            return "unreadable"
        return "up" if (self.path / SOCKET_FILE).exists() else "starting"


class LabFolder:
    """The folder of a lab, held by its holder: nobody takes it for a dead one's.

    Args:
        path: Where it is.
        fd: An open descriptor of it, which has its lock.
    """

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self.fd = fd

    def remove(self) -> None:
        """Remove it; it vanishes at once."""
        _remove_folder(self.path)
        os.close(self.fd)


class LabDirectory:
    """The labs in a runtime folder.

    Args:
        folder: Where to look.
    """

    def __init__(self, folder: RuntimeFolder) -> None:
        self.folder = folder

    @classmethod
    def of_this_user(cls) -> LabDirectory:
        """Return this user's."""
        return cls(RuntimeFolder.of_this_user())

    def entries(self) -> list[LabEntry]:
        """Return all labs, the oldest first, those last whose record cannot be read.

        Raises:
            LabError: Somebody else could write in the runtime folder.
        """
        if not self.folder.exists():
            return []
        paths = [path for path in self.folder.path.iterdir() if LAB_ID.match(path.name)]
        found = [entry for entry in map(_look_at, sorted(paths)) if entry is not None]
        return sorted(found, key=lambda entry: entry.record.made_s if entry.record else float("inf"))

    def find(self, name: str) -> LabEntry:
        """Return the lab of a name or id; of several, one that lives.

        Raises:
            SpecError: There is none.
            LabError: Somebody else could write in the runtime folder.
        """
        entries = self.entries()
        matching = [entry for entry in entries if name in (entry.name, entry.id)]
        if not matching:
            known = [entry.name for entry in entries if entry.alive]
            hint = did_you_mean(name, known) or "netlab lab list shows what there is"
            raise SpecError(f"{name!r:.80} is no lab here", key="name", hint=hint)
        return next((entry for entry in matching if entry.alive), matching[0])

    def find_alive(self, name: str) -> LabRecord:
        """Return the record of a living lab.

        Raises:
            SpecError: There is none of this name.
            LabError: It is dead, or its record cannot be read.
        """
        entry = self.find(name)
        if entry.record is None:
            raise LabError(entry.problem, hint=f"netlab lab down {entry.id} ends it")
        if not entry.alive:
            problem = f"lab {entry.name} is dead: its holder (pid {entry.record.holder.pid}) was killed"
            raise LabError(problem, hint="netlab lab gc removes what it left; then netlab lab up")
        return entry.record

    def publish(self, record: LabRecord) -> LabFolder:
        """Take a lab's name and make its folder, for the process we are.

        Raises:
            SpecError: A living lab has the name.
            LabError: The folder cannot be made or written to.
        """
        self.folder.make()
        with self.folder.locked():
            self._tidy_up()
            for entry in self.entries():
                if entry.name == record.name:
                    holder = entry.record.holder.pid if entry.record else 0
                    problem = f"a lab of the name {record.name!r} is up already (holder: process {holder})"
                    hint = f"netlab lab down {record.name}, or give this one another: --name"
                    raise SpecError(problem, key="name", hint=hint)
            return self._make_folder(record)

    def tidy_up(self) -> list[str]:
        """Remove what dead labs have left, and nothing else.

        Returns:
            The ids of those labs.

        Raises:
            LabError: Somebody else could write in the runtime folder.
        """
        if not self.folder.exists():
            return []
        with self.folder.locked():
            return self._tidy_up()

    def _tidy_up(self) -> list[str]:
        for path in self.folder.path.iterdir():
            if path.name.startswith((_NEW, _GONE)):
                shutil.rmtree(path, ignore_errors=True)
        removed = []
        for entry in self.entries():
            if entry.alive:
                continue
            known = entry.record.own_groups() if entry.record else []
            group = CgroupFolder([*known, *CgroupFolder.plan(entry.id).paths])
            group.remove()
            if not any(path.exists() for path in group.paths):  # else a process is not dead yet: the next time
                _remove_folder(entry.path)
                removed.append(entry.id)
        return removed

    def _make_folder(self, record: LabRecord) -> LabFolder:
        path = self.folder.path / record.id
        new = self.folder.path / f"{_NEW}{record.id}"
        try:
            new.mkdir(mode=0o700)
            fd = os.open(new, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise LabError(f"cannot make {path}: {error.strerror}", hint=_room(error)) from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            write_record(new, record)
            new.rename(path)
        except BaseException:
            os.close(fd)
            shutil.rmtree(new, ignore_errors=True)
            raise
        return LabFolder(path, fd)


def _look_at(path: Path) -> LabEntry | None:
    """Return what a lab's folder shows; None where it has just been removed."""
    try:
        record = read_record(path)
    except LabError as error:
        if not path.is_dir():
            return None
        return LabEntry(id=path.name, path=path, record=None, alive=_is_locked(path), problem=str(error))
    # Either will do: another PID or time namespace counts differently, and a living lab must not be tidied up.
    alive = (record.holder.is_ours_to_see and record.holder.is_alive()) or _is_locked(path)
    return LabEntry(id=record.id, path=path, record=record, alive=alive)


def _is_locked(path: Path) -> bool:
    """Tell whether a holder has the lock of a folder."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _remove_folder(path: Path) -> None:
    gone = path.with_name(f"{_GONE}{path.name}")
    with contextlib.suppress(FileNotFoundError):
        path.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _room(error: OSError) -> str:
    return "make room there" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
