"""Labs of an ordinary user, in a user namespace of his own: clean links, the relay, his files and keys."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from nobody import NOBODY, nobodys_python, require_labs_of_nobody

from netlab.namespaces.syscalls import MS_BIND, mount, umount

CLEAN_LAB = """
import os, sys
from netlab.rootless import begin_rootless
begin_rootless()
from netlab.lab import Lab
from netlab.wire.key import Key
from pathlib import Path
Key.new().write(Path("robot.key"))
Key.read("robot.key")
with Lab("rootless") as lab:
    edge, agent = lab.add_host("edge"), lab.add_host("agent")
    lab.add_link(edge, agent)
    ping = ["ping", "-c", "2", "-i", "0.1", "-q", agent.address]
    for command in (ping, ["sh", "-c", "ls /proc | grep -c ^[0-9]"], ["sh", "-c", "echo mine > written"]):
        process = edge.start(command)
        assert process.wait(30) == 0, process.last_lines()
        print(process.last_lines())
"""


@pytest.fixture
def home() -> Iterator[Path]:
    """A home folder of nobody's; pytest's own folders are root's alone."""
    folder = Path(tempfile.mkdtemp(prefix="netlab-test-home-"))
    os.chown(folder, NOBODY, NOBODY)
    try:
        require_labs_of_nobody(folder)
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def tun_for_all(private_namespaces: None) -> Iterator[None]:
    """A /dev/net/tun that every user may open, as udev makes it; in our private mount namespace alone."""
    if not Path("/dev/net/tun").exists():
        pytest.skip("this kernel has no tun")
    folder = Path(tempfile.mkdtemp(prefix="netlab-test-dev-"))
    mount("tmpfs", str(folder), "tmpfs")
    device = folder / "tun"
    os.mknod(device, 0o020666, os.makedev(10, 200))
    device.chmod(0o666)
    mount(str(device), "/dev/net/tun", "", MS_BIND)
    yield
    umount("/dev/net/tun")
    umount(str(folder))
    folder.rmdir()


def run(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*nobodys_python(home), *words], capture_output=True, text=True, check=False, cwd=home, timeout=120
    )


def test_a_clean_link_a_key_and_his_own_files(home: Path) -> None:
    done = run(home, "-c", CLEAN_LAB)
    assert done.returncode == 0, done.stderr
    assert " 0% packet loss" in done.stdout
    for name in ("written", "robot.key"):
        assert (home / name).stat().st_uid == NOBODY


def test_he_sees_the_processes_of_his_lab_alone(home: Path) -> None:
    done = run(home, "-c", CLEAN_LAB)
    assert done.returncode == 0, done.stderr
    assert any(line.isdigit() and int(line) < 10 for line in done.stdout.splitlines())


@pytest.mark.usefixtures("tun_for_all")
def test_exec_through_a_relay_as_an_ordinary_user(home: Path) -> None:
    done = run(
        home, "-m", "netlab", "exec", "--on", "relay", "--profile", "delay=20ms", "--",
        "sh", "-c", "ping -c 5 -i 0.1 -q $NETLAB_PEER; exit 7",
    )  # fmt: skip
    assert done.returncode == 7, done.stderr
    least_ms = float(done.stdout.split("min/avg/max/mdev = ")[1].split("/")[0])
    assert 40.0 <= least_ms < 60.0


def test_two_users_may_have_labs_of_one_name(home: Path) -> None:
    from netlab.lab import Lab

    with Lab("rootless"):  # root's
        done = run(home, "-c", CLEAN_LAB)
    assert done.returncode == 0, done.stderr


def test_where_user_namespaces_are_barred_it_is_said_and_nothing_is_harmed(home: Path) -> None:
    # A limit counts in the user namespace where it was set: in one of root's, thrown away with the command.
    barred = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    trial = "from netlab.rootless import try_rootless; print(try_rootless().problem)"
    command = [*nobodys_python(home), "-c", trial]
    with subprocess.Popen(
        ["unshare", "--user", "sh", "-c", "read go; exec sh -c \"$@\"", "sh", barred, "sh", *command],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=home,
    ) as process:  # fmt: skip
        own = Path("/proc/self/ns/user").readlink()
        for _ in range(1000):
            if Path(f"/proc/{process.pid}/ns/user").readlink() != own:
                break
            time.sleep(0.01)
        for kind in ("uid_map", "gid_map"):
            Path(f"/proc/{process.pid}/{kind}").write_text("0 0 65536")
        said, problem = process.communicate("go\n", timeout=60)
    assert said.startswith("cannot enter a user namespace: "), problem
