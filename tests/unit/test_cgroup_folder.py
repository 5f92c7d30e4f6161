"""Where our control groups are, from what /proc says."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlab.errors import LabError
from netlab.namespaces.cgroup_folder import CgroupFolder, counting_folders

UNIFIED_MOUNT = "41 31 0:38 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
HYBRID_MOUNTS = (
    "22 1 0:5 / /proc rw - proc proc rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "36 31 0:33 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)
HYBRID_GROUPS = "5:devices:/d\n4:memory:/jobs/7\n2:cpu,cpuacct:/c\n0::/u\n"


def test_version_2() -> None:
    folders = counting_folders("0::/user.slice/session-1.scope\n", UNIFIED_MOUNT)
    assert folders == [Path("/sys/fs/cgroup/user.slice/session-1.scope")]


def test_version_1_and_both_together() -> None:
    assert counting_folders(HYBRID_GROUPS, HYBRID_MOUNTS) == [
        Path("/sys/fs/cgroup/cpu,cpuacct/c"),
        Path("/sys/fs/cgroup/memory/jobs/7"),
        Path("/sys/fs/cgroup/unified/u"),
    ]


def test_a_container_sees_a_part_of_the_tree() -> None:
    mount = "41 31 0:38 /docker/ab /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    assert counting_folders("0::/docker/ab\n", mount) == [Path("/sys/fs/cgroup")]
    assert counting_folders("0::/docker/ab/sub\n", mount) == [Path("/sys/fs/cgroup/sub")]
    assert counting_folders("0::/docker/abc\n", mount) == [], "not what is mounted here"
    assert counting_folders("0::/\n", mount) == []


def test_a_mount_point_with_a_space() -> None:
    mount = UNIFIED_MOUNT.replace("/sys/fs/cgroup", "/a\\040b")
    assert counting_folders("0::/\n", mount) == [Path("/a b")]


def test_nothing_is_mounted() -> None:
    assert counting_folders("", "") == []
    assert counting_folders("0::/\n", "22 1 0:5 / /proc rw - proc proc rw\n") == []


def test_only_what_bears_an_id_is_ever_touched(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("netlab-0a1b2c", "netlab-xyz", "netlab-0a1b2c3", "other", "netlab-")]
    for path in paths:
        path.mkdir()
    for path in paths[1:]:
        with pytest.raises(LabError, match="is no control group of a lab"):
            CgroupFolder([paths[0], path])
    folder = CgroupFolder(paths[:1])
    assert folder.remove() == [paths[0]]
    assert [path.exists() for path in paths] == [False, True, True, True, True]
    assert folder.remove() == [], "gone already"


def test_entering_leaves_alone_what_was_there_before(tmp_path: Path) -> None:
    path = tmp_path / "netlab-0a1b2c"
    path.mkdir()
    folder = CgroupFolder([path])
    assert "File exists" in folder.enter()
    assert folder.paths == ()
    folder.leave()
    assert path.exists()


def test_entering_removes_what_it_made_and_could_not_enter(tmp_path: Path) -> None:
    folder = CgroupFolder([tmp_path / "netlab-0a1b2c"])
    assert "No such file" in folder.enter(), "an ordinary folder has no cgroup.procs"
    assert list(tmp_path.iterdir()) == []


def test_what_programs_made_inside_goes_too_but_no_file_ever(tmp_path: Path) -> None:
    path = tmp_path / "netlab-0a1b2c"
    (path / "inner" / "most").mkdir(parents=True)
    assert CgroupFolder([path]).remove() == [path]
    path.mkdir()
    (path / "somebody's file").touch()
    assert CgroupFolder([path]).remove(within_s=0.0) == []
    assert (path / "somebody's file").exists()


@pytest.mark.parametrize(
    ("files", "cpu_s", "memory_bytes", "processes"),
    [
        ({"cgroup.procs": "1\n2\n", "cpu.stat": "usage_usec 1500000\nuser_usec 3\n"}, 1.5, None, 2),
        ({"cgroup.procs": "1\n", "memory.current": "4096\n", "cpu.stat": "usage_usec 0\n"}, 0.0, 4096, 1),
        ({"cpuacct.usage": "2000000000\n", "memory.usage_in_bytes": "8192\n"}, 2.0, 8192, 0),
        ({}, None, None, 0),
    ],
)
def test_use(
    tmp_path: Path, files: dict[str, str], cpu_s: float | None, memory_bytes: int | None, processes: int
) -> None:
    path = tmp_path / "netlab-0a1b2c"
    path.mkdir()
    for name, text in files.items():
        (path / name).write_text(text)
    use = CgroupFolder([path]).use()
    assert (use.cpu_s, use.memory_bytes, use.processes) == (cpu_s, memory_bytes, processes)
