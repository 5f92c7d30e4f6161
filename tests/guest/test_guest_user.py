"""An ordinary user runs guests, without any right."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from guest_driver import Driver, descendants, wait_until_gone

import netlab
from netlab.namespaces.guest.installed import GuestKernel, read_kernel

NOBODY = 65534
SYSTEM_PYTHON = "/usr/bin/python3"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become an ordinary user")


@pytest.fixture
def home() -> Iterator[Path]:
    """A home folder of nobody's; pytest's own folders are root's alone."""
    folder = Path(tempfile.mkdtemp(prefix="netlab-test-home-"))
    os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def nobodys_python(home: Path) -> list[str]:
    """The system's interpreter with our packages, as nobody."""
    # A copy: nobody may not be able to enter the folder that the tests are run from.
    shutil.copytree(Path(netlab.__file__).parent, home / "code" / "netlab", ignore=shutil.ignore_patterns("*.pyc"))
    packages = f"{home / 'code'}:{sysconfig.get_path('purelib')}"
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env",
              "--unset=XDG_CACHE_HOME", f"HOME={home}", f"PYTHONPATH={packages}", SYSTEM_PYTHON]  # fmt: skip
    usable = subprocess.run(
        [*become, "-c", "import netlab.namespaces.guest.launcher"], capture_output=True, check=False, cwd="/"
    )
    if usable.returncode:
        pytest.skip(f"{SYSTEM_PYTHON} cannot import netlab as nobody: {usable.stderr.decode().splitlines()[-1]}")
    return become


@pytest.fixture
def user_driver(driver: Driver, home: Path, nobodys_python: list[str]) -> Driver:
    """Runs guests as nobody, of a kernel in nobody's cache."""
    cache = home / ".cache" / "netlab" / "guest"
    shutil.copytree(driver.kernel.path, cache / "kernel")
    return Driver(read_kernel(cache / "kernel"), tuple(nobodys_python))


@pytest.fixture
def virtual_user_driver(home: Path, nobodys_python: list[str], time_travel: GuestKernel) -> Driver:
    """Runs guests in virtual time as nobody."""
    cache = home / ".cache" / "netlab" / "guest"
    shutil.copytree(time_travel.path, cache / "virtual")
    return Driver(read_kernel(cache / "virtual"), tuple(nobodys_python), virtual={"stall_s": 3.0})


def test_an_ordinary_user_has_virtual_time_and_its_watchdogs(virtual_user_driver: Driver) -> None:
    assert virtual_user_driver.run("sh", "-c", "sleep 1h; date +%T", cwd="/").stdout == b"01:00:01\n"
    result = virtual_user_driver.run(SYSTEM_PYTHON, "-c", "while True: pass", "busy", cwd="/")
    # Where the system lets nobody look into another process of his, pid 1's notes are what there is.
    assert b"virtual time has stood still for 3 s" in result.stderr
    if Path("/proc/sys/kernel/yama/ptrace_scope").exists() and not _may_look():
        pytest.skip("Yama lets an ordinary user look into no process")
    assert b"running: /usr/bin/python3 -c while True: pass busy" in result.stderr


def _may_look() -> bool:
    return int(Path("/proc/sys/kernel/yama/ptrace_scope").read_text()) < 2


def test_an_ordinary_user_is_root_inside_and_nobody_outside(user_driver: Driver, home: Path) -> None:
    link = "ip link add v0 type veth peer name v1 && tc qdisc add dev v0 root netem loss 10%"
    script = f"id -u; {link}; echo $?; echo hi > made"
    result = user_driver.run("sh", "-c", script, cwd=home)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [b"0", b"0"], result.stderr
    assert (home / "made").read_text() == "hi\n"
    assert (home / "made").stat().st_uid == NOBODY


def test_an_ordinary_user_gains_nothing(user_driver: Driver, home: Path) -> None:
    result = user_driver.run(
        "sh", "-c", "touch /etc/netlab-must-not-be; cat /etc/shadow; mknod node b 254 0", cwd=home
    )
    assert result.stdout == b""
    assert b"/etc/shadow: Permission denied" in result.stderr
    assert not Path("/etc/netlab-must-not-be").exists()
    assert not (home / "node").exists()


