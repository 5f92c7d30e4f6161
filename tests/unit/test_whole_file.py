"""whole_file: whole or not there, also where the writer is killed, on file systems of either kind."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from netlab import whole_file as module
from netlab.whole_file import whole_file, write_whole

KINDS = ["without a name", "with a name"]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to write aside, whatever the file system of the tests can."""
    if request.param == KINDS[1]:
        monkeypatch.setattr(module, "_without_name", lambda folder: None)
    return str(request.param)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_it_has_its_name_once_it_is_whole(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "result"
    for content in (b"first", b"second"):
        before = path.read_bytes() if path.exists() else None
        with whole_file(path) as file:
            file.write(content)
            file.flush()
            assert (path.read_bytes() if path.exists() else None) == before
        assert path.read_bytes() == content and names(tmp_path) == ["result"]


def test_its_mode_is_that_of_any_new_file(tmp_path: Path, kind: str) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "result", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "result").stat().st_mode) == 0o640


def test_what_raises_leaves_what_was_there(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "result"
    path.write_bytes(b"old")
    with pytest.raises(KeyError), whole_file(path) as file:
        file.write(b"new")
        raise KeyError
    assert (path.read_bytes(), names(tmp_path)) == (b"old", ["result"])

    def refuse(*words: object) -> None:
        raise OSError(errno.EIO, "gone")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="gone"):
        write_whole(path, b"new")
    assert (path.read_bytes(), names(tmp_path)) == (b"old", ["result"])


def test_a_file_system_that_cannot_name_it_has_it_written_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refuse(*words: object, **options: object) -> None:
        asked.append(words)
        raise OSError(errno.EXDEV, "another file system")

    monkeypatch.setattr(os, "link", refuse)
    content = bytes(range(256)) * 4096
    write_whole(tmp_path / "result", content)
    assert len(asked) == 1
    assert ((tmp_path / "result").read_bytes(), names(tmp_path)) == (content, ["result"])


KILLED = """
import os, signal, sys
from netlab import whole_file as module
if sys.argv[2] == "with a name":
    module._without_name = lambda folder: None
if sys.argv[3] == "renaming":
    os.replace = lambda *words: os.kill(os.getpid(), signal.SIGKILL)
with module.whole_file(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    if sys.argv[3] == "writing":
        os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[3] == "waiting":
        print(flush=True)
        sys.stdin.read()
"""


def writer(path: Path, kind: str, moment: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-P", "-c", KILLED, str(path), kind, moment]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("moment", ["writing", "renaming"])
def test_what_a_killed_writer_leaves_the_next_one_sweeps(tmp_path: Path, kind: str, moment: str) -> None:
    path = tmp_path / "result"
    path.write_bytes(b"old")
    with writer(path, kind, moment) as killed:
        killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    # Without a name there is none to leave, but for the moment between the two calls that give it its own.
    assert len(names(tmp_path)) == (1 if (kind, moment) == (KINDS[0], "writing") else 2)
    write_whole(path, b"new")
    assert (path.read_bytes(), names(tmp_path)) == (b"new", ["result"])


def test_what_a_living_writer_holds_and_what_is_anothers_stays(tmp_path: Path) -> None:
    path = tmp_path / "result"
    others = [".result.0123abcd", ".other.0123abcd.part", ".result.mine.part", "result.0123abcd.part"]
    for name in others:
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / ".result.00000000.part").symlink_to(tmp_path / others[0])
    with writer(path, KINDS[1], "waiting") as living:
        assert living.stdout is not None
        living.stdout.readline()
        write_whole(path, b"ours")
        assert path.read_bytes() == b"ours"
        living.communicate()
    assert living.returncode == 0
    assert path.read_bytes() == b"half"  # the last to end has its name
    assert names(tmp_path) == sorted([*others, ".result.00000000.part", "result"])


def test_a_folder_that_takes_no_file_is_the_systems_own_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "nowhere" / "result", b"x")
    with pytest.raises(OSError):
        write_whole("/proc/result", b"x")
