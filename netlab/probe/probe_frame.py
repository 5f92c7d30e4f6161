"""ProbeFrame: the datagrams of a measurement, as bytes within a sealed frame. Pure.

All numbers are big-endian; stamps are nanoseconds of the clock of whoever stamped. The session of the seal is the
identity of the run.

::

    probe     0      1      2      4              8                       16                       size
              +------+------+------+--------------+-----------------------+------------------------+
              |  1   | echo |  0   | number 32    | send stamp 64         | zeros                  |
              +------+------+------+--------------+-----------------------+------------------------+
    reply     0      1      2      4              8                       16                       24
              +------+------+------+--------------+-----------------------+------------------------+
              |  2   | copy |  0   | number 32    | send stamp 64, echoed | receive stamp 64       |
              +------+------+------+--------------+-----------------------+------------------------+
              | reply send stamp 64               | reply number 32       | arrivals 32            |
              +-----------------------------------+-----------------------+------------------------+
              | seen: bit i is set where number - 1 - i had arrived 64    | zeros, to the probe's size
              +-----------------------------------------------------------+------------------------+
    log ask   | 3 | 0 | 0 | page 32 | zeros, to LOG_BYTES
    log page  | 4 | flags 8 | rows 16 | page 32 | rows in all 32 | late 32 | rows of 16 bytes | zeros
                                row: number 32, receive stamp 64, turnaround 32 (all ones: not answered)
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
    "UNANSWERED_NS",
    "FrameKind",
    "LogPage",
    "Probe",
    "Reply",
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

_probe = struct.Struct(">BBHIq")
_reply = struct.Struct(">BBHIqqqIIQ")
_ask = struct.Struct(">BBHI")
_page = struct.Struct(">BBHIII")

LEAST_BYTES = SEAL_BYTES + _reply.size
"""The smallest datagram, sealed, that a reply fits."""
LOG_BYTES = 1200
"""A log's ask and page, sealed: less than any link's datagram limit."""
ROW = np.dtype([("number", ">u4"), ("receive_ns", ">i8"), ("turnaround_ns", ">u4")])
ROWS_A_PAGE = (LOG_BYTES - SEAL_BYTES - _page.size) // ROW.itemsize

_OVERFLOWED = 1


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
        send_ns: The prober's stamp.
    """

    echo: bool
    number: int
    send_ns: int


class Reply(NamedTuple):
    """The reflector's reply to one copy of a probe.

    Attributes:
        copy: Which copy of the probe it answers, counted from 0.
        number: The probe's.
        send_ns: The prober's stamp, echoed.
        receive_ns: The reflector's stamp of the probe's arrival.
        reply_ns: The reflector's stamp of the reply's sending.
        reply_number: Counted from 0 within the session.
        arrivals: How many probes, copies included, had arrived, this one included.
        seen: Bit i is set where the probe ``number - 1 - i`` had arrived.
    """

    copy: int
    number: int
    send_ns: int
    receive_ns: int
    reply_ns: int
    reply_number: int
    arrivals: int
    seen: int


class LogPage(NamedTuple):
    """A part of what a reflector has received.

    Attributes:
        page: Which, counted from 0.
        n_rows: How many rows all pages have.
        late: Probes that came after the log was first asked for; they are in no row.
        overflowed: Whether the log was full, so that rows are missing at its end.
        rows: A record each of ``number``, ``receive_ns`` and ``turnaround_ns``, in order of arrival.
    """

    page: int
    n_rows: int
    late: int
    overflowed: bool
    rows: NDArray[np.void]


def kind_of(message: bytes) -> int:
    """Return the kind of a frame; 0 where it is empty."""
    return message[0] if message else 0


def build_probe(probe: Probe, size_bytes: int) -> bytes:
    """Return a probe; ``size_bytes`` is that of the sealed datagram."""
    head = _probe.pack(FrameKind.PROBE, probe.echo, 0, probe.number, probe.send_ns)
    return head.ljust(size_bytes - SEAL_BYTES, b"\0")


def read_probe(message: bytes) -> Probe | None:
    """Return the probe that a message is; None where it is none."""
    if len(message) < _reply.size or message[0] != FrameKind.PROBE:
        return None
    _, echo, _, number, send_ns = _probe.unpack_from(message)
    return Probe(bool(echo), number, send_ns) if 0 <= send_ns <= MAX_STAMP_NS else None


def build_reply(reply: Reply, size_bytes: int) -> bytes:
    """Return a reply; ``size_bytes`` is that of the sealed datagram."""
    head = _reply.pack(FrameKind.REPLY, reply.copy, 0, *reply[1:])
    return head.ljust(size_bytes - SEAL_BYTES, b"\0")


def read_reply(message: bytes) -> Reply | None:
    """Return the reply that a message is; None where it is none, or its stamps are in no order."""
    if len(message) < _reply.size or message[0] != FrameKind.REPLY:
        return None
    _, copy, _, *rest = _reply.unpack_from(message)
    reply = Reply(copy, *rest)
    if not (0 <= reply.send_ns <= MAX_STAMP_NS and 0 <= reply.receive_ns <= reply.reply_ns <= MAX_STAMP_NS):
        return None
    return reply


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
    flags = _OVERFLOWED if page.overflowed else 0
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
    return LogPage(page, n_rows, late, bool(flags & _OVERFLOWED), rows)


def build_farewell() -> bytes:
    """Return the prober's last word: the session may be forgotten."""
    return bytes((FrameKind.FAREWELL,)).ljust(_ask.size, b"\0")
