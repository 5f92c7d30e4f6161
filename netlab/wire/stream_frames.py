"""Frames on a stream: a length before each, checked before anything is kept. Pure.

::

    +-------------+----------------------+-------------+---------
    | length 32   | frame, length bytes  | length 32   | frame ...
    +-------------+----------------------+-------------+---------
"""

from __future__ import annotations

import struct

from netlab.errors import RemoteProtocolError

__all__ = ["MAX_STREAM_FRAME_BYTES", "FrameReader", "add_length"]

MAX_STREAM_FRAME_BYTES = 1 << 20
"""Largest frame in bytes, header and seal included, length not."""

_length = struct.Struct(">I")
_LENGTH_BYTES = _length.size
_read_length = _length.unpack_from
_pack_length = _length.pack


def add_length(frame: bytes) -> bytes:
    """Return a frame as it goes on a stream."""
    return _pack_length(len(frame)) + frame


class FrameReader:
    """Cuts a stream into frames; holds at most one unfinished frame.

    Args:
        limit_bytes: Largest frame that is believed.

    Attributes:
        limit_bytes: May be raised once the peer has proven more.
        fault: Set when the peer announces a frame that is empty or too large; the stream is of no more use.
    """

    __slots__ = ("_buffer", "fault", "limit_bytes")

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.fault: RemoteProtocolError | None = None
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes of the stream; return the frames that are now whole."""
        buffer = self._buffer
        if not buffer and len(data) > _LENGTH_BYTES:
            length: int = _read_length(data)[0]
            if length == len(data) - _LENGTH_BYTES and 0 < length <= self.limit_bytes:
                return [data[_LENGTH_BYTES:]]  # the common case: exactly one frame
        buffer += data
        frames: list[bytes] = []
        start = 0
        while len(buffer) - start >= _LENGTH_BYTES:
            length = _read_length(buffer, start)[0]
            if not 0 < length <= self.limit_bytes:
                self.fault = RemoteProtocolError(
                    f"a frame of {length} bytes on a stream; 1 .. {self.limit_bytes} are allowed"
                )
                buffer.clear()
                return frames
            end = start + _LENGTH_BYTES + length
            if len(buffer) < end:
                break
            frames.append(bytes(memoryview(buffer)[start + _LENGTH_BYTES : end]))
            start = end
        del buffer[:start]
        return frames
