"""Root's guest can write to its working folder and temporary folders, and to nothing else of the host."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from guest_driver import Driver

import netlab

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's guest has that user's rights alone")


def attempt(driver: Driver, script: str, cwd: Path, **options: object) -> tuple[int, str]:
    result = driver.run("sh", "-c", script, cwd=cwd, **options)
    return result.returncode, result.stderr.decode()


def test_working_and_temporary_folders_can_be_written(
    driver: Driver, tmp_path: Path, temporary_folder: Path
) -> None:
    assert attempt(driver, 'touch here "$TMPDIR/there" && mkdir -p sub && touch sub/file', tmp_path)[0] == 0
    assert (tmp_path / "here").exists()
    assert (temporary_folder / "there").exists()


@pytest.mark.parametrize("place", ["/etc", "/usr", "/boot", "/var", "/opt"])
def test_the_rest_cannot(driver: Driver, tmp_path: Path, place: str) -> None:
    status, errors = attempt(driver, f"touch {place}/netlab-must-not-be", tmp_path)
    assert status != 0
    assert "Read-only file system" in errors
    assert not Path(place, "netlab-must-not-be").exists()


@pytest.mark.parametrize(
    "script",
    [
        "mount -o remount,rw / ; touch /etc/netlab-must-not-be",
        "mkdir m && mount -t hostfs -o / none m && touch m/etc/netlab-must-not-be",
        "mkdir m && mount -t hostfs -o /../.. none m && touch m/etc/netlab-must-not-be",
        "mkdir m && mount -t hostfs -o /proc none m && touch m/1/root/etc/netlab-must-not-be",
        "mkdir m && mount -t hostfs -o /proc none m && echo 0 > m/sys/kernel/panic",
        "mkdir m && mount -t hostfs -o /sys none m && echo 1 > m/kernel/mm/ksm/run",
        "mknod node b 254 0",
        "mknod node c 1 1",
    ],
)  # fmt: skip
def test_ways_round_it_are_closed(driver: Driver, tmp_path: Path, script: str) -> None:
    status, errors = attempt(driver, script, tmp_path)
    assert status != 0
    assert any(words in errors for words in ("Read-only file system", "not permitted", "Permission denied")), (
        errors
    )
    assert not Path("/etc/netlab-must-not-be").exists()


def test_other_processes_of_the_host_are_not_seen(driver: Driver, tmp_path: Path) -> None:
    script = f"mkdir m && mount -t hostfs -o /proc none m && ls m && ! test -e m/{os.getpid()}/comm"
    status, errors = attempt(driver, script, tmp_path)
    assert status == 0, errors


def test_more_folders_can_be_allowed(driver: Driver, tmp_path: Path) -> None:
    extra = Path("/var/lib/netlab-test-writable")
    extra.mkdir()
    try:
        assert attempt(driver, f"touch {extra}/file", tmp_path)[0] != 0
        assert attempt(driver, f"touch {extra}/file", tmp_path, writable=[str(extra)])[0] == 0
        assert (extra / "file").exists()
    finally:
        (extra / "file").unlink(missing_ok=True)
        extra.rmdir()


def test_a_writable_folder_must_exist_and_not_be_everything(driver: Driver, tmp_path: Path) -> None:
    assert "no such file or folder" in attempt(driver, "true", tmp_path, writable=["/no/such/folder"])[1]
    assert "the whole machine" in attempt(driver, "true", tmp_path, writable=["/"])[1]


def test_the_root_as_working_folder_is_not_writable(driver: Driver) -> None:
    status, errors = attempt(driver, "touch /netlab-must-not-be", Path("/"))
    assert status != 0
    assert not Path("/netlab-must-not-be").exists()
    assert "Read-only file system" in errors


def test_without_confinement_root_is_root(driver: Driver, tmp_path: Path) -> None:
    place = Path("/var/lib/netlab-test-unconfined")
    try:
        assert attempt(driver, f"touch {place}", tmp_path, confine=False)[0] == 0
        assert place.exists()
    finally:
        place.unlink(missing_ok=True)


def test_root_without_the_right_to_confine_is_refused(driver: Driver, tmp_path: Path) -> None:
    command = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all", *driver.command("touch", "made")]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "GuestError: cannot confine root's guest: Operation not permitted" in result.stderr
    assert "HINT start it as an ordinary user" in result.stderr
    assert not (tmp_path / "made").exists()


CONFINED = """
import errno, os, socket, sys
root, old_kernel, writable, listening = sys.argv[1:]
sys.path.insert(0, root)
from netlab.namespaces import syscalls
from netlab.namespaces.guest import confinement, kernel_calls

