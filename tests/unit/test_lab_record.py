"""A record speaks for its own lab alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import netlab.holder.directory
from netlab.holder.directory import LabDirectory
from netlab.holder.process_identity import ProcessIdentity
from netlab.holder.record import LOG_FILE, LabRecord, last_logged, write_record
from netlab.holder.runtime_folder import RuntimeFolder
from netlab.namespaces.cgroup_folder import CgroupFolder


def record(groups: list[str]) -> LabRecord:
    dead = ProcessIdentity(pid=1, start_ticks=1, boot_id="another boot", pid_space=1)
    return LabRecord(
        id="0a0b0c",
        name="two",
        holder=dead,
        engine="host",
        spec="/x",
        seed=0,
        version="0",
        made_s=0,
        cgroup=groups,
    )


def test_gc_removes_no_group_of_another_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = tmp_path / "groups/netlab-0a0b0c", tmp_path / "groups/netlab-0d0e0f"
    for folder in (ours, theirs):
        folder.mkdir(parents=True)
    runtime = RuntimeFolder(tmp_path / "run")
    runtime.make()
    (runtime.path / "0a0b0c").mkdir()
    write_record(runtime.path / "0a0b0c", record([str(ours), str(theirs)]))
    monkeypatch.setattr(netlab.holder.directory.CgroupFolder, "plan", lambda owner_id: CgroupFolder(()))
    assert LabDirectory(runtime).tidy_up() == ["0a0b0c"]
    assert not ours.exists()
    assert theirs.exists()


def test_the_end_of_a_log(tmp_path: Path) -> None:
    assert last_logged(tmp_path) == ""
    (tmp_path / LOG_FILE).write_text("".join(f"line {number}\n" for number in range(1000)))
    assert last_logged(tmp_path).endswith("line 998\n  line 999")
    assert "line 900" not in last_logged(tmp_path)
