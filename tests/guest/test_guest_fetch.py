"""A real fetch from Debian's archive, into a cache of the test's own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from guest_driver import Driver, kernel_problem
from orphans import Orphans

from netlab.errors import GuestError
from netlab.namespaces.guest import fetch
from netlab.namespaces.guest.archive import Mirror, PackageFacts
from netlab.namespaces.guest.fetch import fetch_guest_kernel
from netlab.namespaces.guest.installed import default_guest_kernel, list_guest_kernels
from netlab.namespaces.guest.launcher import run_in_guest

FETCH = """
import sys
from pathlib import Path
from netlab.namespaces.guest.fetch import fetch_guest_kernel
print(fetch_guest_kernel(Path(sys.argv[1]), lambda text: print(text, file=sys.stderr)).path)
"""


def start_fetch(cache: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", FETCH, str(cache)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_two_fetches_at_once_leave_one_kernel_that_runs(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    fetches = [start_fetch(cache) for _ in range(2)]
    outcomes = [each.communicate(timeout=300) for each in fetches]
    if any("no network" in errors for _, errors in outcomes):
        pytest.skip("no network: Debian's archive cannot be reached")
    assert [each.returncode for each in fetches] == [0, 0], outcomes
    assert outcomes[0][0] == outcomes[1][0]
    assert sum("waiting" in errors for _, errors in outcomes) == 1
    (kernel,) = list_guest_kernels(cache)
    assert not kernel.problem
    assert not list(cache.glob(".staging-*"))
    assert run_in_guest(["true"], kernel=kernel, timeout_s=60) == 0
    moved = tmp_path / "elsewhere"
    cache.rename(moved)
    there = default_guest_kernel(moved)
    assert there is not None
    assert run_in_guest(["true"], kernel=there, timeout_s=60) == 0


def test_a_fetch_that_is_killed_leaves_nothing_that_is_used(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    orphans = Orphans()
    process = start_fetch(cache)
    assert process.stderr is not None
    assert "reading" in process.stderr.readline()
    process.kill()
    process.communicate()
    orphans.bury()  # apt, if it had started: it has been killed too, or the leak check names it
    assert default_guest_kernel(cache) is None
    assert list_guest_kernels(cache) == []
    assert list(cache.glob(".staging-*"))


# Ends, as if killed, after apt's process has been made and before the kernel knows that it is to end as well.
KILLED_TOO_EARLY = """
import os, signal, sys, time
from pathlib import Path
from netlab.namespaces.guest import private_apt
from netlab.namespaces.guest.archive import Mirror

then = private_apt.die_with_parent_thread

def die_with_parent_thread():
    parent = os.getppid()
    os.kill(parent, signal.SIGKILL)
    while os.getppid() == parent:
        time.sleep(0.001)
    then()

private_apt.die_with_parent_thread = die_with_parent_thread
private_apt.PrivateApt(Path(sys.argv[1]), Mirror("http://127.0.0.1:9/debian", ""), "forky").update()
"""


def test_apt_does_not_outlive_a_fetch_that_is_killed_as_apt_starts(tmp_path: Path) -> None:
    """The leak check names an apt that lives on."""
    apt = tmp_path / "apt-get"
    apt.write_text("#!/bin/sh\nexec sleep 1000\n")
    apt.chmod(0o755)
    orphans = Orphans()
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    program = [sys.executable, "-c", KILLED_TOO_EARLY, str(tmp_path / "folder")]
    done = subprocess.run(program, env=environment, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    orphans.bury()


def test_what_a_killed_fetch_left_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".staging-old").mkdir()
    unreachable(monkeypatch, "http://127.0.0.1:9/debian")
    with pytest.raises(GuestError, match="no network"):
        fetch_guest_kernel(tmp_path, lambda text: None)
    assert not list(tmp_path.glob(".staging-*"))


def test_a_signature_by_another_key_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = tmp_path / "empty.gpg"
    keyring.touch()
    mirror = fetch.machine_mirrors(fetch.check_distribution(fetch.read_os_release()))[0]
    monkeypatch.setattr(fetch, "machine_mirrors", lambda codename: [Mirror(mirror.uri, str(keyring))])
    with pytest.raises(GuestError) as caught:
        fetch_guest_kernel(tmp_path / "cache", lambda text: None)
    if "no network" in caught.value.message:
        pytest.skip("no network: Debian's archive cannot be reached")
    assert "signature does not hold" in caught.value.message
    assert default_guest_kernel(tmp_path / "cache") is None


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(GuestError, match="guest cache") as caught:
        fetch_guest_kernel(tmp_path / "file" / "cache", lambda text: None)
    assert "XDG_CACHE_HOME" in caught.value.hint


def test_too_little_room_is_told_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "NEEDED_BYTES", 1 << 60)
    with pytest.raises(GuestError, match="MiB free"):
        fetch_guest_kernel(tmp_path, lambda text: None)
    assert os.listdir(tmp_path) == [".lock"]


@pytest.mark.skipif(bool(kernel_problem()), reason="it starts the guest that has been fetched")
def test_a_machine_with_a_new_c_library_gets_the_kernel_as_it_is(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Debian 13; that the kernel runs on the machine's own library is left to such a machine."""

    class Apt:
        def show(self, name: str) -> PackageFacts:
            raise AssertionError(f"{name} is not needed")

        def download(self, package: PackageFacts) -> Path:
            return driver.kernel.path

    def unpack(package: Path, folder: Path) -> tuple[str, ...]:
        shutil.copytree(package, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("manifest.json"))
        assert driver.kernel.manifest is not None
        return driver.kernel.manifest.modules

    package = PackageFacts("user-mode-linux", "7.2um1", "libc6 (>= 2.38)", "0" * 64, 1)
    monkeypatch.setattr(fetch, "find_suite", lambda *arguments: (Apt(), "forky", package))
    monkeypatch.setattr(fetch, "host_libc", lambda: (2, 41))
    monkeypatch.setattr(fetch, "unpack_kernel", unpack)
    monkeypatch.setattr(fetch, "find_patchelf", lambda: pytest.fail("nothing to patch"))
    kernel = fetch_guest_kernel(tmp_path / "cache", lambda text: None)
    assert kernel.path.name == "debian-7.2um1"
    assert kernel.manifest is not None
    assert not kernel.manifest.patched
    assert [each.name for each in kernel.manifest.packages] == ["user-mode-linux"]
    assert run_in_guest(["true"], kernel=kernel, timeout_s=60) == 0


def unreachable(monkeypatch: pytest.MonkeyPatch, uri: str) -> None:
    monkeypatch.setattr(fetch, "machine_mirrors", lambda codename: [Mirror(uri, "")])
