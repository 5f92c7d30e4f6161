"""Comparing packet logs: packet i of a direction here with packet i there. Pure.

::

    log here  --numbered by link and direction--> packet 0, 1, 2 ...
                                                      |  fate, length, delay
    log there --numbered likewise---------------> packet 0, 1, 2 ...

Times are not compared, since clocks begin where they like; how long a packet was on its way is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import zip_longest

from msgspec import Struct

from netlab.traces.packets.packet_log import PacketLog, PacketRecord
from netlab.traces.seed import Direction

__all__ = ["PacketDifference", "compare_packets"]


class PacketDifference(Struct, frozen=True, kw_only=True):
    """How one direction of one link differs between two logs.

    Attributes:
        link: Name of the link.
        direction: ``forward`` or ``back``.
        compared: Packets that both logs have.
        only_here: Packets that the first log has beyond those.
        only_there: Packets that the second log has beyond those.
        pending: Of those compared, packets of which one log does not know the fate.
        fates: Of those compared, packets that met another fate: lost here, delivered there, marked, doubled ...
        first_fate: Number of the first of them; None where there is none.
        lengths: Of those compared, packets of another length.
        delays: Packets that arrived in both.
        delay_mean_ns: Mean of the absolute differences of their delays.
        delay_max_ns: Largest of them.
    """

    link: str
    direction: Direction
    compared: int
    only_here: int
    only_there: int
    pending: int
    fates: int
    first_fate: int | None
    lengths: int
    delays: int
    delay_mean_ns: float
    delay_max_ns: int

    @property
    def is_same(self) -> bool:
        """Tell whether every packet is there twice and met the same fate."""
        return not (self.only_here or self.only_there or self.fates or self.lengths)


def compare_packets(here: PacketLog, there: PacketLog) -> list[PacketDifference]:
    """Return how two logs differ, link by link and direction by direction, forward first."""
    first, second = _number(here.records), _number(there.records)
    return [
        _compare(link, direction, first.get((link, direction), []), second.get((link, direction), []))
        for link, direction in sorted(first.keys() | second.keys(), key=lambda key: (key[0], key[1] == "back"))
    ]


def _number(records: Iterable[PacketRecord]) -> dict[tuple[str, Direction], list[list[PacketRecord]]]:
    """Return the packets of each direction in the order in which they were sent, each with its further copies."""
    packets: dict[tuple[str, Direction], list[list[PacketRecord]]] = defaultdict(list)
    for record in records:
        sent = packets[record.link, record.direction]
        if sent and record.is_further_copy:
            sent[-1].append(record)
        else:
            sent.append([record])
    return packets


def _compare(
    link: str, direction: Direction, here: list[list[PacketRecord]], there: list[list[PacketRecord]]
) -> PacketDifference:
    pairs = list(zip(here, there, strict=False))
    known = [(i, a, b) for i, (a, b) in enumerate(pairs) if "pending" not in (a[0].fate, b[0].fate)]
    other = [i for i, a, b in known if [one.fate for one in a] != [one.fate for one in b]]
    delays_ns = [
        abs(one.delay_ns - two.delay_ns)
        for a, b in pairs
        for one, two in zip_longest(a, b)
        if one and two and one.delay_ns is not None and two.delay_ns is not None
    ]
    return PacketDifference(
        link=link,
        direction=direction,
        compared=len(pairs),
        only_here=len(here) - len(pairs),
        only_there=len(there) - len(pairs),
        pending=len(pairs) - len(known),
        fates=len(other),
        first_fate=other[0] if other else None,
        lengths=sum(a[0].length_bytes != b[0].length_bytes for a, b in pairs),
        delays=len(delays_ns),
        delay_mean_ns=sum(delays_ns) / len(delays_ns) if delays_ns else 0.0,
        delay_max_ns=max(delays_ns, default=0),
    )
