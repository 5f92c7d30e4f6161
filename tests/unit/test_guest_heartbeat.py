"""The notes pid 1 makes of time and processes, and reading them from outside, where anything may lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from netlab.namespaces.guest.heartbeat import (
    SHOWN_CHARACTERS,
    SHOWN_PROCESSES,
    describe_processes,
    printable,
    read_beat,
    read_processes,
)


def process(proc: Path, pid: int, command: bytes, state: str = "S", name: str = "a) b") -> None:
    (proc / str(pid)).mkdir(parents=True)
    (proc / str(pid) / "cmdline").write_bytes(command)
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {state} 1 1")


@pytest.mark.parametrize(
    ("content", "passed_s"),
    [
        (b"0.037\n", 0.037), (b"86400.287\n", 86400.287), (b"", None), (b"1.5\n", None), (b"-1.000\n", None),
        (b"nan\n", None), (b"1.000\n1.000\n", None), (b"9" * 13 + b".000\n", None), (b"\xff" * 5000, None),
    ],
)  # fmt: skip
def test_a_beat_is_read_or_is_none(tmp_path: Path, content: bytes, passed_s: float | None) -> None:
    (tmp_path / "beat").write_bytes(content)
    assert read_beat(tmp_path) == passed_s


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    assert read_beat(tmp_path) is None
    os.mkfifo(tmp_path / "beat")  # opening it otherwise would wait for a writer
    assert read_beat(tmp_path) is None
    (tmp_path / "elsewhere").write_text("secret\n")
    (tmp_path / "processes").symlink_to(tmp_path / "elsewhere")
    assert read_processes(tmp_path) == []


def test_programs_are_described_without_threads_of_the_kernel_and_pid_1(tmp_path: Path) -> None:
    process(tmp_path, 1, b"init\0")
    process(tmp_path, 2, b"", "S")
    process(tmp_path, 10, b"sh\0-c\0sleep 9\0")
    process(tmp_path, 9, b"python3\0x.py\0", "R")
    (tmp_path / "net").mkdir()
    assert describe_processes(tmp_path) == "python3 x.py (running)\nsh -c sleep 9 (waiting)\n"


def test_many_programs_are_counted(tmp_path: Path) -> None:
    for pid in range(10, 10 + SHOWN_PROCESSES + 3):
        process(tmp_path, pid, b"p\0")
    lines = describe_processes(tmp_path).splitlines()
    assert len(lines) == SHOWN_PROCESSES + 1
    assert lines[-1] == "and 3 more"


def test_notes_survive_the_file(tmp_path: Path) -> None:
    (tmp_path / "processes").write_text("a b (waiting)\n\x1b[31mred (running)\n")
    assert read_processes(tmp_path) == ["a b (waiting)", " [31mred (running)"]


def test_what_is_shown_is_bounded_and_cannot_drive_a_terminal() -> None:
    assert printable([b"a", b"", b"\x1b[0m\n", b"\xff\xc3\xa9"]) == "a  [0m  \ufffdé"
    assert len(printable([b"x" * 10_000])) == SHOWN_CHARACTERS
