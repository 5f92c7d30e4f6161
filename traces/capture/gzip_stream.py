"""GzipStream: what a gzip file holds, up to where it was cut off, a bounded piece at a time.

Other files are taken out of gzip whole or are refused (``TraceSource``), as half a document is none. A capture
that was still being written is worth what it has, and Python's own reader keeps back what it had decompressed when
it meets the cut.
"""

from __future__ import annotations

import zlib

from netlab.traces.capture.capture_stream import Readable

__all__ = ["GzipStream"]

_CHUNK_BYTES = 1 << 16
_PACKED_BYTES = 1 << 10
"""Taken at a time: of a piece that proves to be damaged nothing is had."""

_GZIP_WINDOW = 31  # zlib: the largest window, and a gzip header around it


class GzipStream:
    """Reads gzip.

    Args:
        file: The compressed bytes.

    Attributes:
        broken: Whether they end before the end of a member, or are damaged: known once that is reached.
    """

    def __init__(self, file: Readable) -> None:
        self.broken = False
        self._file = file
        self._member = zlib.decompressobj(_GZIP_WINDOW)
        self._ready = bytearray()
        self._ended = False

    def read(self, size: int) -> bytes:
        """Return so many bytes, or what is left of them."""
        while len(self._ready) < size and not self._ended:
            self._decompress()
        found = bytes(self._ready[:size])
        del self._ready[:size]
        return found

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _decompress(self) -> None:
        """Make some more bytes ready, or take note that there are none."""
        if self._member.eof:  # another member may follow
            data = self._member.unused_data or self._file.read(_PACKED_BYTES)
            self._member = zlib.decompressobj(_GZIP_WINDOW)
            if not data.strip(b"\0"):  # padding, or nothing
                self._ended = True
                return
        else:
            data = self._member.unconsumed_tail or self._file.read(_PACKED_BYTES)
        try:
            self._ready += self._member.decompress(data, _CHUNK_BYTES)
        except zlib.error:
            self._ended = self.broken = True
        if not data:
            self._ended = self.broken = True
