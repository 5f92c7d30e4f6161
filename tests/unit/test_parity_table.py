"""The parity table: its rows, its test, more episodes where that is undecided, its page."""

from __future__ import annotations

import msgspec
import pytest

from netlab.errors import SpecError
from netlab.tables import parity_run
from netlab.tables.cell_runner import RunCounts
from netlab.tables.cell_store import CellStore
from netlab.tables.parity_cell import ParityCell, ParityEpisodes, Parting
from netlab.tables.parity_page import largest, parity_page
from netlab.tables.parity_plan import FULL, QUICK, ParityRow, plan_parity
from netlab.tables.parity_rows import PLAYED, VIRTUAL_NETWORKS, PlayedPolicy
from netlab.tables.parity_run import play_parity
from netlab.tables.parity_table import parity_line

POLE = PlayedPolicy("cartpole-paper", 500.0)


def episodes(services, wrapper, partings=()):
    return ParityEpisodes(
        services=tuple(services),
        wrapper=tuple(wrapper),
        ticks=int(sum(services)),
        partings=tuple(partings),
        early="",
        machine={"engine": "guest", "clock": "virtual", "guest": "7.2 sha256:0"},
        seconds=1.0,
    )


def row(network="wifi-degraded", first_cells=1):
    return ParityRow(POLE, network, "guest, virtual time", 10, first_cells, 4)


def test_each_policy_meets_each_network_in_virtual_time_and_some_in_real() -> None:
    rows = plan_parity(FULL, ("relay, real time",))
    virtual = [one for one in rows if "virtual" in one.engine]
    assert len(virtual) == len(PLAYED) * len(VIRTUAL_NETWORKS)
    assert {one.engine for one in rows[len(virtual) :]} == {"relay, real time"}
    assert all(one.first_cells * one.episodes >= 100 for one in virtual)
    assert len(plan_parity(QUICK, ("relay, real time",))) == len(PLAYED)
    seeds = [one.cell(number).seed for one in rows for number in range(one.most_cells)]
    assert min(seeds) >= 2_000_000, "runs of their own: neither for choosing nor of other tables"


def test_a_line_pairs_episodes_and_says_where_they_part() -> None:
    parting = Parting(3, 17, "age", 0.2)
    results = [episodes([500.0] * 10, [500.0] * 10), episodes([490.0] * 10, [499.0] * 10, [parting])]
    found = parity_line(row(), results)
    assert (found.equivalence.n, found.equivalence.mean, found.equivalence.margin) == (20, -4.5, 10.0)
    assert (found.services_mean, found.wrapper_mean, found.identical) == (495.0, 499.5, 19)
    assert found.verdict == "equivalent" and found.share == pytest.approx(4.5 / 500)
    assert found.seeds == (2_000_000, 2_000_001) and found.partings == ((2_000_001, parting),)


def play(monkeypatch, tmp_path, rows, results):
    """Play rows with results that are given; return the table and the runs that were asked for."""
    asked = []

    def run_cells(cells, store, workers, watch):
        for cell in cells:
            if cell.key not in store:
                asked.append(cell.seed)
                store.put(cell.key, cell.title, msgspec.json.encode(results(cell)))
        return RunCounts(len(cells), 0, len(cells), 0.0)

    monkeypatch.setattr(parity_run, "run_cells", run_cells)
    with CellStore(tmp_path / "cells.sqlite") as store:
        return play_parity(rows, store, 1), asked


def test_a_row_that_is_decided_has_no_more_cells(monkeypatch, tmp_path) -> None:
    table, asked = play(monkeypatch, tmp_path, [row()], lambda cell: episodes([500.0] * 10, [500.0] * 10))
    assert (asked, table.lines[0].verdict) == ([2_000_000], "equivalent")
    again, more = play(monkeypatch, tmp_path, [row()], lambda cell: pytest.fail("it is in the store"))
    assert (more, again) == ([], table)


def test_an_undecided_one_has_more_up_to_its_limit(monkeypatch, tmp_path) -> None:
    apart = episodes([500.0, 0.0] * 5, [0.0, 500.0] * 5)
    table, asked = play(monkeypatch, tmp_path, [row()], lambda cell: apart)
    assert asked == [2_000_000, 2_000_001, 2_000_002, 2_000_003]
    assert (table.lines[0].verdict, table.lines[0].equivalence.n) == ("undecided", 40)


def test_the_page_has_every_line_and_names_the_cause(monkeypatch, tmp_path) -> None:
    found = episodes([500.0] * 9 + [480.0], [500.0] * 10, [Parting(9, 401, "source", 0.256)])
    rows = [row(), row("wifi-normal", first_cells=2)]
    table, _ = play(monkeypatch, tmp_path, rows, lambda cell: found)
    page = parity_page(table, "netlab table parity -o here")
    assert page == parity_page(table, "netlab table parity -o here")
    assert page.count("| cartpole-paper | wifi-") == 2
    assert "9 of 10" in page and "18 of 20" in page and "tick 401: source; an arrival 0.256 us from a tick" in page
    assert "3 (source 3), 3 part at a tick within 1.024 us" in page
    assert largest(table).share == pytest.approx(2 / 500)


def test_a_result_that_is_none_is_named(monkeypatch, tmp_path) -> None:
    with CellStore(tmp_path / "cells.sqlite") as store:
        store.put(row().cell(0).key, "broken", b"{}")
    with pytest.raises(SpecError, match="cell"):
        play(monkeypatch, tmp_path, [row()], lambda cell: pytest.fail("it is there"))


def test_what_decides_a_cell_is_in_its_key() -> None:
    cell = ParityCell(
        policy="cartpole-paper", network="wifi-normal", engine="relay, real time", seed=1, episodes=2
    )
    others = [
        msgspec.structs.replace(cell, **change)
        for change in (
            {"policy": "cartpole-paper-2"},
            {"network": "wifi-degraded"},
            {"engine": "guest, virtual time"},
            {"actuator": "stop-and-wait"},
            {"options": {"push_n": 1.0}},
            {"seed": 2},
            {"episodes": 3},
        )
    ]
    assert len({one.key for one in [cell, *others]}) == 8
