"""ProbeFrame: the datagrams of a measurement, as bytes within a sealed frame. Pure.

All numbers are big-endian; stamps are nanoseconds of the clock of whoever stamped. The session of the seal is the
identity of the run.

::

    probe     0      1      2      4              8                                                size
              +------+------+------+--------------+------------------------------------------------+
              |  1   | echo |  0   | number 32    | zeros                                          |
              +------+------+------+--------------+------------------------------------------------+
    reply     0      1      2      4              8                       16                       24
              +------+------+------+--------------+-----------------------+------------------------+
              |  2   |  0   |  0   | number 32    | receive stamp 64      | reply send stamp 64    |
              +------+------+------+--------------+-----------------------+------------------------+
              | seen: bit i is set where number - 1 - i had arrived 64    | reply number 32, zeros |
              +-----------------------------------------------------------+------------------------+
    log ask   | 3 | 0 | 0 | page 32 | zeros, to LOG_BYTES
    log page  | 4 | flags 8 | rows 16 | page 32 | rows in all 32 | late 32 | rows of 16 bytes | zeros
                                row: number 32, receive stamp 64, turnaround 32, or what stands in for one
    farewell  | 5 | 0 ...                                                                   8 bytes

No answer is larger than its question: a reply has its probe's size, a page its ask's. The messages of a session's
start and end are ``netlab.messages``' and maps of MessagePack, whose first byte is 0x80 or more.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.wire.seal import SEAL_BYTES

__all__ = [
    "LEAST_BYTES",
    "LOG_BYTES",
    "MAX_NUMBER",
    "ROW",
    "ROWS_A_PAGE",
    "SEEN_BITS",
    "TOO_LONG_NS",
    "UNANSWERED_NS",
    "UNSENT_NS",
    "FrameKind",
    "LogPage",
    "Probe",
    "ProbeReply",
    "build_farewell",
    "build_log_ask",
    "build_log_page",
    "build_probe",
    "build_reply",
    "kind_of",
    "read_log_ask",
    "read_log_page",
    "read_probe",
    "read_reply",
]

SEEN_BITS = 64
MAX_NUMBER = (1 << 32) - 1
MAX_STAMP_NS = 1 << 62
"""The year 2116: what is later is no stamp."""
UNANSWERED_NS = (1 << 32) - 1
"""Stands in a log's row for the turnaround of a probe that got no reply."""
UNSENT_NS = UNANSWERED_NS - 1
"""Stands for that of a reply which has a number and did not leave its host: there was no room."""
TOO_LONG_NS = UNANSWERED_NS - 2
"""Stands for one that 32 bits do not hold, 4.29 s and more, or that is none: a reply before its probe."""

_probe = struct.Struct(">BBHI")
_reply = struct.Struct(">BBHIqqQI")
_ask = struct.Struct(">BBHI")
_page = struct.Struct(">BBHIII")

LEAST_BYTES = SEAL_BYTES + _reply.size
"""The smallest datagram, sealed, that a reply fits."""
LOG_BYTES = 1200
"""A log's ask and page, sealed: less than any link's datagram limit."""
ROW = np.dtype([("number", ">u4"), ("receive_ns", ">i8"), ("turnaround_ns", ">u4")])
ROWS_A_PAGE = (LOG_BYTES - SEAL_BYTES - _page.size) // ROW.itemsize

_OVERFLOWED, _CLOCK_SET, _UNSTAMPED = 1, 2, 4


class FrameKind:
    """First byte of a frame."""

    PROBE = 1
    REPLY = 2
    LOG_ASK = 3
    LOG_PAGE = 4
    FAREWELL = 5
    FIRST_OF_MESSAGE = 0x80


class Probe(NamedTuple):
    """A probe.

    Attributes:
        echo: Whether a reply is wanted.
        number: Counted from 0.
    """

    echo: bool
    number: int


class ProbeReply(NamedTuple):
    """The reflector's reply to one copy of a probe.

    Attributes:
        number: The probe's.
        receive_ns: The reflector's stamp of the probe's arrival.
        reply_ns: The reflector's stamp of the reply's sending.
        seen: Bit i is set where the probe ``number - 1 - i`` had arrived.
        reply_number: Counted from 0 within the session.
    """

    number: int
    receive_ns: int
    reply_ns: int
    seen: int
    reply_number: int


