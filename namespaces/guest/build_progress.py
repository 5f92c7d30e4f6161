"""BuildProgress: how far make is, and its first complaint, from the lines it prints; pure.

make does not know how much it has to do. Our configuration makes a kernel out of about ``TYPICAL_FILES`` files,
which is told as "about": another version has some more or fewer. So is the time left: at the pace so far.
"""

from __future__ import annotations

import re

__all__ = ["TYPICAL_FILES", "BuildProgress"]

TYPICAL_FILES = 710
"""Files that Linux 7.2.12 with our configuration is made of, counted as below."""

MAX_COMPLAINT_CHARACTERS = 300

_PACE_FILES = 20
"""Fewer say nothing of how long the others will take."""
_MINUTE_S = 60.0

# "  CC      net/core/dev.o", "  AS      lib/x.o", "  HOSTCC  scripts/y": one file each, compiled or assembled.
_COMPILED = re.compile(r"  (?:HOST)?(?:CC|AS)\s+(?:\[\w+\]\s+)?\S+")
_NO_ROOM = re.compile(r"No space left on device", re.IGNORECASE)
_COMPLAINT = re.compile(
    r"(?::|^)\s*(?:fatal )?error: |undefined reference to|cannot find -l|command not found|: not found$|\*\*\* ",
    re.IGNORECASE,
)
# What make says once something has failed: true, and of no use.
_CONSEQUENCE = re.compile(r"^make(?:\[\d+\])?: \*\*\* .*\bError \d+$|Waiting for unfinished jobs")


class BuildProgress:
    """Takes in make's lines.

    Attributes:
        files: Files compiled so far.
        complaint: The first line that says what went wrong; empty while nothing has.
        no_room: Whether the disk was full.
    """

    def __init__(self) -> None:
        self.files = 0
        self.complaint = ""
        self.no_room = False

    def take(self, line: str) -> bool:
        """Take in one line; return whether another file has been compiled."""
        if _NO_ROOM.search(line):
            self.no_room = True
        if not self.complaint and _COMPLAINT.search(line) and not _CONSEQUENCE.search(line):
            self.complaint = line.strip()[:MAX_COMPLAINT_CHARACTERS]
        if _COMPILED.match(line):
            self.files += 1
            return True
        return False

    def text(self, elapsed_s: float) -> str:
        """Return how far it is, and how many minutes are left if the others take as long as those so far.

        Args:
            elapsed_s: Since make was begun.
        """
        if self.files > TYPICAL_FILES:
            return f"compiling: {self.files} files"
        done = f"compiling: {self.files} of about {TYPICAL_FILES} files"
        if self.files < _PACE_FILES:
            return done
        left_s = elapsed_s / self.files * (TYPICAL_FILES - self.files)
        if left_s < _MINUTE_S:
            return f"{done}, less than a minute left"
        return f"{done}, about {left_s / _MINUTE_S:.0f} min left"
