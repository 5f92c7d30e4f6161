"""The notes pid 1 makes of time and processes, and reading them from outside, where anything may lie."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from netlab.namespaces.guest.heartbeat import (
    SHOWN_CHARACTERS,
    SHOWN_PROCESSES,
    Heartbeat,
    describe_processes,
    printable,
    read_beat,
    read_processes,
)


def process(proc: Path, pid: int, command: bytes, state: str = "S", name: str = "a) b") -> None:
    (proc / str(pid)).mkdir(parents=True)
    (proc / str(pid) / "cmdline").write_bytes(command)
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {state} 1 1")


@pytest.fixture
def heart(tmp_path: Path) -> Iterator[Heartbeat]:
    """A heartbeat that is due."""
    made = Heartbeat(tmp_path, time.monotonic_ns() - 10**9, 10**8, 0)
    yield made
    os.close(made.fd)
    os.close(made._file)


def strike(heart: Heartbeat) -> None:
    assert select.select([heart.fd], [], [], 10.0)[0]
    heart.strike()


def test_the_beats_since_the_start_are_noted(tmp_path: Path, heart: Heartbeat) -> None:
    assert read_beat(tmp_path) is None
    strike(heart)
    passed_s = read_beat(tmp_path)
    assert passed_s is not None
    assert 0.937 <= passed_s < 10.0
    assert read_processes(tmp_path)


def test_a_full_disk_does_not_end_pid_1(tmp_path: Path, heart: Heartbeat) -> None:
    (tmp_path / "processes").symlink_to("/dev/full")
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, heart._file)
    os.close(full)
    strike(heart)
    assert read_beat(tmp_path) is None


def test_no_room_for_the_first_note_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "beat").symlink_to("/dev/full")
    before = sorted(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="No space left"):
        Heartbeat(tmp_path, time.monotonic_ns(), 10**8, 0)
    assert sorted(os.listdir("/proc/self/fd")) == before


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