class LogPage(NamedTuple):
    """A part of what a reflector has received.

    Attributes:
        page: Which, counted from 0.
        n_rows: How many rows all pages have.
        late: Probes that came after the log was first asked for; they are in no row.
        rows: A record each of ``number``, ``receive_ns`` and ``turnaround_ns``, in order of arrival.
        overflowed: Whether the log was full, so that rows are missing at its end.
        clock_set: Whether the reflector's clock was set during the session.
        unstamped: Whether arrivals are among the rows that the kernel has not stamped.
    """

    page: int
    n_rows: int
    late: int
    rows: NDArray[np.void]
    overflowed: bool = False
    clock_set: bool = False
    unstamped: bool = False


def kind_of(message: bytes) -> int:
    """Return the kind of a frame; 0 where it is empty."""
    return message[0] if message else 0


def build_probe(probe: Probe, size_bytes: int) -> bytes:
    """Return a probe; ``size_bytes`` is that of the sealed datagram."""
    head = _probe.pack(FrameKind.PROBE, probe.echo, 0, probe.number)
    return head.ljust(size_bytes - SEAL_BYTES, b"\0")


def read_probe(message: bytes) -> Probe | None:
    """Return the probe that a message is; None where it is none, or one that its reply would not fit."""
    if len(message) < _reply.size or message[0] != FrameKind.PROBE:
        return None
    _, echo, _, number = _probe.unpack_from(message)
    return Probe(bool(echo), number)


def build_reply(reply: ProbeReply, size_bytes: int) -> bytes:
    """Return a reply; ``size_bytes`` is that of the sealed datagram."""
    head = _reply.pack(FrameKind.REPLY, 0, 0, *reply)
    return head.ljust(size_bytes - SEAL_BYTES, b"\0")


def read_reply(message: bytes) -> ProbeReply | None:
    """Return the reply that a message is; None where it is none, or its stamps are in no order."""
    if len(message) < _reply.size or message[0] != FrameKind.REPLY:
        return None
    reply = ProbeReply(*_reply.unpack_from(message)[3:])
    return reply if 0 <= reply.receive_ns <= reply.reply_ns <= MAX_STAMP_NS else None


def build_log_ask(page: int) -> bytes:
    """Return the question for a page of the log, padded to the size of its answer."""
    return _ask.pack(FrameKind.LOG_ASK, 0, 0, page).ljust(LOG_BYTES - SEAL_BYTES, b"\0")


def read_log_ask(message: bytes) -> int | None:
    """Return the page that is asked for; None where this is no ask, or one too small for its answer."""
    if len(message) < LOG_BYTES - SEAL_BYTES or message[0] != FrameKind.LOG_ASK:
        return None
    return int(_ask.unpack_from(message)[3])


def build_log_page(page: LogPage) -> bytes:
    """Return a page of the log."""
    flags = page.overflowed * _OVERFLOWED | page.clock_set * _CLOCK_SET | page.unstamped * _UNSTAMPED
    head = _page.pack(FrameKind.LOG_PAGE, flags, len(page.rows), page.page, page.n_rows, page.late)
    return (head + page.rows.astype(ROW).tobytes()).ljust(LOG_BYTES - SEAL_BYTES, b"\0")


def read_log_page(message: bytes) -> LogPage | None:
    """Return the page that a message is; None where it is none or holds other rows than it should."""
    if len(message) < _page.size or message[0] != FrameKind.LOG_PAGE:
        return None
    _, flags, count, page, n_rows, late = _page.unpack_from(message)
    if count != min(ROWS_A_PAGE, max(0, n_rows - page * ROWS_A_PAGE)):
        return None
    if _page.size + count * ROW.itemsize > len(message):
        return None
    rows = np.frombuffer(message, ROW, count, _page.size)
    if ((rows["receive_ns"] < 0) | (rows["receive_ns"] > MAX_STAMP_NS)).any():
        return None
    said = (bool(flags & bit) for bit in (_OVERFLOWED, _CLOCK_SET, _UNSTAMPED))
    return LogPage(page, n_rows, late, rows, *said)


def build_farewell() -> bytes:
    """Return the prober's last word: the session may be forgotten."""
    return bytes((FrameKind.FAREWELL,)).ljust(_ask.size, b"\0")
