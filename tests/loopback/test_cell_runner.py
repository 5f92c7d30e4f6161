"""run_cells: processes beside one another, cells that fail, a kill in the middle, Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from counted_cells import cells_of, times_computed

from netlab.errors import NetlabError
from netlab.tables.cell import Cell
from netlab.tables.cell_runner import RunCounts, run_cells
from netlab.tables.cell_store import CellStore

_SOON_S = 20.0


def kept(folder: Path) -> dict[int, bytes | None]:
    with CellStore(folder / "cells.sqlite") as store:
        return {cell.number: store.get(cell.key) for cell in cells_of(folder, {})}


def run(folder: Path, ways: dict[int, str], workers: int = 2) -> RunCounts:
    with CellStore(folder / "cells.sqlite") as store:
        return run_cells(cells_of(folder, ways), store, workers)


def test_each_cell_is_computed_once_and_a_second_run_finds_all(tmp_path: Path) -> None:
    told: list[tuple[int, int, str]] = []

    def watch(counts: RunCounts, cell: Cell | None) -> None:
        told.append((counts.found, counts.computed, "" if cell is None else cell.title))

    with CellStore(tmp_path / "cells.sqlite") as store:
        counts = run_cells([*cells_of(tmp_path, {}), *cells_of(tmp_path, {})], store, 2, watch)
    assert counts[:3] == (6, 0, 6) and counts.left_s == 0.0
    assert [line[:2] for line in told] == [(0, n) for n in range(7)]
    assert told[0][2] == "" and {line[2] for line in told[1:]} == {f"the square of {n}" for n in range(6)}
    assert kept(tmp_path) == {n: str(n * n).encode() for n in range(6)}
    assert sorted(times_computed(tmp_path)) == [0, 1, 2, 3, 4, 5]
    pids = {line.split()[1] for line in (tmp_path / "log").read_text().splitlines()}
    assert str(os.getpid()) not in pids and 1 <= len(pids) <= 2
    assert run(tmp_path, {})[:3] == (6, 6, 0)
    assert len(times_computed(tmp_path)) == 6


def test_cells_that_fail_are_named_and_all_others_kept(tmp_path: Path) -> None:
    with pytest.raises(NetlabError) as caught:
        run(tmp_path, {1: "refused", 2: "killed", 4: "wrong"})
    message = caught.value.message
    assert "the square of 1: 1 is refused" in message
    assert "the square of 2: its process died (by SIGKILL)" in message
    assert "the square of 4: ValueError" in message
    assert [n for n, content in kept(tmp_path).items() if content is None] == [1, 2, 4]
    assert run(tmp_path, {})[:3] == (6, 3, 3)


def test_a_cell_that_finds_no_memory_says_so_and_how_to_take_less(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NetlabError, match="the square of 3: not memory enough: 9 GiB") as caught:
        run(tmp_path, {3: "memory"}, workers=1)
    assert "--jobs" in caught.value.hint
    assert "Traceback" not in capfd.readouterr().err


def test_a_single_process_that_dies_has_a_successor(tmp_path: Path) -> None:
    with pytest.raises(NetlabError, match="the square of 0: its process died"):
        run(tmp_path, {0: "killed"}, workers=1)
    assert [n for n, content in kept(tmp_path).items() if content is None] == [0]


@contextlib.contextmanager
def stuck_in_the_fourth(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A run in a process group of its own whose first three cells are kept, and whose fourth has begun."""
    os.mkfifo(folder / "gate")
    script = Path(__file__).parents[1] / "counted_cells.py"
    process = subprocess.Popen(
        [sys.executable, script, folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(4)] == ["0\n", "1\n", "2\n", "3\n"]
        wait_until(lambda: 3 in times_computed(folder))
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_until(condition) -> None:
    until_s = time.monotonic() + _SOON_S
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def test_after_a_kill_finished_cells_are_not_computed_again(tmp_path: Path) -> None:
    with stuck_in_the_fourth(tmp_path) as process:
        process.kill()
        process.wait()
        worker = int((tmp_path / "log").read_text().split()[-2])
        (tmp_path / "gate").write_bytes(b"")  # the cell ends, and nobody is there to take it
        wait_until(lambda: is_gone(worker))
    (tmp_path / "gate").unlink()
    assert run(tmp_path, {})[:3] == (6, 3, 3)
    assert times_computed(tmp_path)[:4] == [0, 1, 2, 3]
    assert sorted(times_computed(tmp_path)[4:]) == [3, 4, 5]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_processes_and_keeps_what_is_finished(tmp_path: Path, number: signal.Signals) -> None:
    with stuck_in_the_fourth(tmp_path) as process:
        worker = int((tmp_path / "log").read_text().split()[-2])
        os.killpg(process.pid, number)  # as a terminal does
        _, stderr = process.communicate(timeout=_SOON_S)
        assert process.returncode != 0
        assert stderr.count("Traceback") <= 1, "of the script alone"
        wait_until(lambda: is_gone(worker))
    assert [n for n, content in kept(tmp_path).items() if content is None] == [3, 4, 5]
