"""``netlab table calf``: ended before its time it goes on where it was; what is no store, no policy, no folder."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import calf_results
import msgspec
import pytest
from calf_results import cell
from click.testing import CliRunner

from netlab.agents.shipped_policies import shipped_path
from netlab.cli import table_calf
from netlab.cli.main import main
from netlab.cli.progress_line import ProgressLine
from netlab.cli.table_folder import CellProgress
from netlab.errors import FeatureMissing, NetlabError, SpecError
from netlab.install_hint import install_hint
from netlab.tables import calf_figure, calf_run
from netlab.tables.calf_plan import TableSize, plan_calf
from netlab.tables.calf_result import CalfResult
from netlab.tables.calf_rows import SECTIONS
from netlab.tables.calf_run import play_calf
from netlab.tables.calf_table import calf_table
from netlab.tables.cell_runner import RunCounts, run_cells
from netlab.tables.cell_store import STORE_NAME, CellStore

SMALL = ("--episodes", "2", "--training-seeds", "1")
WAIT_S = 60.0


def calf(*words: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, ["table", "calf", *map(str, words)])
    return done.exit_code, done.stdout, done.stderr


def kept(folder: Path) -> dict[str, bytes]:
    with contextlib.closing(sqlite3.connect(folder / STORE_NAME)) as database:
        return dict(database.execute("SELECT key, content FROM cells").fetchall())


def test_what_processes_found_is_what_this_one_finds(tmp_path: Path) -> None:
    section = msgspec.structs.replace(
        SECTIONS[1], rows=SECTIONS[1].rows[2:3], networks=("none", "wifi-degraded@rtt")
    )
    plan = plan_calf(TableSize(episodes=3, training_seeds=2), sections=(section,))
    told = []
    with CellStore(tmp_path / STORE_NAME) as store:
        table = play_calf(plan, store, 2, lambda counts, one: told.append(counts))
        for key, one in plan.distinct.items():
            here = msgspec.json.decode(one.compute(), type=CalfResult)
            stored = msgspec.json.decode(store.get(key) or b"", type=CalfResult)
            assert msgspec.structs.replace(here, seconds=0.0) == msgspec.structs.replace(stored, seconds=0.0)
        assert told[-1].computed == len(plan.distinct) == 4
        assert play_calf(plan, store, 2) == table


def test_the_command_that_is_printed_makes_the_same_again(tmp_path: Path) -> None:
    """Typed into a shell as it stands; the folder of policies has a space in its name and a policy of its own."""
    trained = tmp_path / "my policies"
    trained.mkdir()
    shutil.copy(shipped_path("cartpole-paper-1"), trained / "cartpole-paper-1.safetensors")
    given = [
        "-o",
        str(tmp_path / "out put"),
        "--policies",
        str(trained),
        "--episodes",
        "2",
        "--training-seeds",
        "1",
    ]
    size = TableSize(episodes=2, training_seeds=1)
    program, *words = shlex.split(table_calf._command(tmp_path / "out put", size, trained))
    assert program == "netlab" and words[:2] == ["table", "calf"]
    again, asked = (table_calf.calf.make_context("calf", list(args)).params for args in (words[2:], given))
    assert again == asked and again["policies"] == trained


def test_a_cell_that_fails_says_which_and_the_others_are_kept(tmp_path: Path) -> None:
    cells = [cell(network="wifi-norml"), cell(network="none")]
    with CellStore(tmp_path / STORE_NAME) as store:
        with pytest.raises(NetlabError, match=r"linear on wifi-norml: .*unknown network"):
            run_cells(cells, store, 2)
        assert cells[1].key in store and cells[0].key not in store


def test_a_policy_that_changes_meanwhile_is_not_taken_for_what_it_was() -> None:
    with pytest.raises(SpecError, match="cartpole-paper-1 has changed"):
        cell(policy="cartpole-paper-1", policy_sha256="00").compute()


def test_ctrl_c_stops_at_once_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """From end to end: interrupted, resumed, made again from the store alone."""
    words = [sys.executable, "-P", "-m", "netlab", "table", "calf", *SMALL, "-o", str(tmp_path)]
    first = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
    until_s = time.monotonic() + WAIT_S
    while not (tmp_path / STORE_NAME).exists() or not kept_or_none(tmp_path):
        assert time.monotonic() < until_s
        time.sleep(0.02)
    os.killpg(first.pid, signal.SIGINT)  # as a terminal does: to all of them
    asked_s = time.monotonic()
    _, said = first.communicate(timeout=WAIT_S)
    assert time.monotonic() - asked_s < 10.0  # a moment, on a machine that others use
    assert first.returncode == 130, said
    assert "the same command goes on from there" in said and "Traceback" not in said
    there = len(kept(tmp_path))
    assert there > 0 and not (tmp_path / "calf.md").exists()

    status, stdout, stderr = calf(*SMALL, "-o", tmp_path, "--json")
    assert status == 0, stderr
    document = json.loads(stdout)
    assert f"{document['cells']} cells, {there} of them finished before" in stderr
    assert document == json.loads((tmp_path / "calf.json").read_text())
    assert document["cells"] == len(kept(tmp_path)) > there
    assert document["episodes"] == 2 and document["first_seed"] == 1_000_000
    by_place = {(one["section"], one["row"], one["network"]): one for one in document["entries"]}
    assert by_place["cartpole", "scheduled, learned model", "none"]["mean"] == 500.0
    assert (tmp_path / "calf.png").read_bytes().startswith(b"\x89PNG")

    files = {name: (tmp_path / name).read_bytes() for name in ("calf.md", "calf.json", "calf.png")}
    status, stdout, stderr = calf(*SMALL, "-o", tmp_path)
    assert status == 0 and f"{document['cells']} of them finished before" in stderr
    assert f"{document['cells']} cells of 2 episodes" in stdout
    assert files == {name: (tmp_path / name).read_bytes() for name in files}


def kept_or_none(folder: Path) -> dict[str, bytes]:
    try:
        return kept(folder)
    except sqlite3.OperationalError:  # it is being made
        return {}


def foreign(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE notes (text TEXT)")
        database.commit()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.write_bytes(b"not a database at all" * 100), "is no store of results"),
        (foreign, "is a database of something else"),
        (lambda path: path.mkdir(), "is not a plain file"),
        (os.mkfifo, "is not a plain file"),
    ],
    ids=["bytes", "foreign", "folder", "pipe"],
)
def test_what_is_no_store_is_one_clear_error(tmp_path: Path, spoil, words: str) -> None:
    spoil(tmp_path / STORE_NAME)
    status, stdout, stderr = calf(*SMALL, "--no-picture", "-o", tmp_path)
    assert (status, stdout) == (2, "")
    (problem,) = [line for line in stderr.splitlines() if STORE_NAME in line]
    assert words in problem and "hint: " in stderr and "Traceback" not in stderr


@pytest.mark.parametrize("content", [b'{"returns": "none"}', b"", "text", bytes(100)], ids=repr)
def test_a_result_that_is_damaged_is_named_at_once_and_computed_again(
    tmp_path: Path, content: object, capsys: pytest.CaptureFixture[str]
) -> None:
    section = msgspec.structs.replace(SECTIONS[0], rows=SECTIONS[0].rows[-1:], networks=("none", "wifi-normal"))
    plan = plan_calf(TableSize(episodes=2), sections=(section,))
    damaged, other = plan.distinct
    told: list[RunCounts] = []
    with CellStore(tmp_path / STORE_NAME) as store:
        table = play_calf(plan, store, 1)
        before = kept(tmp_path)
        with contextlib.closing(sqlite3.connect(tmp_path / STORE_NAME)) as database:
            database.execute("UPDATE cells SET content = ? WHERE key = ?", (content, damaged))
            database.commit()
        assert play_calf(plan, store, 1, lambda counts, one: told.append(counts)).entries == table.entries
    title = plan.distinct[damaged].title
    assert (told[0].found, told[0].damaged, told[-1].computed) == (1, (title,), 1)
    assert kept(tmp_path)[other] == before[other]
    with ProgressLine() as line:
        CellProgress(line)(told[0], None)
    said = capsys.readouterr().err
    assert "2 cells, 1 of them finished before\n" in said
    assert f"{title}: what was kept is damaged, and is computed again\n" in said


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--episodes", "1"), "--episodes"),
        (("--training-seeds", "0"), "--training-seeds"),
        (("--jobs", "0"), "--jobs"),
        (("--policies", "no-such-folder"), "no-such-folder"),
        ((), "--output"),
    ],
    ids=str,
)
def test_bad_words_are_refused(tmp_path: Path, words: tuple[str, ...], problem: str) -> None:
    status, _, stderr = calf(*words, *(("-o", tmp_path) if words else ()))
    assert status == 2 and problem in stderr


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    status, _, stderr = calf(*SMALL, "--no-picture", "-o", tmp_path / "file" / "inside")
    assert status == 2 and "--output" in stderr and "hint: " in stderr


def test_a_policy_that_is_none_is_named_before_anything_is_played(tmp_path: Path) -> None:
    (tmp_path / "cartpole-paper-none-1.safetensors").write_bytes(b"\x00" * 100)
    status, _, stderr = calf(*SMALL, "--no-picture", "--policies", tmp_path, "-o", tmp_path / "out")
    assert status == 2 and "cartpole-paper-none-1.safetensors" in stderr
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_the_page_is_written_and_a_line_says_how_to_get_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(FeatureMissing, match="matplotlib is not installed"):
        calf_figure.require_picture()
    planned = calf_results.plan(1)
    made_up = calf_table(planned, calf_results.results(planned, lambda row, one: 100.0))
    monkeypatch.setattr(calf_run, "play_calf", lambda *_: made_up)
    status, stdout, stderr = calf(*SMALL, "-o", tmp_path)
    assert status == 0, stderr
    (told,) = [line for line in stderr.splitlines() if "calf.png" in line]
    assert "matplotlib is not installed" in told and install_hint("plot") in told
    assert stdout.startswith(f"{tmp_path}: calf.md, calf.json; ")
    assert "calf.png" not in (tmp_path / "calf.md").read_text() and not (tmp_path / "calf.png").exists()
    monkeypatch.delitem(sys.modules, "matplotlib.style")
    status, stdout, _ = calf(*SMALL, "-o", tmp_path)
    assert status == 0 and "calf.png" in stdout and (tmp_path / "calf.png").exists()


def test_a_mistyped_table_is_met_with_the_right_one() -> None:
    done = CliRunner().invoke(main, ["table", "clf"])
    assert done.exit_code == 2 and "'calf'" in done.stderr
