"""CgroupFolder: a group of processes of our own, in which the kernel counts what they use.

::

    /proc/self/cgroup     which group we are in, a line a hierarchy --.
    /proc/self/mountinfo  where the hierarchies are mounted ----------+--> <our group>/netlab-<id>

The one thing of a lab that the kernel does not take back when its process is killed: whoever finds the
name of a dead lab removes it. A folder with a process in it cannot be removed, so no living one ever is.
It must not know what a lab is.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from netlab.errors import LabError

__all__ = ["CgroupFolder", "CgroupUse"]

_PREFIX = "netlab-"
_NAME = re.compile(rf"{_PREFIX}[0-9a-f]{{6}}\Z")
# Hierarchies of the first version that count what we show.
_COUNTING = ("memory", "cpuacct")
_EMPTY_WITHIN_S = 2.0
_POLL_S = 0.01


class CgroupUse(Struct, frozen=True, kw_only=True):
    """What the processes of a folder have used; None for what is not counted here.

    Attributes:
        cpu_s: Processor time, all processors together, of the dead as well.
        memory_bytes: Memory now.
        processes: How many there are.
    """

    cpu_s: float | None
    memory_bytes: int | None
    processes: int


class _Mount(NamedTuple):
    """A mounted hierarchy: where, which part of it, and what it counts (nothing said: version 2)."""

    point: Path
    root: str
    controllers: frozenset[str]


class CgroupFolder:
    """The folders ``netlab-<id>`` of one owner, one in each hierarchy that counts something.

    Args:
        paths: The folders, made or not.

    Raises:
        LabError: A folder bears no such name, so it may be somebody else's.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        for path in paths:
            if not _NAME.match(path.name):
                hint = f"the name of a lab's is {_PREFIX} and six hexadecimal digits; remove this one by hand"
                raise LabError(f"{path} is no control group of a lab", hint=hint)
        self.paths = tuple(paths)

    @classmethod
    def plan(cls, owner_id: str) -> CgroupFolder:
        """Return the folder an owner would have below the group we are in; makes nothing.

        Args:
            owner_id: Six hexadecimal digits.
        """
        try:
            groups = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="surrogateescape")
            mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:  # a kernel without groups
            return cls(())
        return cls([path / f"{_PREFIX}{owner_id}" for path in counting_folders(groups, mounts)])

    def enter(self) -> str:
        """Make the folders and move this process, and what it will start, into them.

        One that is there already stays as it is, and is not ours.

        Returns:
            Why there is none; empty where there is one at least.
        """
        entered, problem = [], "no hierarchy of control groups is mounted"
        for path in self.paths:
            try:
                path.mkdir()
            except OSError as error:
                problem = f"{path}: {error.strerror}"
                continue
            try:
                _move_to(path)
            except OSError as error:
                problem = f"{path}: {error.strerror}"
                with contextlib.suppress(OSError):
                    path.rmdir()
                continue
            entered.append(path)
        self.paths = tuple(entered)
        return "" if entered else problem

    def use(self) -> CgroupUse:
        """Return what the processes in it have used."""
        cpu_s, memory_bytes, processes = None, None, 0
        for path in self.paths:
            processes = max(processes, len(_words(path / "cgroup.procs")))
            memory = _words(path / "memory.current") or _words(path / "memory.usage_in_bytes")
            memory_bytes = int(memory[0]) if memory else memory_bytes
            usage_ns = _words(path / "cpuacct.usage")
            usage_us = _words(path / "cpu.stat")  # version 2: "usage_usec N ..."
            if usage_ns:
                cpu_s = int(usage_ns[0]) / 1e9
            elif usage_us[:1] == ["usage_usec"]:
                cpu_s = int(usage_us[1]) / 1e6
        return CgroupUse(cpu_s=cpu_s, memory_bytes=memory_bytes, processes=processes)

    def leave(self) -> None:
        """Move this process back to the group above, and remove the folders; what is not empty stays."""
        for path in self.paths:
            with contextlib.suppress(OSError):
                _move_to(path.parent)
        self.remove()

    def remove(self, within_s: float = _EMPTY_WITHIN_S) -> list[Path]:
        """Remove the folders once they are empty: the kernel takes a moment to bury the last process.

        Returns:
            What has been removed.
        """
        deadline_s = time.monotonic() + within_s
        return [path for path in self.paths if _remove(path, deadline_s)]


def counting_folders(groups: str, mounts: str) -> list[Path]:
    """Return our group's folder in each hierarchy that counts something.

    Args:
        groups: What ``/proc/self/cgroup`` says.
        mounts: What ``/proc/self/mountinfo`` says.
    """
    ours: dict[str, str] = {}
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):  # one, empty, for version 2
            ours[name] = path
    found = []
    for mount in _mounts(mounts):
        wanted = [name for name in ("", *_COUNTING) if name in mount.controllers and name in ours]
        if not wanted:
            continue
        root = mount.root.rstrip("/")
        path = ours[wanted[0]]
        if path == root or path.startswith(root + "/"):  # else our group is outside what is mounted here
            found.append(mount.point / path[len(root) :].lstrip("/"))
    return list(dict.fromkeys(found))


def _mounts(text: str) -> list[_Mount]:
    """Read mountinfo: ``id parent device root point options [tags] - type source options``."""
    found = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        kind, *rest = after.split()
        if kind not in ("cgroup", "cgroup2"):
            continue
        _, _, _, root, point, *_ = before.split()
        controllers = {""} if kind == "cgroup2" else set(rest[-1].split(","))
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), point)
        found.append(_Mount(Path(point), root, frozenset(controllers)))
    return found


def _move_to(path: Path) -> None:
    """Move this process; without making a file where there is no such group."""
    fd = os.open(path / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, b"0")
    finally:
        os.close(fd)


def _remove(path: Path, deadline_s: float) -> bool:
    """Remove a folder and those its programs made in it; False where it was gone or does not empty."""
    while path.is_dir():
        try:
            for folder, _, _ in os.walk(path, topdown=False):
                os.rmdir(folder)  # noqa: PTH106 - a name from os.walk
            return True
        except OSError:
            if time.monotonic() > deadline_s:
                return False
            time.sleep(_POLL_S)
    return False


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except OSError:  # not counted in this hierarchy
        return []
