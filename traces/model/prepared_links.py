"""PreparedLinks: many links whose next packet's fate is drawn before it comes, for all of them in one go.

What is lost, and how long it takes, hangs on the generator alone; only the moment is the sender's. So the draws of
both directions of many episodes are made together, however the packets then come.

::

    words  row 0   where each link's generator stands
           row 1   one draw on         draws[0]              loss, chain
           row 2   two draws on        draws[1]              chain, corruption or delay
           ...
           row j --> row 0             as many draws as the packet took, once it has been sent

The twin of ``LinkModel`` for states with loss, a Gilbert-Elliott chain, corruption, delay and rate, and queues
that never fill up. Knows no episode; ``EpisodeLinks`` says when links begin anew.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.traces.model.limit_watch import LimitWatch
from netlab.traces.model.prepared_draws import PreparedDraws
from netlab.traces.model.state_table import DRAW_PLACES, WORD_PLACES, Column, StateTable
from netlab.traces.model.wire_time import NS_PER_S

__all__ = ["NEVER", "PreparedLinks"]

Bools = NDArray[np.bool_]
Numbers = NDArray[np.int64]

NEVER = np.int64(2**63 - 1)
"""Later than any moment: when what is lost arrives."""

_LEFT_ALREADY = np.int64(-(2**63))
_SCALE_BITS = 13
_SIGN_BITS = 63
_PLACES = slice(DRAW_PLACES.start, WORD_PLACES.stop)


class PreparedLinks:
    """Links of a table.

    Args:
        table: What a link can be; of those that need a LinkModel nothing is computed here.
        links: How many; each begins as the table's first.
    """

    def __init__(self, table: StateTable, links: int) -> None:
        numbers = table.numbers.copy()
        self._generators = PreparedDraws(max(int(numbers[Column.DRAWS_IF_KEPT].max()), 1), links)
        self._look_for_what_is_not_needed(numbers)
        numbers[DRAW_PLACES] *= links
        numbers[WORD_PLACES] *= self._generators.row_items
        if self._sizes_are_powers:
            numbers[Column.TABLE_SIZE] -= 1  # as a mask
        self._numbers, self._entries = numbers, table.entries
        self._links = np.arange(links)
        # Columns of each link; single ones have names of their own, since to index takes as long as to add.
        self._at = np.empty((len(Column), links), dtype=np.int64)
        self._column = list(self._at)
        self._allocate(links)
        self._watch = LimitWatch(links, int(numbers[Column.LIMIT].min()))
        self.begin(self._links, np.zeros(links, dtype=np.int64), np.zeros(links, dtype=np.uint64))

    def _look_for_what_is_not_needed(self, numbers: Numbers) -> None:
        """Note which steps no link of the table takes."""
        size = numbers[Column.TABLE_SIZE]
        self._sizes_are_powers = not (size & (size - 1)).any()
        self._any_table = bool(numbers[Column.JITTER].any())
        self._any_uniform = bool((numbers[Column.UNIFORM_WIDTH] > 1).any())
        self._any_chain = bool((numbers[Column.LOSS_DRAW] > 0).any())  # the second of two decides
        self._any_loss = bool((numbers[Column.DRAWS_IF_LOST] > 0).any())
        self._any_corrupt = bool((numbers[Column.CORRUPT_TO] >= 0).any())
        self._may_be_early = bool((numbers[Column.LEAST_NS] < 0).any())
        has_rate = numbers[Column.RATE] > 0
        self._any_rate, self._all_rate = bool(has_rate.any()), bool(has_rate.all())

    def _allocate(self, links: int) -> None:
        self._is_bad, self._is_bad_after, self._lost, self._used = np.zeros((4, links), dtype=bool)
        self._kept = self._whole = np.ones(links, dtype=bool)
        # Where each generator stands once the packet that is prepared has been sent.
        self._next = self._links.copy()
        self._delay_ns, self._index = np.empty((2, links), dtype=np.int64)
        self._last_due_ns = np.full(links, _LEFT_ALREADY)
        self._row = np.full(links, -1, dtype=np.int64)
        self._has_rate = np.zeros(links, dtype=bool)
        self._wire_ns = np.zeros(links, dtype=np.int64)
        self._wire_bytes = 0

    def begin(self, links: Numbers, rows: Numbers, seeds: NDArray[np.uint64]) -> None:
        """Put fresh links, nothing in them, in the place of these.

        Args:
            links: ``[n]``, each once.
            rows: Of the table, ``[n]``.
            seeds: ``[n]``.
        """
        if self._any_rate:
            self._last_due_ns[links] = _LEFT_ALREADY
        self._watch.begin_anew(links)
        self._used[links] = False
        self._load(links, rows, seeds)

    def change(self, links: Numbers, rows: Numbers, seeds: NDArray[np.uint64]) -> None:
        """Send states to these links; what is in flight stays. Arguments as for ``begin``."""
        self._load(links, rows, seeds)
        # The packet before has been sent; what it left behind is no more.
        self._next[links] = links
        self._is_bad_after[links] = False

    def _load(self, links: Numbers, rows: Numbers, seeds: NDArray[np.uint64]) -> None:
        self._generators.seed(links, seeds)
        if self._any_chain:
            self._is_bad[links] = False
        if np.count_nonzero(self._row.take(links) != rows):  # else all that follows from the row is there
            self._load_row(links, rows)
        self._stale = True

    def _load_row(self, links: Numbers, rows: Numbers) -> None:
        self._row[links] = rows
        numbers = self._numbers.take(rows, axis=1)
        numbers[_PLACES] += links
        self._at[:, links] = numbers
        if self._any_rate:
            rate = numbers[Column.RATE]
            self._has_rate[links] = rate > 0
            self._wire_ns[links] = self._wire_bytes * NS_PER_S // np.maximum(rate, 1)

    def send(self, part: slice, now_ns: Numbers, who: Bools | None, length_bytes: int | Numbers) -> Numbers:
        """Put a packet into links and return when it arrives; ``NEVER`` where it does not.

        Args:
            part: Which links the columns are of, ``[part]``.
            now_ns: Their clocks.
            who: Which have a packet; all unless given.
            length_bytes: One length, or ``[part]``.

        Raises:
            ProfileError: A queue may be full.
        """
        used = self._used[part]
        if self._stale or np.count_nonzero(used if who is None else used & who):
            self._prepare()
        if self._watch.looks:
            self._look(part, now_ns, who)
        leave_ns = now_ns + self._delay_ns[part]
        if self._any_rate:
            self._serve(part, now_ns, who, length_bytes, leave_ns)
        if self._may_be_early:
            np.maximum(leave_ns, now_ns, out=leave_ns)
        whole = self._whole[part]
        if who is None:
            used[:] = True
        else:
            used |= who
            whole = whole & who
        arrive_ns: Numbers = np.where(whole, leave_ns, NEVER)
        return arrive_ns

    def _serve(
        self, part: slice, now_ns: Numbers, who: Bools | None, length_bytes: int | Numbers, leave_ns: Numbers
    ) -> None:
        """Let packets wait for those before them and take their time on the wire; ``leave_ns`` is written."""
        last_due_ns = self._last_due_ns[part]
        floor_ns = last_due_ns
        if self._may_be_early:  # nobody waits for what has left
            floor_ns = np.where(last_due_ns > now_ns, last_due_ns, _LEFT_ALREADY)
        due_ns = served_ns = np.maximum(leave_ns, floor_ns)
        served_ns += self._wire_times(part, length_bytes)
        if self._all_rate:
            leave_ns[:] = served_ns
        else:
            np.copyto(leave_ns, served_ns, where=self._has_rate[part])
            # Without a rate too: a rate may come while the packet is in flight.
            due_ns = np.maximum(leave_ns, floor_ns)
        np.copyto(last_due_ns, due_ns, where=self._kept[part] if who is None else self._kept[part] & who)

    def _wire_times(self, part: slice, length_bytes: int | Numbers) -> Numbers:
        rate = self._column[Column.RATE]
        if not isinstance(length_bytes, int):
            times: Numbers = length_bytes * NS_PER_S // np.maximum(rate[part], 1)
            return times
        if self._wire_bytes != length_bytes:
            self._wire_ns = length_bytes * NS_PER_S // np.maximum(rate, 1)
            self._wire_bytes = length_bytes
        return self._wire_ns[part]

    def _look(self, part: slice, now_ns: Numbers, who: Bools | None) -> None:
        links, now_ns = (self._links[part], now_ns) if who is None else (self._links[part][who], now_ns[who])
        left_by_ns = np.maximum(now_ns + self._at[Column.LONGEST_NS, links], self._last_due_ns[links])
        self._watch.look(links, now_ns, left_by_ns, self._at[Column.LIMIT, links])

    def _prepare(self) -> None:
        """Draw the fate of each link's next packet; of those that have not been used it comes out as before."""
        used = self._used
        self._watch.count(used)
        if np.count_nonzero(used) < len(used):
            np.copyto(self._next, self._links, where=~used)
        if self._any_chain:
            np.copyto(self._is_bad, self._is_bad_after, where=used)
        used[:] = False
        self._stale = False
        self._generators.move_to(self._next)
        self._generators.make()
        self._decide()

    def _decide(self) -> None:
        column, draws, lost = self._column, self._generators.draws, self._lost
        if self._any_chain:
            self._decide_loss_by_chain()
        elif self._any_loss:
            np.less_equal(draws[0], column[_LOST_TO], out=lost)
        self._kept = self._whole = ~lost
        flat = self._generators.flat_draws
        if self._any_corrupt:
            fate = flat.take(column[Column.CORRUPT_DRAW], mode="clip")
            self._whole = self._kept & (fate > column[Column.CORRUPT_TO])
        self._draw_delays(flat.take(column[_DELAY_DRAW], mode="clip"))
        np.copyto(self._next, column[_DRAWS_IF_KEPT])
        if self._any_loss:
            np.copyto(self._next, column[_DRAWS_IF_LOST], where=lost)

    def _decide_loss_by_chain(self) -> None:
        """Take the chains' draws; a link without a chain is one that is always good."""
        column, is_bad = self._column, self._is_bad
        bound = np.where(is_bad, column[_GOOD_BELOW], column[_BAD_BELOW])
        np.not_equal(self._generators.draws[0] < bound, is_bad, out=self._is_bad_after)
        bound = np.where(is_bad, column[_KEPT_TO], column[_LOST_TO])
        fate = self._generators.flat_draws.take(column[_LOSS_DRAW], mode="clip")
        np.not_equal(fate <= bound, is_bad, out=self._lost)

    def _draw_delays(self, draws: Numbers) -> None:
        column, delay_ns, index = self._column, self._delay_ns, self._index
        if not self._any_table:
            np.right_shift(column[_BASE], _SCALE_BITS, out=delay_ns)
        else:
            if self._sizes_are_powers:
                np.bitwise_and(draws, column[_TABLE_SIZE], out=index)
            else:
                np.remainder(draws, column[_TABLE_SIZE], out=index)
            index += column[_TABLE_START]
            entries = self._entries.take(index, mode="clip").astype(np.int64)
            np.multiply(entries, column[_JITTER], out=delay_ns)
            delay_ns += column[_BASE]
            np.right_shift(entries, _SIGN_BITS, out=entries)  # -1 below zero: halves are rounded away from zero
            delay_ns += entries
            delay_ns >>= _SCALE_BITS
        if self._any_uniform:
            delay_ns += draws % column[Column.UNIFORM_WIDTH]


# To ask an enumeration for a member takes as long as to add two columns.
_JITTER, _BASE = int(Column.JITTER), int(Column.BASE)
_TABLE_START, _TABLE_SIZE = int(Column.TABLE_START), int(Column.TABLE_SIZE)
_BAD_BELOW, _GOOD_BELOW = int(Column.BAD_BELOW), int(Column.GOOD_BELOW)
_LOST_TO, _KEPT_TO = int(Column.LOST_TO), int(Column.KEPT_TO)
_LOSS_DRAW, _DELAY_DRAW = int(Column.LOSS_DRAW), int(Column.DELAY_DRAW)
_DRAWS_IF_LOST, _DRAWS_IF_KEPT = int(Column.DRAWS_IF_LOST), int(Column.DRAWS_IF_KEPT)
