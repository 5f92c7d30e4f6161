"""StateTable: many links compiled once, so that an episode takes one of them by its number, without Python a link.

Columns for states, one entry a state, in the forms that ``PreparedLinks`` computes with; a link of a schedule has
several. Links that need more than that arithmetic are kept as they are, for a ``LinkModel`` each.

::

    link   0   1   2                    first_row   0   1   4          a row of a schedule is taken by
    rows   0 | 1 2 3 | 4   --columns--> numbers[column, row], entries  first_row[link] + step % steps

Knows states; knows no packet and no generator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum, auto
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.errors import ProfileError
from netlab.traces.model.link_model import check_modelled
from netlab.traces.model.timed_states import LinkStates, TimedStates, link_states
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import GilbertElliottState, QdiscState
from netlab.traces.schedule import Schedule

__all__ = ["DRAW_PLACES", "WORD_PLACES", "Again", "Column", "StateTable"]

LEAST_LIMIT = 256
"""A queue that is shorter is watched packet by packet, by a LinkModel."""

MAX_LINKS = 1_000_000
MAX_ENTRIES = 1 << 30
_SCALE_BITS, _HALF = 13, 4096
_MOST_LATENCY_NS = 2**48
_UNLIMITED = 2**62

Numbers = NDArray[np.int64]


class Column(IntEnum):
    """What stands in which column; draws are counted from 0 within a packet."""

    JITTER = 0
    BASE = auto()
    """8192 times the latency, and 4096 for the rounding: ``(jitter * entry + base) >> 13`` is the delay."""
    TABLE_START = auto()
    TABLE_SIZE = auto()
    """1 for no table."""
    UNIFORM_WIDTH = auto()
    """A draw modulo this is added; 1 for none."""
    BAD_BELOW = auto()
    """The chain turns bad at a draw below (Gilbert-Elliott's p)."""
    GOOD_BELOW = auto()
    """The chain turns good at a draw below (r)."""
    LOST_TO = auto()
    """Lost up to this draw, while the chain is good; -1 for never."""
    KEPT_TO = auto()
    """Kept up to this draw, while the chain is bad (h)."""
    CORRUPT_TO = auto()
    """Corrupted up to this draw; -1 for never."""
    RATE = auto()
    """Bytes a second; 0 for none."""
    LEAST_NS = auto()
    """No delay is shorter; may be negative."""
    LONGEST_NS = auto()
    """No packet of a link without a rate stays longer."""
    LIMIT = auto()
    """Packets; more than ever come where none stays."""
    LOSS_DRAW = auto()
    CORRUPT_DRAW = auto()
    DELAY_DRAW = auto()
    DRAWS_IF_LOST = auto()
    DRAWS_IF_KEPT = auto()


DRAW_PLACES = slice(Column.LOSS_DRAW, Column.DELAY_DRAW + 1)
"""The columns that say which draw decides."""

WORD_PLACES = slice(Column.DRAWS_IF_LOST, Column.DRAWS_IF_KEPT + 1)
"""The columns that say how many draws a packet takes."""


class Again(NamedTuple):
    """The link of a number before."""

    number: int


class StateTable:
    """Links, by number.

    Args:
        links: A state, or states in time, each, or ``Again`` what came before; taken one after another and not
            kept, since a table of delays is large. Their seeds mean nothing: seeds belong to episodes.
        packet_by_packet: Keep every link as it is, for a LinkModel, which is slow, and right where queues fill up.

    Raises:
        ProfileError: There is no link, there are more than a million, or one has what the model cannot do.
    """

    def __init__(self, links: Iterable[LinkStates | Again], *, packet_by_packet: bool = False) -> None:
        self._packet_by_packet = packet_by_packet
        self._columns: list[list[int]] = []
        self._parts: list[NDArray[np.int16]] = [np.zeros(1, dtype=np.int16)]
        self._length = 1
        self._start_of: dict[bytes, int] = {}
        first_row: list[int] = []
        self.by_model: dict[int, LinkStates] = {}
        """The links that need a LinkModel each."""
        self.timed: dict[int, TimedStates] = {}
        """Of the others those whose state changes; without the states, which stand in the rows."""
        for number, link in enumerate(links):
            if number >= MAX_LINKS:
                raise ProfileError(f"more than {MAX_LINKS} links: a table holds at most so many")
            if isinstance(link, Again):
                first_row.append(first_row[link.number])
                self._take_again(number, link.number)
                continue
            first_row.append(len(self._columns))
            self._take(number, link)
        if not first_row:
            raise ProfileError("links is empty: a table needs at least one")
        self.first_row: Numbers = np.array(first_row, dtype=np.int64)
        self.numbers: Numbers = np.array(self._columns, dtype=np.int64).T.copy()
        """``[columns, rows]``; of a link that needs a LinkModel one row that means nothing."""
        self.entries: NDArray[np.int16] = np.concatenate(self._parts)
        """The tables of delays one after another, each once."""
        self.needs_model = np.zeros(len(first_row), dtype=bool)
        self.needs_model[list(self.by_model)] = True
        self.is_timed = np.zeros(len(first_row), dtype=bool)
        self.is_timed[list(self.timed)] = True
        del self._columns, self._parts, self._start_of

    def __len__(self) -> int:
        return len(self.first_row)

    @classmethod
    def of_links(cls, links: Iterable[LinkProfile | Schedule], *, packet_by_packet: bool = False) -> StateTable:
        """Return the table of profiles and schedules; ``packet_by_packet`` as for the table.

        One that comes several times, the same object, is compiled once and takes its rows once.

        Raises:
            ProfileError: As for the table.
        """
        return cls(_compiled_once(links), packet_by_packet=packet_by_packet)

    def _take_again(self, number: int, before: int) -> None:
        if before in self.by_model:
            self.by_model[number] = self.by_model[before]
        if before in self.timed:
            self.timed[number] = self.timed[before]

    def _take(self, number: int, link: LinkStates) -> None:
        states = link.states if isinstance(link, TimedStates) else (link,)
        for state in states:
            check_modelled(state)
        prepared = all(_is_prepared(state) for state in states) and not _a_table_stays(states)
        if self._packet_by_packet or not prepared:
            self.by_model[number] = link
            self._columns.append(self._row(QdiscState()))
            return
        rows = [self._row(state) for state in states]
        if isinstance(link, TimedStates):
            # Packets of one step are in flight in the next: the bounds are those of all of them.
            longest = max(row[Column.LONGEST_NS] for row in rows)
            limit = min(row[Column.LIMIT] for row in rows)
            for row in rows:
                row[Column.LONGEST_NS], row[Column.LIMIT] = longest, limit
            # One state stands for all: what it keeps is the times.
            self.timed[number] = TimedStates(link.times, (QdiscState(),) * len(states))
        self._columns += rows

    def _row(self, state: QdiscState) -> list[int]:
        """Return the columns of a state."""
        row = [0] * len(Column)
        chain = state.loss_model
        loss_draws = int(state.loss > 0)
        row[Column.LOST_TO] = state.loss if state.loss else -1
        if isinstance(chain, GilbertElliottState):
            loss_draws = 2
            row[Column.BAD_BELOW], row[Column.GOOD_BELOW] = chain.p, chain.r
            row[Column.LOST_TO], row[Column.KEPT_TO] = chain.k1 - 1, chain.h
        row[Column.LOSS_DRAW] = max(loss_draws - 1, 0)
        row[Column.DRAWS_IF_LOST] = row[Column.CORRUPT_DRAW] = loss_draws
        row[Column.CORRUPT_TO] = state.corrupt if state.corrupt else -1
        row[Column.DELAY_DRAW] = loss_draws + int(state.corrupt > 0)
        row[Column.DRAWS_IF_KEPT] = row[Column.DELAY_DRAW] + int(state.jitter_ns > 0)
        row[Column.RATE] = state.rate_bytes_per_s
        longest_ns = self._put_delay(state, row)
        stays = longest_ns > 0 or state.rate_bytes_per_s > 0
        row[Column.LONGEST_NS] = max(longest_ns, 0)
        row[Column.LIMIT] = state.limit_packets if stays else _UNLIMITED
        return row

    def _put_delay(self, state: QdiscState, row: list[int]) -> int:
        """Write the columns of the delay, and return the longest."""
        latency_ns, jitter_ns = state.latency_ns, state.jitter_ns
        row[Column.TABLE_SIZE] = row[Column.UNIFORM_WIDTH] = 1
        least_ns, longest_ns = latency_ns - jitter_ns, latency_ns + jitter_ns
        if jitter_ns and state.delay_table is None:
            latency_ns -= jitter_ns
            row[Column.UNIFORM_WIDTH] = 2 * jitter_ns
        elif jitter_ns and state.delay_table is not None:
            table = np.array(state.delay_table, dtype=np.int16)
            row[Column.JITTER], row[Column.TABLE_SIZE] = jitter_ns, len(table)
            row[Column.TABLE_START] = self._place(table)
            # The rounding may add half a nanosecond, or take it: one to be safe.
            least_ns, longest_ns = (
                latency_ns + (jitter_ns * int(entry) >> _SCALE_BITS) + beyond
                for entry, beyond in ((table.min(), 0), (table.max(), 1))
            )
        row[Column.LEAST_NS] = least_ns
        row[Column.BASE] = (latency_ns << _SCALE_BITS) + _HALF
        return longest_ns

    def _place(self, table: NDArray[np.int16]) -> int:
        """Return where a table lies, which is put there unless it is already."""
        key = blake2b(table.tobytes(), digest_size=16).digest()
        if key not in self._start_of:
            if self._length + len(table) > MAX_ENTRIES:
                raise ProfileError(
                    f"delay tables of more than {MAX_ENTRIES} entries, {MAX_ENTRIES >> 29} GiB: at most so many",
                    hint="use fewer different links whose law is clipped at zero: each has a table of its own",
                )
            self._start_of[key] = self._length
            self._parts.append(table)
            self._length += len(table)
        return self._start_of[key]


def _compiled_once(links: Iterable[LinkProfile | Schedule]) -> Iterator[LinkStates | Again]:
    seen: dict[int, tuple[LinkProfile | Schedule, int]] = {}  # held here, their identity stays their own
    for number, link in enumerate(links):
        if id(link) in seen:
            yield Again(seen[id(link)][1])
        else:
            seen[id(link)] = link, number
            yield link_states(link)


def _is_prepared(state: QdiscState) -> bool:
    """Tell whether the columns say all there is to a state."""
    others = (
        state.duplicate, state.gap, state.delay_correlation, state.loss_correlation, state.corrupt_correlation,
        state.packet_overhead_bytes, state.cell_size_bytes,
    )  # fmt: skip
    return (
        not any(others)
        and (state.loss_model is None or isinstance(state.loss_model, GilbertElliottState))
        and (state.limit_packets >= LEAST_LIMIT or not _may_stay(state))
        and abs(state.latency_ns) < _MOST_LATENCY_NS
        and state.rate_bytes_per_s < 2**62
    )


def _may_stay(state: QdiscState) -> bool:
    """Tell whether a packet may be in the link for a moment; where none is, any limit above none is far."""
    return bool(state.latency_ns > 0 or state.jitter_ns or state.rate_bytes_per_s or not state.limit_packets)


def _a_table_stays(states: tuple[QdiscState, ...]) -> bool:
    """Tell whether a state without a table follows one with: it would draw from that."""
    without = any(state.delay_table is None and state.jitter_ns for state in states)
    return without and any(state.delay_table is not None for state in states)
