"""Tables of many links in one array: the right entry for each draw, whatever came and went before."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.traces.model import table_pool
from netlab.traces.model.table_pool import TablePool

LINKS = 3
tables = st.one_of(st.none(), st.lists(st.integers(-32768, 32767), min_size=1, max_size=9).map(tuple))


def check(pool: TablePool, of_link: list[tuple[int, ...] | None], draws: list[int]) -> None:
    pool.settle()
    got = pool.draw(np.array(draws, dtype=np.uint32)).tolist()
    assert got == [table[draw % len(table)] if table else 0 for table, draw in zip(of_link, draws, strict=True)]
    assert pool.has_table.tolist() == [table is not None for table in of_link]
    assert pool.least.tolist() == [min(table) if table else 0 for table in of_link]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, LINKS - 1), tables), max_size=40),
    st.lists(st.integers(0, 2**32 - 1), min_size=LINKS, max_size=LINKS),
)
def test_each_link_draws_from_its_own(puts: list[tuple[int, tuple[int, ...] | None]], draws: list[int]) -> None:
    pool, of_link = TablePool(LINKS), [None] * LINKS
    check(pool, of_link, draws)
    for link, table in puts:
        pool.put(link, table)
        of_link[link] = table
        check(pool, of_link, draws)


def test_equal_tables_lie_in_one_place() -> None:
    pool = TablePool(2)
    pool.put(0, tuple(range(100)))
    pool.put(1, tuple(range(100)))
    assert pool._length == 101
    assert pool.start.tolist() == [1, 1]


def test_tables_that_nobody_uses_are_cleared_away() -> None:
    pool = TablePool(1)
    most = 0
    for turn in range(100):
        table = (turn, *range(16_000))
        pool.put(0, table)
        check(pool, [table], [turn * 7919])
        most = max(most, pool._length)
    assert most < table_pool._LEAST_WASTE + 3 * 16_001


def test_the_same_table_made_again_and_again_is_not_hoarded() -> None:
    pool = TablePool(2)
    for _ in range(50):
        pool.put(0, tuple(range(10)))
    assert pool._length == 11
    assert len(pool._place_by_id) <= 5
