"""The parity table: its rows, its test, more episodes where that is undecided, its page, its command."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from netlab.agents.policy import find_policy
from netlab.cli.main import main
from netlab.errors import GuestError, LabError, SpecError
from netlab.tables import parity_cell, parity_engines, parity_plan, parity_run
from netlab.tables.cell_runner import RunCounts
from netlab.tables.cell_store import CellStore
from netlab.tables.equivalence import LEVEL
from netlab.tables.parity_cell import ParityCell, ParityEpisodes, Parting
from netlab.tables.parity_engines import ENGINES, REAL, VIRTUAL, engine_kernel, kernel_of
from netlab.tables.parity_page import largest, parity_page
from netlab.tables.parity_plan import FULL, QUICK, plan_parity, planned_row
from netlab.tables.parity_race import CLOSE_US
from netlab.tables.parity_rows import DIFFERENCE_SHARE, PLAYED, VIRTUAL_NETWORKS, PlayedPolicy
from netlab.tables.parity_run import play_parity
from netlab.tables.parity_table import parity_line

POLE = PlayedPolicy("cartpole-paper", 500.0)
KERNEL = "7.2 sha256:0"


def episodes(services, wrapper, partings=(), machine=None):
    return ParityEpisodes(
        services=tuple(services),
        wrapper=tuple(wrapper),
        ticks=int(sum(services)),
        partings=tuple(partings),
        early="",
        machine=machine or {"engine": "guest", "clock": "virtual", "guest": KERNEL},
        seconds=1.0,
    )


def row(network="wifi-degraded", first_cells=1, engine=VIRTUAL, most_cells=4):
    return planned_row(POLE, network, engine, KERNEL, 50, first_cells, most_cells)


def kernels(engine):
    return f"kernel of {engine}"


def test_each_policy_meets_each_network_in_virtual_time_and_some_in_real() -> None:
    rows = plan_parity(FULL, ("relay, real time",), kernels)
    virtual = [one for one in rows if one.engine == VIRTUAL]
    assert len(virtual) == len(PLAYED) * len(VIRTUAL_NETWORKS)
    assert {one.engine for one in rows[len(virtual) :]} == {"relay, real time"}
    assert {(one.first_cells, len(one.runs)) for one in virtual} == {(FULL.cells, FULL.most_cells)}
    assert len(plan_parity(QUICK, (), kernels)) == len(PLAYED)
    cells = [run.cell for one in rows for run in one.runs]
    assert min(cell.seed for cell in cells) >= 2_000_000, "runs of their own: neither for choosing nor of others"
    assert all(run.key == run.cell.key for one in rows for run in one.runs)
    assert {(cell.engine, cell.kernel) for cell in cells} == {(one, kernels(one)) for one in
                                                              (VIRTUAL, "relay, real time")}  # fmt: skip
    assert {cell.policy_sha256 for cell in cells} == {find_policy(one.policy).sha256 for one in PLAYED}


def test_an_engine_that_is_not_there_is_missed_before_anything_is_played(monkeypatch, tmp_path) -> None:
    def none(say):
        raise GuestError("no guest kernel can be had", hint="netlab guest fetch")

    monkeypatch.setattr("netlab.engine_choice.guest_kernel", none)
    monkeypatch.setattr("netlab.engine_choice.virtual_kernel", Kernel)
    monkeypatch.setattr(parity_run, "run_cells", lambda *_: pytest.fail("nothing is to be played"))
    done = CliRunner().invoke(main, ["table", "parity", "-o", str(tmp_path / "out")])
    assert done.exit_code == 1 and "no guest kernel can be had" in done.stderr
    assert not (tmp_path / "out").exists()


class Kernel:
    identity = KERNEL


def test_a_line_pairs_episodes_and_says_where_they_part() -> None:
    parting = Parting(3, 17, "age", 0.2)
    results = [episodes([500.0] * 50, [500.0] * 50), episodes([490.0] * 50, [499.0] * 50, [parting])]
    found = parity_line(row(), results)
    assert (found.equivalence.n, found.equivalence.mean, found.equivalence.margin) == (100, -4.5, 10.0)
    assert (found.services_mean, found.wrapper_mean, found.identical) == (495.0, 499.5, 99)
    assert found.verdict == found.equivalence.verdict == "undecided"
    assert found.share == pytest.approx(4.5 / 500)
    assert found.seeds == (2_000_000, 2_000_001) and found.partings == ((2_000_001, parting),)
    assert found.first_services == found.first_wrapper == (500.0,) * 50
    with pytest.raises(LabError, match=r"cartpole-paper on wifi-degraded.*a difference of 501"):
        parity_line(row(), [episodes([501.0], [0.0])])


def play(monkeypatch, tmp_path, rows, results):
    """Play rows with results that are given; return the table and the runs that were asked for."""
    asked = []

    def run_cells(cells, store, workers, watch, kind):
        for cell in cells:
            if cell.key not in store:
                asked.append(cell.seed)
                store.put(cell.key, cell.title, msgspec.json.encode(results(cell)))
        return RunCounts(len(cells), 0, len(cells), 0.0)

    monkeypatch.setattr(parity_run, "run_cells", run_cells)
    with CellStore(tmp_path / "cells.sqlite") as store:
        return play_parity(rows, store, 1), asked


def test_a_row_that_is_decided_has_no_more_cells(monkeypatch, tmp_path) -> None:
    rows = [row(first_cells=4, most_cells=8)]
    table, asked = play(monkeypatch, tmp_path, rows, lambda cell: episodes([500.0] * 50, [500.0] * 50))
    assert (asked, table.lines[0].verdict) == ([2_000_000 + n for n in range(4)], "equivalent")
    again, more = play(monkeypatch, tmp_path, rows, lambda cell: pytest.fail("it is in the store"))
    assert (more, again) == ([], table)
    assert table.kernels == {VIRTUAL: KERNEL} and "code" in table.versions


def test_an_undecided_one_has_more_up_to_its_limit(monkeypatch, tmp_path) -> None:
    apart = episodes([500.0, 0.0] * 25, [0.0, 500.0] * 25)
    table, asked = play(monkeypatch, tmp_path, [row()], lambda cell: apart)
    assert asked == [2_000_000, 2_000_001, 2_000_002, 2_000_003]
    assert (table.lines[0].verdict, table.lines[0].equivalence.n) == ("undecided", 200)


@pytest.mark.parametrize(
    ("parting", "words", "counts"),
    [
        (Parting(3, 17, "age", 350.735, 0.406), "age; two observations 0.406 us apart at the policy |", (0, 4, 0)),
        (Parting(3, 17, "age", 0.256, 0.406), "age; an arrival 0.256 us from a tick |", (4, 0, 0)),
        (Parting(3, 17, "age", 2251.3, 99.0), "age; an arrival 2251 us from a tick |", (0, 0, 4)),
        (Parting(3, 17, "age", None, 0.406), "age; two observations 0.406 us apart at the policy |", (0, 4, 0)),
        (Parting(3, 17, "age", None, None), "tick 17: age |", (0, 0, 4)),
    ],
)
def test_the_page_tells_the_races_apart(monkeypatch, tmp_path, parting, words, counts) -> None:
    found = episodes([500.0] * 50, [500.0] * 50, [parting])
    table, _ = play(monkeypatch, tmp_path, [row(first_cells=4)], lambda cell: found)
    page = parity_page(table, "make")
    assert words in page
    with_tick, together, otherwise = counts
    assert f"(age 4), {with_tick} part where an answer arrived" in page
    assert f"{together} part where two observations" in page and f"{otherwise} part otherwise" in page


def test_the_page_has_every_line_and_names_the_cause(monkeypatch, tmp_path) -> None:
    found = episodes([500.0] * 49 + [480.0], [500.0] * 50, [Parting(49, 401, "source", 0.256)])
    rows = [row(first_cells=4), row("wifi-normal", first_cells=4, most_cells=4)]
    table, _ = play(monkeypatch, tmp_path, rows, lambda cell: found)
    page = parity_page(table, "netlab table parity -o here")
    assert " 0 part where two observations" in page and " 0 part otherwise." in page
    assert page == parity_page(table, "netlab table parity -o here")
    assert page.count("| cartpole-paper | wifi-") == 2 and "No row is undecided." in page
    assert "196 of 200" in page and "tick 401: source; an arrival 0.256 us from a tick" in page
    assert f"8 (source 8), 8 part where an answer arrived within {CLOSE_US:g} us" in page
    assert largest(table).share == pytest.approx(0.4 / 500)
    for number in (
        f"{LEVEL:.0%} of studies",
        f"{1 - 2 * LEVEL:.0%} interval",
        f"within {DIFFERENCE_SHARE:.0%} of",
    ):
        assert number in page
    for played in PLAYED:
        assert f"`{played.policy}` {played.range:g}" in page
    assert table.versions["code"] in page and KERNEL in page


def test_the_page_says_of_ten_episodes_what_was_seen_and_that_they_decide_nothing(monkeypatch, tmp_path) -> None:
    real = planned_row(POLE, "wifi-degraded", REAL["relay"], "Linux", 10, 1, 1)
    seen = episodes([480.0] + [500.0] * 9, [500.0] * 10, machine={"engine": "relay", "kernel": "Linux"})
    table, _ = play(monkeypatch, tmp_path, [real], lambda cell: seen)
    page = parity_page(table, "make")
    assert table.lines[0].verdict == "undecided"
    assert "1 of 1 rows are undecided" in page
    assert "relay, real time: -2.0 ± 2.0 in 10 episodes, 1 of which differ in their return" in page
    assert "10 episodes cannot show that two means are within 2%: had all 10 been alike" in page
    assert "29% of the range either way" in page


def test_a_result_that_is_none_is_named(monkeypatch, tmp_path) -> None:
    with CellStore(tmp_path / "cells.sqlite") as store:
        store.put(row().runs[0].key, "broken", b"{}")
    with pytest.raises(SpecError, match="cell"):
        play(monkeypatch, tmp_path, [row()], lambda cell: pytest.fail("it is there"))


def cell(**fields) -> ParityCell:
    usual = {"policy": "cartpole-paper", "network": "wifi-normal", "engine": "relay, real time", "kernel": "Linux"}
    return ParityCell(**{**usual, "seed": 1, "episodes": 2, **fields})


OTHERS = {
    "policy": "cartpole-paper-2",
    "policy_sha256": "ab",
    "network": "wifi-degraded",
    "engine": VIRTUAL,
    "kernel": "Linux 7",
    "actuator": "stop-and-wait",
    "options": {"push_n": 1.0},
    "seed": 2,
    "episodes": 3,
}


@pytest.mark.parametrize("name", ParityCell.__struct_fields__)
def test_every_field_is_in_the_key(name: str) -> None:
    assert cell(**{name: OTHERS[name]}).key != cell().key


def test_a_files_place_is_not_in_the_key_and_versions_are(monkeypatch) -> None:
    here, there = (cell(policy=f"{place}/a.safetensors", policy_sha256="ab") for place in ("here", "there"))
    assert here.key == there.key != cell(policy="here/a.safetensors", policy_sha256="ac").key
    before, versions = here.key, parity_cell.deciding_versions()
    for name in versions:
        monkeypatch.setattr(parity_cell, "deciding_versions", lambda name=name: versions | {name: "another"})
        assert here.key != before


class Plan(msgspec.Struct):
    recipe: object


class Run(msgspec.Struct):
    machine: dict[str, object]


class Report(msgspec.Struct):
    policy_sha256: str
    run: Run


class Recipe(msgspec.Struct):
    sha256: str


@pytest.mark.parametrize(
    ("wrapper", "services", "kernel", "problem"),
    [
        ("ab", "ab", "Linux", ""),
        ("ac", "ab", "Linux", "cartpole-paper has changed"),
        ("ab", "ac", "Linux", "cartpole-paper has changed"),
        ("ab", "ab", "Linux 7", "kernel of relay, real time: it was Linux 7, not Linux"),
    ],
)
def test_what_was_played_is_what_the_key_says(monkeypatch, wrapper, services, kernel, problem) -> None:
    one = cell(policy_sha256="ab")
    report = Report(services, Run({"kernel": kernel, "guest": None}))
    monkeypatch.setattr(ParityCell, "_plan", lambda self: Plan(Recipe(wrapper)))
    monkeypatch.setattr(ParityCell, "_play_services", lambda self: (report, []))
    monkeypatch.setattr(parity_cell, "play_in_wrapper", lambda plan: pytest.fail("so far") if problem else [])
    if problem:
        with pytest.raises(SpecError, match=problem):
            one.play()
    else:
        monkeypatch.setattr(parity_cell, "first_differences", lambda here, there: pytest.fail("it went on"))
        with pytest.raises(pytest.fail.Exception, match="it went on"):
            one.play()


def test_a_failed_command_is_told_by_its_error_and_hint() -> None:
    one = cell(policy="linear", network="no-such-network")
    with pytest.raises(LabError, match=r"^netlab run ended with status 2: .*no-such-network") as caught:
        one._play_services()
    assert caught.value.hint and "hint" not in caught.value.message


def test_engines_are_asked_for_by_the_options_of_run_and_named_as_results_name_them() -> None:
    assert ENGINES[VIRTUAL] == ("--virtual-time",)
    assert {engine: words[1] for engine, words in ENGINES.items() if engine != VIRTUAL} == {
        engine: name for name, engine in REAL.items()
    }
    assert kernel_of({"guest": KERNEL, "kernel": "Linux"}) == KERNEL
    assert kernel_of({"guest": None, "kernel": "Linux"}) == "Linux"


@pytest.mark.parametrize("engine", [REAL["relay"], REAL["host"]])
def test_what_this_kernel_cannot_do_is_said(monkeypatch, engine: str) -> None:
    from netlab.errors import KernelError
    from netlab.host_survey import HostSurvey

    problem = KernelError("run labs on this kernel", words="it lacks sch_netem")
    monkeypatch.setattr("netlab.host_survey.survey_host", lambda: HostSurvey(None, problem))
    with pytest.raises(KernelError):
        engine_kernel(engine)


def refused(*words: str) -> str:
    done = CliRunner().invoke(main, ["table", "parity", *words])
    assert done.exit_code == 2 and "hint: " in done.stderr, done.output
    return done.stderr


@pytest.mark.parametrize("words", [("--on", "guest"), ("--on", "host"), ("--virtual-time",), ("--check",)])
def test_it_starts_guests_itself_and_runs_in_none(tmp_path: Path, words: tuple[str, ...]) -> None:
    said = refused("--quick", "-o", str(tmp_path / "out"), *words)
    assert " ".join(words) in said and "each row says itself" in said
    assert not (tmp_path / "out").exists()


def test_quick_has_no_real_rows_and_says_so(tmp_path: Path) -> None:
    said = refused("--quick", "--real", "relay", "-o", str(tmp_path / "out"))
    assert "--real relay: --quick plays in virtual time alone" in said
    assert not (tmp_path / "out").exists()


def test_the_command_writes_page_and_document_and_names_itself(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(parity_engines, "engine_kernel", lambda engine, say=None: KERNEL)
    monkeypatch.setattr(parity_plan, "PLAYED", (POLE,))

    def run_cells(cells, store, workers, watch, kind):
        for one in cells:
            if one.key not in store:
                found = episodes([500.0] * one.episodes, [500.0] * one.episodes)
                store.put(one.key, one.title, msgspec.json.encode(found))
        return RunCounts(len(cells), 0, len(cells), 0.0)

    monkeypatch.setattr(parity_run, "run_cells", run_cells)
    words = ["table", "parity", "-o", str(tmp_path), "--real", "relay", "--real", "relay"]
    done = CliRunner().invoke(main, [*words, "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document == json.loads((tmp_path / "parity.json").read_text())
    assert document["command"] == f"netlab table parity -o {tmp_path} --real relay"
    assert [one["verdict"] for one in document["lines"]] == ["equivalent"] * 5 + ["undecided"], "relay once"
    assert document["command"] in (tmp_path / "parity.md").read_text()
    told = CliRunner().invoke(main, words)
    assert "6 lines: 5 equivalent, 1 undecided; largest difference 0.00%" in told.stdout
