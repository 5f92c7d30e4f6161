"""Which files are the host's own, seen from a guest, and which databases are in memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from netlab import host_files
from netlab.errors import KernelError


def mounts(folder: Path, kind: str) -> Path:
    device = folder.stat().st_dev
    table = folder / "mountinfo"
    table.write_text(
        "21 1 0:999 / /proc rw,nosuid shared:3 - proc proc rw\n"
        f"22 1 {os.major(device)}:{os.minor(device)} / / rw,relatime - {kind} none rw\n"
    )
    return table


def test_a_file_is_the_hosts_where_its_file_system_is(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "not-there-yet.db"):
        assert host_files.is_host_file(path, mounts(tmp_path, "hostfs"))
        assert not host_files.is_host_file(path, mounts(tmp_path, "tmpfs"))
    assert not host_files.is_host_file(tmp_path / "no" / "such" / "folder.db", mounts(tmp_path, "hostfs"))


def test_a_link_to_a_file_elsewhere_is_where_it_points(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to("/proc/self/mountinfo")
    assert not host_files.is_host_file(tmp_path / "link.db", mounts(tmp_path, "hostfs"))


@pytest.mark.parametrize("database", ["x.db", "{}/x.db", "file:{}/x.db?mode=rw", "file://{}/x.db"])
def test_a_database_on_the_hosts_files_is_refused(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(host_files, "is_host_file", lambda path: True)
    with pytest.raises(KernelError, match=r"x\.db in a guest") as caught:
        host_files._check(database.format(tmp_path))
    assert "tmpfs" in caught.value.hint


@pytest.mark.parametrize("database", [":memory:", "", "file::memory:?cache=shared", "file:x?mode=memory"])
def test_a_database_in_memory_is_nobodys_file(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_files, "is_host_file", lambda path: True)
    host_files._check(database)


def test_outside_a_guest_nothing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NETLAB_GUEST", raising=False)
    monkeypatch.setattr("sys.addaudithook", lambda hook: pytest.fail("hooked"))
    host_files.refuse_host_databases()
