"""The figure ``parity``: the committed table, and what is played again; the playing itself is not done here."""

from __future__ import annotations

import msgspec
import pytest

from netlab.bench import parity as figure
from netlab.errors import FeatureMissing, NetlabError, SpecError
from netlab.tables.deciding_versions import deciding_versions
from netlab.tables.parity_cell import ParityCell, ParityEpisodes, Parting
from netlab.tables.parity_engines import REAL, VIRTUAL
from netlab.tables.parity_plan import planned_row
from netlab.tables.parity_race import CLOSE_US
from netlab.tables.parity_rows import PlayedPolicy
from netlab.tables.parity_table import ParityTable, parity_line

KERNEL = "7.2 sha256:0"
RETURNS = tuple(float(n) for n in range(50))


def episodes(services=RETURNS, wrapper=RETURNS, partings=()) -> ParityEpisodes:
    return ParityEpisodes(services=services, wrapper=wrapper, ticks=99, partings=partings, early="",
                          machine={"guest": KERNEL}, seconds=1.0)  # fmt: skip


def line(policy=figure.AGAIN[0], engine=VIRTUAL, cells=4, result=None, actuator=None):
    result = episodes() if result is None else result
    row = planned_row(PlayedPolicy(policy, 500.0, actuator), figure.AGAIN[1], engine, KERNEL, 50, 1, cells)
    return parity_line(row, [result] * cells)


def table(*lines, kernel=KERNEL, versions=None) -> ParityTable:
    return ParityTable(
        netlab="0",
        versions=deciding_versions() if versions is None else versions,
        kernels={VIRTUAL: kernel},
        machine={},
        seconds=1.0,
        lines=lines,
    )


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Return what measures with a table and with what playing again gives."""

    def measure(committed, again=None):
        path = tmp_path / "parity.json"
        path.write_bytes(msgspec.json.encode({"command": "make", **msgspec.to_builtins(committed)}))
        monkeypatch.setattr(figure, "TABLE", path)
        monkeypatch.setattr(figure, "engine_kernel", lambda engine: KERNEL)
        first = RETURNS[: figure.EPISODES]
        again = episodes(first, first) if again is None else again
        asked = []
        monkeypatch.setattr(ParityCell, "play", lambda cell: (asked.append(cell), again)[1])
        found = figure.parity(lambda text: None)
        (cell,) = asked
        assert (cell.policy, cell.network, cell.engine, cell.kernel) == (*figure.AGAIN, VIRTUAL, KERNEL)
        assert (cell.seed, cell.episodes, cell.actuator) == (2_000_000, figure.EPISODES, None)
        assert cell.policy_sha256
        return found

    return measure


REAL_LINE = {"engine": REAL["relay"], "cells": 1}


def test_it_holds_where_the_table_does_and_what_is_played_again_is_what_it_was(measured) -> None:
    found = measured(table(line("linear"), line(), line(**REAL_LINE)))
    assert found.holds and found.value == 0.0 and found.n == 400
    assert "2 equivalent of 2 in virtual time" in found.spread and "1 undecided of 1 in real time" in found.spread
    assert "20 of 20; the returns are those of the table, races aside" in found.note
    assert "within 2%" in found.target


@pytest.mark.parametrize(
    ("services", "wrapper", "holds", "words"),
    [
        (RETURNS[:20], RETURNS[:20], True, "are those of the table"),
        ((1.0, *RETURNS[1:20]), RETURNS[:20], False, "the services' returns are not those"),
        (RETURNS[:20], (1.0, *RETURNS[1:20]), False, "the wrapper's returns are not those"),
        (RETURNS[:19], RETURNS[:19], False, "are not those of the table"),
    ],
)
def test_returns_are_the_tables_where_the_code_is(measured, services, wrapper, holds, words) -> None:
    found = measured(table(line()), episodes(services, wrapper))
    assert found.holds is holds and words in found.note


@pytest.mark.parametrize("raced_in", ["the table", "what is played again"])
def test_a_race_may_fall_to_the_other_side(measured, raced_in) -> None:
    """Clones in two places start some clock steps apart."""
    race = (Parting(0, 41, "age", CLOSE_US),)
    other = ((1.0, *RETURNS[1:20]), RETURNS[:20])
    if raced_in == "the table":
        found = measured(table(line(result=episodes(partings=race))), episodes(*other))
    else:
        found = measured(table(line()), episodes(*other, race))
    assert found.holds and "races aside" in found.note
    elsewhere = ((RETURNS[0], 2.0, *RETURNS[2:20]), RETURNS[:20], race)
    assert not measured(table(line()), episodes(*elsewhere)).holds


@pytest.mark.parametrize("other", [{"kernel": "7.3 sha256:1"}, {"versions": {"code": "another"}}])
def test_of_other_code_or_kernel_returns_may_be_others(measured, other) -> None:
    found = measured(table(line(), **other), episodes(RETURNS[20:40], RETURNS[20:40]))
    assert found.holds and "its returns are not compared" in found.note


@pytest.mark.parametrize(("nearest_us", "holds"), [(CLOSE_US, True), (CLOSE_US + 0.1, False), (None, False)])
def test_what_parts_without_a_race_does_not_hold_whatever_the_code(measured, nearest_us, holds) -> None:
    again = episodes(RETURNS[:20], RETURNS[:20], (Parting(7, 41, "age", nearest_us),))
    for versions in (None, {"code": "another"}):
        found = measured(table(line(), versions=versions), again)
        assert found.holds is holds
        assert "19 of 20" in found.note and ("episode 7 parts at tick 41 (age)" in found.note) is not holds


def test_a_line_that_is_not_equivalent_does_not_hold(measured) -> None:
    far = episodes(RETURNS, tuple(value + 60.0 for value in RETURNS))
    assert not measured(table(line(), line("linear", cells=1))).holds, "undecided, in virtual time"
    assert not measured(table(line(), line("linear", result=far))).holds
    assert not measured(table(line(), line(engine=REAL["relay"], result=far))).holds, "different, in real time"


@pytest.mark.parametrize(
    ("committed", "words"),
    [
        (table(line("linear")), "has no line of cartpole-paper on wifi-degraded"),
        (table(line(engine=REAL["guest"])), "has no line of"),
        (table(line(actuator="stop-and-wait")), "has no line of"),
        (table(), "has no line of"),
        (table(line(result=episodes(RETURNS[:10], RETURNS[:10]), cells=1)), "has 10 episodes, not 20 or more"),
    ],
)
def test_a_table_that_lacks_the_line_or_is_a_quick_one_is_named(measured, committed, words) -> None:
    with pytest.raises(SpecError, match=words) as caught:
        measured(committed)
    assert "parity.json" in str(caught.value) and "netlab table parity" in caught.value.hint


@pytest.mark.parametrize(("content", "kind"), [(b"{}", SpecError), (b"no", SpecError), (None, FeatureMissing)])
def test_a_table_that_is_none_is_named(monkeypatch, tmp_path, content, kind: type[NetlabError]) -> None:
    path = tmp_path / "parity.json"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setattr(figure, "TABLE", path)
    with pytest.raises(kind, match=r"parity\.json"):
        figure.parity(lambda text: None)