def refuse(*arguments):
    raise OSError(errno.ENOSYS, "Function not implemented")

if old_kernel == "old":
    kernel_calls.detach_copy = kernel_calls.set_mount_attributes = refuse

def attempt(done, act):
    try:
        act()
        print(done, flush=True)
    except OSError as error:
        print(errno.errorcode[error.errno], flush=True)

syscalls.unshare(syscalls.CLONE_NEWPID)
if os.fork() == 0:
    confinement.confine([writable], 1 << 20)
    confinement.drop_capabilities()
    for place in (writable, "/etc", "/run", "/dev", "/sys/fs/cgroup", "/dev/shm"):
        attempt("wrote", lambda: os.close(os.open(place + "/netlab-must-not-be", os.O_CREAT | os.O_WRONLY)))
    for path in ("/dev/null", "/dev/zero", "/proc/2", "/proc/1/comm"):
        attempt("opened", lambda: os.close(os.open(path, os.O_RDONLY)))
    attempt("connected", lambda: socket.socket(socket.AF_UNIX).connect(listening))
    attempt("unmounted", lambda: syscalls.umount("/run", syscalls.MNT_DETACH))
    print(sorted(os.listdir("/dev")), os.listdir("/run"))
    sys.stdout.flush()
    os._exit(0)
os.wait()
"""


@pytest.fixture
def service() -> Iterator[Path]:
    """A socket in /run that anything outside a guest may connect to."""
    folder = Path(tempfile.mkdtemp(prefix="netlab-test-", dir="/run"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        listener.listen()
        yield folder / "socket"
    shutil.rmtree(folder)


def confined(kernel: str, writable: Path, service: Path) -> list[str]:
    """Return what each attempt of a confined process came to, line by line."""
    root = str(Path(netlab.__file__).parents[1])
    command = [sys.executable, "-c", CONFINED, root, kernel, str(writable), str(service)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return result.stdout.splitlines()


@pytest.mark.parametrize("kernel", ["new", "old"], ids=["mount_setattr", "mount-by-mount"])
def test_a_confined_process_writes_here_alone_and_reaches_no_service(
    tmp_path: Path, service: Path, kernel: str
) -> None:
    lines = confined(kernel, tmp_path, service)
    assert lines[:5] == ["wrote", "EROFS", "EROFS", "EROFS", "EROFS"]
    assert lines[5] == "wrote"  # a file system of its own:
    assert not Path("/dev/shm/netlab-must-not-be").exists()
    assert lines[6:10] == ["opened", "ENOENT", "ENOENT", "opened"]
    assert lines[10] == "ENOENT"
    assert lines[11] == "EPERM"
    assert lines[12] == "['null', 'shm'] []"


@pytest.mark.parametrize("kernel", ["new", "old"], ids=["mount_setattr", "mount-by-mount"])
def test_a_writable_folder_below_run_is_all_that_is_left_of_it(service: Path, kernel: str) -> None:
    work = service.parent / "work"
    work.mkdir()
    lines = confined(kernel, work, service)
    assert (lines[0], lines[2], lines[10]) == ("wrote", "EROFS", "ENOENT")
    assert (work / "netlab-must-not-be").exists()


def test_a_working_folder_below_run_still_works(driver: Driver, service: Path) -> None:
    work = service.parent / "work"
    work.mkdir()
    assert attempt(driver, "touch made && ! test -e ../socket", work)[0] == 0
    assert (work / "made").exists()
    assert "services listen there" in attempt(driver, "true", Path("/run"))[1]
    assert "services listen there" in attempt(driver, "true", work, writable=["/run"])[1]


def test_the_hosts_run_and_dev_cannot_be_mounted_again(driver: Driver, tmp_path: Path, service: Path) -> None:
    script = f"mkdir m && mount -t hostfs -o /run none m && ls m && ! test -e m/{service.parent.name}"
    assert attempt(driver, script, tmp_path)[0] == 0
    (tmp_path / "m").rmdir()
    script = "mkdir m && mount -t hostfs -o /dev none m && test -e m/null && ! test -e m/zero"
    assert attempt(driver, script, tmp_path)[0] == 0


def test_temporary_files_in_shared_memory_are_no_obstacle(driver: Driver, tmp_path: Path) -> None:
    result = driver.run("true", cwd=tmp_path, env={"TMPDIR": "/dev/shm"})
    assert result.returncode == 0, result.stderr