def test_an_ordinary_users_input_and_signals_work_too(user_driver: Driver, home: Path) -> None:
    result = user_driver.run("sh", "-c", "cat; exit 3", stdin=b"abc", cwd=home)
    assert (result.returncode, result.stdout) == (3, b"abc")


def test_a_lab_of_an_ordinary_user_runs_in_the_guest_with_the_hosts_key(
    user_driver: Driver, home: Path, nobodys_python: list[str]
) -> None:
    script = "id -u; stat -c %a:%s $NETLAB_LAB_KEY"
    command = [*nobodys_python, "-m", "netlab", "exec", "--profile", "delay=1ms", "--", "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=home, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0", "600:32"]
    assert "in guest kernel" in done.stderr


_EPISODE = """
name = "pair"
[hosts.edge]
[hosts.agent]
[[link]]
ends = ["edge", "agent"]
profile = "delay=5ms"
[episode]
edge = "edge"
agent = "agent"
"""


def _netlab(python: list[str], home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [*python, "-P", "-m", "netlab", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=home, check=False, timeout=300)


def test_an_ordinary_user_plays_an_episode_in_the_guest(
    user_driver: Driver, home: Path, nobodys_python: list[str]
) -> None:
    (home / "pair.toml").write_text(_EPISODE)
    done = _netlab(nobodys_python, home, "lab", "run", "pair.toml", "--on", "guest", "--output", "result.json")
    assert done.returncode == 0, done.stderr
    assert "ticks" in done.stdout
    assert (home / "result.json").stat().st_uid == NOBODY


def test_an_ordinary_user_plays_an_episode_in_virtual_time(
    virtual_user_driver: Driver, home: Path, nobodys_python: list[str]
) -> None:
    (home / "pair.toml").write_text(_EPISODE)
    done = _netlab(nobodys_python, home, "lab", "run", "pair.toml", "--virtual-time")
    assert done.returncode == 0, done.stderr
    assert "virtual time" in done.stdout


def test_an_ordinary_user_has_the_demo(user_driver: Driver, home: Path, nobodys_python: list[str]) -> None:
    done = _netlab(nobodys_python, home, "demo", "--on", "guest", "--episodes", "1")
    assert done.returncode == 0, done.stderr
    assert "return" in done.stdout


def test_an_ordinary_user_who_can_have_no_guest_is_told_of_sudo(home: Path, nobodys_python: list[str]) -> None:
    """As on Ubuntu, whose kernel has netem: the way there is sudo, not another kernel."""
    trial = "import sys; from netlab.rootless import try_rootless; sys.exit(1 if try_rootless().features else 0)"
    if subprocess.run([*nobodys_python, "-c", trial], cwd=home, check=False, timeout=60).returncode:
        pytest.skip("nobody has user namespaces here: what he lacks is netem, not a right")
    (home / "os-release").write_text('ID=ubuntu\nPRETTY_NAME="Ubuntu 24.04 LTS"\n')
    words = ["-m", "netlab", "exec", "--profile", "delay=1ms", "--", "true"]
    command = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/os-release && exec "$@"',
               str(home / "os-release"), *nobodys_python, *words]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=home, check=False, timeout=60)
    assert done.returncode == 1
    assert "no rights to make the network namespace" in done.stderr
    assert "this is Ubuntu 24.04 LTS" in done.stderr
    hint = done.stderr[done.stderr.index("hint: ") :]
    assert hint.startswith("hint: run as root (sudo)")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("victim", ["launcher", "warden", "kernel"])
def test_a_kill_leaves_nothing_without_a_pid_namespace_too(user_driver: Driver, home: Path, victim: str) -> None:
    moments = random.Random(victim)
    temporary = home / "tmp"
    temporary.mkdir(mode=0o777)
    temporary.chmod(0o777)
    for number in range(8):
        before = set(descendants(os.getpid()))
        process = user_driver.start(
            "sh", "-c", "sleep 60 & sleep 60", cwd=home, stdout=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": str(temporary)},
        )  # fmt: skip
        time.sleep(moments.uniform(0.1, 0.8))
        below = descendants(process.pid)
        order = {"launcher": -1, "warden": 1, "kernel": 2}[victim]
        os.kill(below[order] if 0 <= order < len(below) else process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        left = wait_until_gone(before, temporary)
        assert not left, f"run {number}, {len(below)} processes when {victim} was killed: left {left}"
