"""PacketLog: what happened to each packet of a lab, one line a packet. Pure: knows no kernel and no file.

::

    kernel's taps --match_frames--.
    relay, model  --record_packet--+-> PacketRecord ... --PacketLog--> bytes, sorted --> PacketLog

    # netlab packets 1
    # engine guest
    # columns sent_ns link direction length_bytes fate delivered_ns
    20000512 edge-agent forward 147 delivered 50213120
    20000512 edge-agent back 131 lost -

No payload: sealed bytes differ from run to run. Two runs that met the same network give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from msgspec import Struct

from netlab.errors import SpecError
from netlab.traces.seed import DIRECTIONS, Direction

__all__ = [
    "Arrival", "PacketFate", "PacketLog", "PacketRecord", "fate_of_copy", "header_lines", "record_line",
    "record_packet",
]  # fmt: skip

PacketFate = Literal["delivered", "marked", "corrupted", "lost", "pending", "duplicate", "duplicate-corrupted"]
"""``marked``: delivered with congestion noted in its header; ``pending``: on its way when the log ended, or lost,
nobody can tell; ``duplicate`` and ``duplicate-corrupted``: a further copy of the packet of the line above."""

FORMAT = "netlab packets 1"
MAX_LOG_BYTES = 1 << 30
_COLUMNS = "columns sent_ns link direction length_bytes fate delivered_ns"
_FATES: tuple[PacketFate, ...] = get_args(PacketFate)
_NO_TIME = "-"
_NUMBER = re.compile(rb"-?[0-9]{1,19}\Z")
_NAME = re.compile(r"[a-z][a-z0-9_-]*\Z")


class PacketRecord(Struct, frozen=True, gc=False, order=True):
    """What happened to one packet, or to one further copy of it.

    Attributes:
        sent_ns: When it entered the link, from the start of the log; below 0 for what came before.
        link: Name of the link.
        direction: ``forward`` or ``back``.
        length_bytes: Of the Ethernet frame, without its checksum.
        fate: What became of it.
        delivered_ns: When it left the link, from the start of the log; None for a packet that did not.
    """

    sent_ns: int
    link: str
    direction: Direction
    length_bytes: int
    fate: PacketFate
    delivered_ns: int | None

    @property
    def is_further_copy(self) -> bool:
        """Whether it is no packet of its own, but a further copy of the one before it."""
        return self.fate.startswith("duplicate")

    @property
    def delay_ns(self) -> int | None:
        """How long it was on the link; None for a packet that did not arrive."""
        return None if self.delivered_ns is None else self.delivered_ns - self.sent_ns


class Arrival(NamedTuple):
    """One copy of a packet as it leaves a link.

    Attributes:
        delivered_ns: When.
        corrupted: Whether a bit of it was flipped.
        marked: Whether congestion was noted in its header.
    """

    delivered_ns: int
    corrupted: bool = False
    marked: bool = False


def record_packet(
    sent_ns: int, link: str, direction: Direction, length_bytes: int, arrivals: Iterable[Arrival]
) -> list[PacketRecord]:
    """Return the records of one packet whose copies are all known.

    The packet itself is the first whole copy to arrive, and a corrupted one only where no other is left: not
    even copies that arrive at one moment then leave it open which is which.

    Args:
        sent_ns: When it entered the link, from the start of the log.
        link: Name of the link.
        direction: ``forward`` or ``back``.
        length_bytes: Of the Ethernet frame.
        arrivals: Its copies, in any order; none for a lost packet.
    """
    records = []
    for number, arrival in enumerate(sorted(arrivals, key=lambda one: (one.corrupted, one.delivered_ns))):
        fate = fate_of_copy(corrupted=arrival.corrupted, marked=arrival.marked, is_further=number > 0)
        records.append(PacketRecord(sent_ns, link, direction, length_bytes, fate, arrival.delivered_ns))
    return records or [PacketRecord(sent_ns, link, direction, length_bytes, "lost", None)]


def fate_of_copy(*, corrupted: bool, marked: bool, is_further: bool) -> PacketFate:
    """Return what a log calls one copy that arrives.

    Args:
        corrupted: Whether a bit of it was flipped.
        marked: Whether congestion was noted in its header; said of whole packets alone.
        is_further: Whether another copy is the packet itself: see ``record_packet``.
    """
    if is_further:
        return "duplicate-corrupted" if corrupted else "duplicate"
    if corrupted:
        return "corrupted"
    return "marked" if marked else "delivered"


def header_lines(header: Mapping[str, str]) -> str:
    """Return the lines that a log begins with, each with its end.

    Args:
        header: What the recording says of itself: words on one line, which ``PacketLog.of`` checks.
    """
    words = [FORMAT, *(f"{name} {value}" for name, value in header.items()), _COLUMNS]
    return "".join(f"# {word}\n" for word in words)


def record_line(record: PacketRecord) -> str:
    """Return the line of a record, with its end."""
    delivered = _NO_TIME if record.delivered_ns is None else record.delivered_ns
    return f"{record.sent_ns} {record.link} {record.direction} {record.length_bytes} {record.fate} {delivered}\n"


class PacketLog(Struct, frozen=True):
    """All packets of a recording.

    Attributes:
        header: What the recording says of itself, by name: ``netlab``, ``engine``, ``clock``, ``kernel`` ...;
            ``incomplete`` where packets were missed.
        records: The packets, in the order of the file.
    """

    header: dict[str, str]
    records: tuple[PacketRecord, ...]

    @classmethod
    def of(cls, header: Mapping[str, str], records: Iterable[PacketRecord]) -> PacketLog:
        """Return the log of some records, sorted by time, then link and direction.

        Packets of one direction that were sent at one moment stay in the order given: that of sending.

        Raises:
            SpecError: A name in the header that no header can have, or a value of more than one line.
        """
        for name, value in header.items():
            if not _NAME.match(name) or name == "columns" or not value.isprintable():
                raise SpecError(f"{value!r:.80}: must be one line, under a name of a-z, 0-9, - and _", key=name)
        return cls(dict(header), tuple(sorted(records, key=_order)))

    def encode(self) -> bytes:
        """Return the log as the text of a file."""
        return (header_lines(self.header) + "".join(map(record_line, self.records))).encode()

    @classmethod
    def decode(cls, text: bytes, path: str = "") -> PacketLog:
        """Read what ``encode`` has written.

        Args:
            text: The file's content.
            path: Its name, for messages.

        Raises:
            SpecError: It is no packet log; names the line and the rule.
        """
        if len(text) > MAX_LOG_BYTES:
            raise SpecError(f"{len(text)} bytes: a packet log has at most {MAX_LOG_BYTES}", path)
        lines = text.split(b"\n")
        if lines[0] != b"# " + FORMAT.encode():
            raise SpecError(
                f"{lines[0]!r:.80} is no packet log's first line: must be '# {FORMAT}'", path, "line 1"
            )
        if lines.pop() != b"":
            raise SpecError("ends within a line: it was cut short", path, f"line {len(lines) + 1}")
        header: dict[str, str] = {}
        records = []
        for number, line in enumerate(lines[1:], 2):
            if line.startswith(b"# "):
                name, _, value = line[2:].decode(errors="replace").partition(" ")
                header[name] = value
            else:
                records.append(_read_line(line, path, number))
        header.pop("columns", None)
        return cls(header, tuple(records))


def _order(record: PacketRecord) -> tuple[int, str, int]:
    return record.sent_ns, record.link, DIRECTIONS.index(record.direction)


def _read_line(line: bytes, path: str, number: int) -> PacketRecord:
    words: Sequence[bytes] = line.split(b" ")
    rule = "must be: sent_ns link direction length_bytes fate delivered_ns"
    if len(words) == 6 and all(_NUMBER.match(word) for word in (words[0], words[3])):
        sent, link, side, length, what, delivered = words
        direction = next((one for one in DIRECTIONS if one.encode() == side), None)
        fate = next((one for one in _FATES if one.encode() == what), None)
        has_time = _NUMBER.match(delivered) is not None
        if direction and fate and (has_time or delivered == _NO_TIME.encode()):
            delivered_ns = int(delivered) if has_time else None
            return PacketRecord(
                int(sent), link.decode(errors="replace"), direction, int(length), fate, delivered_ns
            )
    raise SpecError(f"{line!r:.120} is no packet: {rule}", path, f"line {number}")
