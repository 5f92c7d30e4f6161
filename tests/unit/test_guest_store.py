"""The way into the cache: a kernel that was whole stays, and each error of the system is told as what it is."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from netlab.errors import GuestError, GuestUnavailable
from netlab.namespaces.guest.installed import file_sha256, list_guest_kernels, verify_kernel
from netlab.namespaces.guest.kernel_store import KernelStore
from netlab.namespaces.guest.manifest import MANIFEST_FORMAT, FileRecord, Manifest

NAME = "built-7.2.12-0123456789ab"


def store_in(cache: Path) -> KernelStore:
    return KernelStore(cache, "build", ".build-lock", ".building-", lambda text: None)


def put(cache: Path, content: bytes) -> None:
    """Put a kernel into the cache, in this process."""
    store = store_in(cache)
    with store.turn(), store.staging(1) as staging:
        kernel = staging / "kernel"
        kernel.mkdir()
        (kernel / "linux").write_bytes(content)
        record = FileRecord(sha256=file_sha256(kernel / "linux"), bytes=len(content))
        manifest = Manifest(
            format=MANIFEST_FORMAT, release="7.2.12", sha256=record.sha256, time_travel=True, patched=False,
            kernel="linux", modules=(), files={"linux": record},
        )  # fmt: skip
        store.put(kernel, NAME, manifest, staging)


KILLED_BETWEEN = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
import test_guest_store
rename, done = Path.rename, []
def counted(self, target):
    if done:
        os.kill(os.getpid(), signal.SIGKILL)
    done.append(target)
    return rename(self, target)
Path.rename = counted
test_guest_store.put(Path(sys.argv[1]), b"new")
"""


def contents(cache: Path) -> list[bytes]:
    return [kernel.binary.read_bytes() for kernel in list_guest_kernels(cache) if not kernel.problem]


def test_a_kernel_of_the_same_name_is_replaced(tmp_path: Path) -> None:
    put(tmp_path, b"old")
    put(tmp_path, b"new")
    assert contents(tmp_path) == [b"new"]
    assert sorted(os.listdir(tmp_path)) == [".build-lock", NAME]


def test_a_kill_between_the_two_renames_loses_no_kernel(tmp_path: Path) -> None:
    put(tmp_path, b"old")
    done = subprocess.run(
        [sys.executable, "-c", KILLED_BETWEEN, str(tmp_path), str(Path(__file__).parent)], check=False, timeout=60
    )
    assert done.returncode == -signal.SIGKILL
    assert contents(tmp_path) == []
    store = store_in(tmp_path)
    with store.turn(), store.staging(1):
        kernel = store.whole(NAME)
        assert kernel is not None
        verify_kernel(kernel)
    assert contents(tmp_path) == [b"old"]
    assert sorted(os.listdir(tmp_path)) == [".build-lock", NAME]


def test_a_rename_that_is_refused_loses_no_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, b"old")
    rename = Path.rename

    def refused(self: Path, target: Path) -> Path:
        if self.name == "kernel":
            raise OSError(errno.EIO, "Input/output error", str(self))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(GuestError, match="Input/output error"):
        put(tmp_path, b"new")
    assert contents(tmp_path) == [b"old"]


def test_a_new_kernel_is_not_undone_by_what_it_replaced(tmp_path: Path) -> None:
    put(tmp_path, b"new")
    (tmp_path / ".building-x" / "replaced" / NAME).mkdir(parents=True)
    put(tmp_path, b"newer")
    assert contents(tmp_path) == [b"newer"]


@pytest.mark.parametrize(
    ("number", "path", "says", "hint"),
    [
        (errno.ENOENT, "dpkg-deb", "guest build: dpkg-deb: No such file or directory", ""),
        (errno.EACCES, "/src/Makefile", "guest build: /src/Makefile: Permission denied", ""),
        (errno.EMFILE, None, "guest build: Too many open files", ""),
        (errno.ENOSPC, None, "guest cache {cache}: No space left on device", "make room there"),
        (errno.ENOSPC, "/elsewhere/x", "guest build: /elsewhere/x: No space left on device", ""),
        (errno.EACCES, "{cache}/.building-x/linux", "guest cache {cache}/.building-x/linux: Permission", "XDG"),
    ],
)
def test_an_error_inside_is_the_caches_only_where_it_is(
    tmp_path: Path, number: int, path: str | None, says: str, hint: str
) -> None:
    named = None if path is None else path.format(cache=tmp_path)
    with pytest.raises(GuestError) as caught, store_in(tmp_path).turn():
        raise OSError(number, os.strerror(number), named)
    assert caught.value.message.startswith(says.format(cache=tmp_path))
    assert not isinstance(caught.value, GuestUnavailable)
    assert (hint in caught.value.hint) if hint else not caught.value.hint


def test_a_cache_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = store_in(tmp_path / "file" / "guest")
    with pytest.raises(GuestError, match=f"guest cache {tmp_path}/file") as caught, store.turn():
        pytest.fail("there is no turn without a cache")
    assert "XDG_CACHE_HOME" in caught.value.hint


def test_too_little_room_is_what_a_machine_lacks(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with pytest.raises(GuestUnavailable, match="a build needs"), store.turn(), store.staging(1 << 60):
        pytest.fail("there is no room")


def test_a_named_pipe_in_place_of_the_lock_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".build-lock")
    with pytest.raises(GuestError, match="build-lock"), store_in(tmp_path).turn():
        pass
