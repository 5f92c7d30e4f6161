"""Frames: what the launcher and pid 1 of the guest say to each other over the control console.

Pure and standard library only: bytes in, frames out. It must not know what carries them.

::

    launcher                                        pid 1 of the guest
       |  <------------------------- READY ------------  |   earlier bytes would be lost: nothing listens
       |  -- INPUT(bytes) -- INPUT() = end of input -->  |   at most one INPUT on its way:
       |  <------------------------ CONSUMED ----------  |   the console's buffer never overflows
       |  -- SIGNAL(number) -- WINDOW(rows, columns) ->  |
       |  -- CLOSED(stream): its reader has gone ----->  |
       |  <------- TROUBLE(text) ----- EXIT(status) ---  |

A frame is one byte of kind, two bytes of length (little-endian), and that many bytes.
"""

from __future__ import annotations

import enum
import struct
from typing import NamedTuple

from netlab.errors import GuestError

__all__ = [
    "MAX_INPUT_BYTES",
    "Frame",
    "FrameKind",
    "FrameReader",
    "decode_status",
    "decode_window",
    "encode_frame",
    "encode_status",
    "encode_window",
]

MAX_PAYLOAD_BYTES = 16384
MAX_INPUT_BYTES = 3584
"""The most input in one frame: with its header well below the 4096 bytes a console holds."""

_HEADER = struct.Struct("<BH")
_STATUS = struct.Struct("<i")
_WINDOW = struct.Struct("<HH")


class FrameKind(enum.IntEnum):
    """What a frame says."""

    READY = 1
    INPUT = 2
    CONSUMED = 3
    SIGNAL = 4
    WINDOW = 5
    CLOSED = 6
    TROUBLE = 7
    EXIT = 8


class Frame(NamedTuple):
    """One frame."""

    kind: FrameKind
    payload: bytes


class FrameReader:
    """Puts frames together from bytes that arrive in pieces."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Take bytes as they came and return the frames that they complete.

        Raises:
            GuestError: No such kind, or a length above the bound.
        """
        self._pending += data
        frames = []
        while len(self._pending) >= _HEADER.size:
            kind, length = _HEADER.unpack_from(self._pending)
            if length > MAX_PAYLOAD_BYTES:
                raise GuestError(f"control console: a frame of {length} bytes; {MAX_PAYLOAD_BYTES} are allowed")
            try:
                known = FrameKind(kind)
            except ValueError:
                raise GuestError(f"control console: no frame has the kind {kind}") from None
            end = _HEADER.size + length
            if len(self._pending) < end:
                break
            frames.append(Frame(known, bytes(self._pending[_HEADER.size : end])))
            del self._pending[:end]
        return frames


def encode_frame(kind: FrameKind, payload: bytes = b"") -> bytes:
    """Return a frame as bytes.

    Raises:
        GuestError: The payload is longer than a frame may be.
    """
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise GuestError(f"control console: {len(payload)} bytes are more than the {MAX_PAYLOAD_BYTES} of a frame")
    return _HEADER.pack(kind, len(payload)) + payload


def encode_status(status: int) -> bytes:
    """Return the payload of an EXIT frame."""
    return _STATUS.pack(status)


def decode_status(payload: bytes) -> int:
    """Return the exit status in an EXIT frame.

    Raises:
        GuestError: Not four bytes.
    """
    return int(_unpack(_STATUS, payload)[0])


def encode_window(rows: int, columns: int) -> bytes:
    """Return the payload of a WINDOW frame."""
    return _WINDOW.pack(rows, columns)


def decode_window(payload: bytes) -> tuple[int, int]:
    """Return rows and columns in a WINDOW frame.

    Raises:
        GuestError: Not four bytes.
    """
    rows, columns = _unpack(_WINDOW, payload)
    return int(rows), int(columns)


def _unpack(layout: struct.Struct, payload: bytes) -> tuple[int, ...]:
    if len(payload) != layout.size:
        raise GuestError(f"control console: a payload of {len(payload)} bytes; {layout.size} are due")
    return layout.unpack(payload)
