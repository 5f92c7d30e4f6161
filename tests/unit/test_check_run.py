"""A command run twice: what is compared, and what is said of the first difference."""

from __future__ import annotations

import io
import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from netlab.check_run import CheckedRun, RunEnd, first_divergence
from netlab.errors import GuestError, SpecError


class Command:
    """A stand-in for a guest: run N gets its number and its input, and says what it prints."""

    def __init__(
        self,
        act: Callable[[int, bytes], bytes],
        statuses: tuple[int, ...] = (0, 0),
        signals: tuple[int, ...] = (0, 0),
    ) -> None:
        self.runs = 0
        self._signals = signals
        self._act = act
        self._statuses = statuses

    def __call__(self, stdin: int | None, stdout: int) -> RunEnd:
        given = b"" if stdin is None else os.read(stdin, 4096)
        os.write(stdout, self._act(self.runs, given))
        self.runs += 1
        return RunEnd(self._statuses[self.runs - 1], self._signals[self.runs - 1])


def check(command: Command, tmp_path: Path, *files: Path, stdin: int | None = None) -> tuple[int, str, bytes]:
    said: list[str] = []
    printed = tmp_path / "printed"
    with printed.open("wb") as output:
        status = CheckedRun(command, files, said.append).run(stdin, output.fileno())
    return status, "\n".join(said), printed.read_bytes()


def test_two_equal_runs_print_once_and_keep_the_commands_status(tmp_path: Path) -> None:
    command = Command(lambda number, given: b"one\ntwo\n", (3, 3))
    status, said, printed = check(command, tmp_path)
    assert (status, printed, command.runs) == (3, b"one\ntwo\n", 2)
    assert said == "identical: 8 bytes of stdout, exit status 3"


def test_the_first_line_that_differs_is_shown_in_both_versions(tmp_path: Path) -> None:
    command = Command(lambda number, given: b"same\ntick 7 at 0.%d\nlater %d\n" % (number, number))
    status, said, printed = check(command, tmp_path)
    assert status == 1
    assert said.splitlines() == [
        "the two runs differ first in stdout, line 2",
        "  first:  tick 7 at 0.0",
        "  second: tick 7 at 0.1",
    ]
    assert printed.startswith(b"same\ntick 7 at 0.0\n")


def test_output_that_ends_early_and_terminal_codes_are_shown_harmlessly(tmp_path: Path) -> None:
    _, said, _ = check(Command(lambda number, given: b"a\n\x1b[2Jb\n" if number else b"a\n"), tmp_path)
    assert "line 2" in said
    assert "first:  (ended)" in said
    assert "second: \\x1b[2Jb" in said


def test_a_difference_far_into_a_long_line_is_seen(tmp_path: Path) -> None:
    _, said, _ = check(Command(lambda number, given: b"x" * 5000 + b"%d" % number), tmp_path)
    assert "first:  ..." in said
    assert said.splitlines()[1].endswith("x0")


def test_written_files_are_compared_too(tmp_path: Path) -> None:
    log = tmp_path / "packets.log"

    def write(number: int, given: bytes) -> bytes:
        log.write_text(f"1 ok\n2 {'lost' if number else 'ok'}\n")
        return b""

    status, said, _ = check(Command(write), tmp_path, log)
    assert status == 1
    assert f"{log}, line 2" in said
    assert "first:  2 ok" in said
    assert "second: 2 lost" in said


def test_the_second_run_finds_what_the_first_one_found(tmp_path: Path) -> None:
    log = tmp_path / "ticks.log"
    log.write_text("of an earlier run\n")

    def append(number: int, given: bytes) -> bytes:
        with log.open("a") as file:
            file.write("tick\n")
        return b""

    status, said, _ = check(Command(append), tmp_path, log)
    assert (status, log.read_text()) == (0, "of an earlier run\ntick\n")
    assert f"23 bytes of {log}" in said


