"""What a test must not leave behind: descriptors, threads, children, interfaces."""

from __future__ import annotations

import ctypes
import gc
import os
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
SETTLE_S = 2.0


@dataclass
class LeakCheck:
    """A snapshot of what this process holds, to be compared with a later one."""

    descriptors: dict[int, str]
    threads: set[int]
    children: set[int]
    interfaces: set[str]

    @classmethod
    def begin(cls) -> LeakCheck:
        """Take the snapshot; orphans of this test become our children, so that they are seen."""
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        gc.collect()
        return cls(_descriptors(), _threads(), children(), _interfaces())

    def end(self) -> list[str]:
        """Return what is there now and was not before; waits a moment for exits under way."""
        deadline = time.monotonic() + SETTLE_S
        while True:
            gc.collect()
            left = self._difference()
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.02)

    def _difference(self) -> list[str]:
        left = [
            f"descriptor {fd} -> {target}"
            for fd, target in _descriptors().items()
            if self.descriptors.get(fd) != target
        ]
        left += [f"thread {ident}" for ident in _threads() - self.threads]
        left += [f"child {pid} ({_command(pid)})" for pid in children() - self.children]
        left += [f"interface {name}" for name in _interfaces() - self.interfaces]
        return left


def _descriptors() -> dict[int, str]:
    found = {}
    for entry in os.listdir("/proc/self/fd"):
        try:
            found[int(entry)] = os.readlink(f"/proc/self/fd/{entry}")
        except OSError:  # the descriptor of this very listing
            continue
    return found


def _threads() -> set[int]:
    return {thread.ident or 0 for thread in threading.enumerate()}


def children() -> set[int]:
    """Return the processes of which this one is the parent."""
    pids: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        try:
            pids |= {int(pid) for pid in (task / "children").read_text().split()}
        except OSError:  # that thread has just ended
            continue
    return pids


def _interfaces() -> set[str]:
    return {name for _, name in socket.if_nameindex()}


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "gone"
