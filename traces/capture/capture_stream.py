"""CaptureStream: the bytes of a capture for a reader that believes what the file says: bounded, and counted."""

from __future__ import annotations

from typing import Protocol

from netlab.errors import TraceError

__all__ = ["CaptureStream", "Readable"]

MAX_BLOCK_BYTES = 1 << 24


class Readable(Protocol):
    """What a capture is read from."""

    def read(self, size: int, /) -> bytes:
        """Return so many bytes, or what is left of them."""

    def close(self) -> None:
        """Close it."""


class CaptureStream:
    """A file for a reader of captures.

    Args:
        file: Its bytes, decompressed.
        path: What it is called in errors.
        max_bytes: The most that is read of it.

    Attributes:
        name: Likewise.
        position: How many bytes were read.
        beyond_belief: Whether so much was asked for at once that the file must be damaged.
    """

    def __init__(self, file: Readable, path: str, max_bytes: int) -> None:
        self.name = path
        self.position = 0
        self.beyond_belief = False
        self._max_bytes = max_bytes
        self._file = file
        self._ahead = b""

    def peek_magic(self) -> bytes:
        """Return the first four bytes; they are read again afterwards."""
        self._ahead = self._file.read(4)
        return self._ahead

    def read(self, size: int) -> bytes:
        """Return so many bytes, or what is left of them.

        Raises:
            TraceError: More was read than is read of any file.
        """
        if size > MAX_BLOCK_BYTES:
            self.beyond_belief = True
            return b""
        found, self._ahead = self._ahead[:size], self._ahead[size:]
        if len(found) < size:
            found += self._file.read(size - len(found))
        self.position += len(found)
        if self.position > self._max_bytes:
            problem = f"holds more than {self._max_bytes:,} bytes, the most that is read"
            raise TraceError(problem, self.name, hint="cut it into parts, for example by `editcap -c`")
        return found

    def close(self) -> None:
        """Close the file."""
        self._file.close()