def test_a_folder_is_compared_file_by_file(tmp_path: Path) -> None:
    folder = tmp_path / "logs"

    def write(number: int, given: bytes) -> bytes:
        folder.mkdir()
        (folder / "a").write_text("same")
        if not number:
            (folder / "b").write_text("once")
        return b""

    status, said, _ = check(Command(write), tmp_path, folder)
    assert status == 1
    assert f"{folder}/b\n  first:  written\n  second: not written" in said


def test_another_exit_status_is_a_difference(tmp_path: Path) -> None:
    status, said, _ = check(Command(lambda number, given: b"", (0, 2)), tmp_path)
    assert status == 1
    assert "exit status\n  first:  0\n  second: 2" in said


@pytest.mark.parametrize(("status", "ends_with"), [(130, 130), (0, 143)])
def test_an_interrupt_is_not_run_again_and_what_was_printed_is_shown(
    tmp_path: Path, status: int, ends_with: int
) -> None:
    command = Command(lambda number, given: b"so far\n", (status, 0), (15, 0))
    ended, said, printed = check(command, tmp_path)
    assert (ended, printed, command.runs) == (ends_with, b"so far\n", 1)
    assert "interrupted in the first" in said


def test_a_command_whose_own_status_looks_like_a_signal_is_compared_all_the_same(tmp_path: Path) -> None:
    for status in (129, 130, 131, 143):
        (tmp_path / str(status)).mkdir()
        command = Command(lambda number, given: b"all\n", (status, status))
        ended, said, printed = check(command, tmp_path / str(status))
        assert (ended, printed, command.runs) == (status, b"all\n", 2)
        assert said == f"identical: 4 bytes of stdout, exit status {status}"


def test_what_was_printed_is_shown_though_the_guest_has_died(tmp_path: Path) -> None:
    def die(stdin: int | None, stdout: int) -> RunEnd:
        os.write(stdout, b"so far\n")
        raise GuestError("guest: its time stood still")

    printed = tmp_path / "printed"
    with printed.open("wb") as output, pytest.raises(GuestError):
        CheckedRun(die, [], print).run(None, output.fileno())
    assert printed.read_bytes() == b"so far\n"


def test_an_interrupt_of_the_second_run_is_no_difference_and_leaves_the_firsts_files(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def write(number: int, given: bytes) -> bytes:
        log.write_text("half" if number else "whole")
        return b"whole\n" if not number else b""

    ended, said, printed = check(Command(write, (0, 130), (0, 2)), tmp_path, log)
    assert (ended, printed, log.read_text()) == (130, b"whole\n", "whole")
    assert "interrupted in the second" in said and "differ" not in said


def test_a_check_that_was_killed_is_swept_away_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pid = os.fork()
    if pid == 0:
        CheckedRun(lambda stdin, stdout: os.kill(os.getpid(), signal.SIGKILL), [], print).run(None, 1)  # type: ignore[arg-type, return-value]
    os.waitpid(pid, 0)
    assert len(list(tmp_path.glob("netlab-*"))) == 1
    (tmp_path / "out").mkdir()
    check(Command(lambda number, given: b""), tmp_path / "out")
    assert list(tmp_path.glob("netlab-*")) == []


def test_both_runs_have_the_same_input(tmp_path: Path) -> None:
    source = tmp_path / "input"
    source.write_bytes(b"typed\n")
    with source.open("rb") as file:
        status, said, printed = check(Command(lambda number, given: given), tmp_path, stdin=file.fileno())
    assert (status, printed) == (0, b"typed\n"), said


def test_endless_input_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netlab.check_run.MAX_INPUT_BYTES", 1000)
    with Path("/dev/zero").open("rb") as zeros, pytest.raises(SpecError, match="over 1000 bytes"):
        check(Command(lambda number, given: b""), tmp_path, stdin=zeros.fileno())


def test_first_divergence_counts_lines_from_one() -> None:
    assert first_divergence("f", io.BytesIO(b"a\nb"), io.BytesIO(b"a\nb")) is None
    found = first_divergence("f", io.BytesIO(b"a\nb"), io.BytesIO(b"a\nc"))
    assert found is not None
    assert (found.where, found.line, found.first, found.second) == ("f", 2, "b", "c")
