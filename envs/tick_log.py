"""TickLog: one line of JSON for each tick, written between episodes so that no tick waits for a disk."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from netlab.errors import SpecError

__all__ = ["TickLog", "TickRecord"]

_MAX_HELD_RECORDS = 10_000
"""An episode that is longer than this is written in parts: a late tick is better than memory without end."""


class TickRecord(Struct, frozen=True, gc=False):
    """What one tick did.

    Attributes:
        tick: Edge tick.
        episode: Episode number.
        source: remote, hold, local, neutral, or failed: neutral because the fallback failed.
        age_ticks: Age of a remote action; -1 for a fallback.
        action: What was applied; null is the neutral action.
        reward: Its reward.
        newest_age_ticks: Age of the newest answer that had arrived; -1 before the first.
        connected: Whether there was a channel.
        horizon_ticks: D: how far the newest answer that had arrived reached.
    """

    tick: int
    episode: int
    source: str
    age_ticks: int
    action: int | list[object] | None
    reward: float
    newest_age_ticks: int
    connected: bool
    horizon_ticks: int = 1


class TickLog:
    """Collect records and write them to a file.

    Args:
        path: The file; what was there is overwritten.

    Attributes:
        fault: Why lines are missing (the disk is full); empty while none are.

    Raises:
        SpecError: It cannot be opened.
    """

    def __init__(self, path: str) -> None:
        try:
            self._file = Path(path).open("wb", buffering=0)  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise SpecError(
                f"{path}: {error.strerror}", key="tick_log", hint="name a file you may write"
            ) from error
        self._encoder = msgspec.json.Encoder()
        self._held: list[TickRecord] = []
        self.fault = ""

    def add(self, record: TickRecord) -> None:
        """Keep one record."""
        self._held.append(record)
        if len(self._held) >= _MAX_HELD_RECORDS:
            self.flush()

    def flush(self) -> None:
        """Write what is kept; a disk that takes no more ends the log and not the run."""
        left = memoryview(b"" if self.fault else self._encoder.encode_lines(self._held))
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            self.fault = f"{self._file.name}: {error.strerror}"
        self._held.clear()

    def close(self) -> None:
        """Write what is kept and close the file."""
        self.flush()
        self._file.close()
