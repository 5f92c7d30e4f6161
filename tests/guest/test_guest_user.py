"""An ordinary user runs guests, without any right."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from guest_driver import Driver

import netlab

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
def user_driver(driver: Driver, home: Path) -> Driver:
    """Runs guests as nobody: the system's interpreter, our packages, a kernel in nobody's cache."""
    root = Path(netlab.__file__).parents[1]
    packages = f"{root}:{sysconfig.get_path('purelib')}"
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env", f"HOME={home}",
              f"PYTHONPATH={packages}", SYSTEM_PYTHON]  # fmt: skip
    shutil.copytree(driver.kernel.path, home / "kernel")
    usable = subprocess.run(
        [*become, "-c", "import netlab.namespaces.guest.launcher"], capture_output=True, check=False, cwd="/"
    )
    if usable.returncode:
        pytest.skip(f"{SYSTEM_PYTHON} cannot import netlab as nobody: {usable.stderr.decode().splitlines()[-1]}")
    from netlab.namespaces.guest.installed import read_kernel

    return Driver(read_kernel(home / "kernel"), tuple(become))


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
