"""KernelLog: the end of what a guest kernel said, and what of it a person must see; pure."""

from __future__ import annotations

import re

__all__ = ["KernelLog"]

KEPT_BYTES = 65536
SHOWN_LINES = 12
_ALWAYS_THERE = ("Failed to initialize ubd device",)  # it has no disk, as it should be
_LOST_PROCESS = "Unexpectedly lost MM child"
_STAMP = re.compile(r"^(<\d+>)?(\[\s*\d+\.\d+\]\s*)?")


class KernelLog:
    """The kernel's messages, the last 64 KiB of them."""

    def __init__(self) -> None:
        self._text = bytearray()

    def add(self, data: bytes) -> None:
        """Take more messages, and forget the oldest where there are too many."""
        self._text += data
        del self._text[:-KEPT_BYTES]

    @property
    def lines(self) -> list[str]:
        """The messages without time stamps, oldest first."""
        text = self._text.decode("utf-8", "replace").replace("\r", "")
        lines = (_STAMP.sub("", line).rstrip() for line in text.split("\n"))
        return [line for line in lines if line and not line.startswith(_ALWAYS_THERE)]

    @property
    def panic(self) -> str:
        """The line that says why the kernel gave up; empty if it did not."""
        return next((line for line in self.lines if "Kernel panic - not syncing" in line), "")

    @property
    def out_of_memory(self) -> str:
        """The line that names the last process killed for want of memory; empty if none was."""
        return next((line for line in reversed(self.lines) if "Out of memory: Killed process" in line), "")

    @property
    def lost_process(self) -> bool:
        """Whether one of the processes that the guest's programs run in has ended without the kernel's doing."""
        return any(line.startswith(_LOST_PROCESS) for line in self.lines)

    @property
    def last_lines(self) -> str:
        """The last messages, for a message to a person."""
        return "\n".join(f"  {line}" for line in self.lines[-SHOWN_LINES:])
