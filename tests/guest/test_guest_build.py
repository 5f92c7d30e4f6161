"""Building a kernel: each fault is one clear error, and nothing half-made is left or used.

The trees here are small fakes; the real build is what ``make test`` has its time-travel kernel from.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_tree import FakeTree
from guest_driver import descendants, reap

from netlab.cli.main import main
from netlab.errors import FeatureMissing, GuestError, GuestUnavailable
from netlab.namespaces.guest import build, kernel_source
from netlab.namespaces.guest.archive import Mirror
from netlab.namespaces.guest.build import FAILED_LOG_NAME, build_guest_kernel
from netlab.namespaces.guest.installed import GuestKernel, file_sha256, list_guest_kernels, time_travel_kernel
from netlab.namespaces.guest.kernel_configuration import time_travel_configuration
from netlab.namespaces.guest.kernel_source import DebianSource, named_source

WAITS = """
echo $$ > "$1/../../pids"; sleep 300 & echo $! >> "$1/../../pids"; wait
"""


class Told:
    """Remembers what a build says."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def count(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture(autouse=True)
def needs_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "NEEDED_BYTES", 1 << 20)


@pytest.fixture
def tree(tmp_path: Path) -> FakeTree:
    return FakeTree(tmp_path / "linux")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "netlab" / "guest"


def build_fake(cache: Path, path: Path, **options: bool) -> tuple[GuestKernel, list[str]]:
    told = Told()
    return build_guest_kernel(cache, told, source=named_source(path), jobs=2, **options), told.lines


def refused(cache: Path, path: Path) -> GuestError:
    """Build what cannot be built; nothing but the log may stay."""
    with pytest.raises(GuestError) as caught:
        build_fake(cache, path)
    assert list_guest_kernels(cache) == []
    left = {path.name for path in cache.iterdir()} if cache.exists() else set()
    assert left <= {".build-lock", FAILED_LOG_NAME}
    return caught.value


def start_build(cache: Path, tree: FakeTree, *prefix: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache.parents[1])}
    command = [*prefix, sys.executable, "-m", "netlab", "guest", "build", "--source", str(tree.folder)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True)


def wait_for_processes(cache: Path, process: subprocess.Popen[str]) -> list[int]:
    """Return all processes below a build whose fake compiler has begun to wait."""
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        found = (cache / "pids").read_text().split() if (cache / "pids").exists() else []
        if len(found) == 2:
            below = descendants(process.pid)
            assert {int(pid) for pid in found} < set(below)
            return below
        time.sleep(0.02)
    raise AssertionError("the fake make has not begun")


def alive_after(pids: list[int], wait_s: float = 30.0) -> list[int]:
    """Return which processes are left after some time."""
    deadline = time.monotonic() + wait_s
    while True:
        reap(pids)
        alive = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        if not alive or time.monotonic() > deadline:
            return alive
        time.sleep(0.02)


def test_a_build_leaves_one_kernel_and_nothing_of_its_source(cache: Path, tree: FakeTree) -> None:
    before = sorted(tree.folder.rglob("*"))
    kernel, lines = build_fake(cache, tree.folder)
    assert kernel.release == "7.2.12-netlab"
    assert kernel.time_travel
    assert kernel.sha256 == file_sha256(kernel.binary)
    assert kernel.manifest is not None
    assert kernel.manifest.configuration == time_travel_configuration().sha256
    assert kernel.path.name.startswith("built-7.2.12-")
    assert "compiling: 1 of about" in " ".join(lines)
    assert list_guest_kernels(cache) == [kernel]
    assert sorted(path.name for path in cache.iterdir()) == sorted([".build-lock", kernel.path.name])
    assert sorted(tree.folder.rglob("*")) == before


def test_a_tarball_gives_the_same_kernel(cache: Path, tree: FakeTree, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "linux.tar.xz", "w:xz") as archive:
        archive.add(tree.folder, "linux-7.2.12")
    kernel, _ = build_fake(cache, tmp_path / "linux.tar.xz")
    assert kernel.sha256 == build_fake(cache, tree.folder)[0].sha256
    assert len(list_guest_kernels(cache)) == 2


def test_the_callers_environment_does_not_reach_make(
    cache: Path, tree: FakeTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KCFLAGS", "MAKEFLAGS", "ARCH", "O"):
        monkeypatch.setenv(name, "-k")
    tree.compile_first(f'cp "$1/arguments" {tmp_path}/arguments')
    build_fake(cache, tree.folder)
    arguments = (tmp_path / "arguments").read_text().split()
    assert arguments[0] == "-j2"
    assert arguments[-2:] == ["um", "netlab"]
    assert "-k" not in arguments


def test_what_is_there_is_kept_unless_it_is_to_be_built_again(cache: Path, tree: FakeTree) -> None:
    first, _ = build_fake(cache, tree.folder)
    made_ns = first.binary.stat().st_mtime_ns
    kept, lines = build_fake(cache, tree.folder)
    assert kept == first
    assert "there already" in lines[-1]
    again, _ = build_fake(cache, tree.folder, again=True)
    assert again.path == first.path
    assert again.binary.stat().st_mtime_ns != made_ns


def test_a_damaged_one_is_not_used_and_built_anew(cache: Path, tree: FakeTree) -> None:
    kernel, _ = build_fake(cache, tree.folder)
    with kernel.binary.open("r+b") as file:
        file.write(b"X")
    assert "SHA-256" in list_guest_kernels(cache)[0].problem
    rebuilt, lines = build_fake(cache, tree.folder)
    assert not any("there already" in line for line in lines)
    assert list_guest_kernels(cache) == [rebuilt]
    assert rebuilt.sha256 == kernel.sha256


@pytest.mark.parametrize("option", ["CONFIG_UML_TIME_TRAVEL_SUPPORT", "CONFIG_NET_SCH_NETEM"])
def test_what_kconfig_drops_is_named(cache: Path, tree: FakeTree, option: str) -> None:
    tree.drop(option)
    error = refused(cache, tree.folder)
    assert f"{option}=y" in error.message
    assert "--source" in error.hint


def test_a_source_that_does_not_compile_shows_why_and_keeps_the_log(cache: Path, tree: FakeTree) -> None:
    tree.compile_first("echo 'a.c:3:1: error: bad'; echo 'b.c:4:1: error: later'; exit 1")
    error = refused(cache, tree.folder)
    assert "does not compile: a.c:3:1: error: bad" in error.message
    assert str(cache / FAILED_LOG_NAME) in error.hint
    assert "b.c:4:1: error: later" in (cache / FAILED_LOG_NAME).read_text()


def test_a_kernel_that_does_not_run_here_is_refused(cache: Path, tree: FakeTree) -> None:
    tree.compile_first('printf "\\177ELFnonsense" > "$1/linux"; chmod +x "$1/linux"; exit 0')
    assert "does not run on this machine" in refused(cache, tree.folder).message


def test_a_kernel_without_time_travel_is_refused(cache: Path, tree: FakeTree) -> None:
    tree.compile_first('printf "#!/bin/sh\\necho 7.2.12\\n" > "$1/linux"; chmod +x "$1/linux"; exit 0')
    assert "no time travel" in refused(cache, tree.folder).message


@pytest.mark.parametrize("content", [b"", b"not a tarball", bytes(10000)])
def test_what_is_no_tarball_is_refused(cache: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "linux.tar.xz").write_bytes(content)
    error = refused(cache, tmp_path / "linux.tar.xz")
    assert "linux.tar.xz cannot be unpacked" in error.message or "Makefile" in error.message


def test_a_tree_of_another_kind_is_refused(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    assert "Makefile: No such file" in refused(cache, tmp_path / "tree").message


def test_missing_programs_are_named_before_anything_is_done(
    cache: Path, tree: FakeTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(FeatureMissing, match="gcc, ld, make, flex, bison, bc are not there") as caught:
        build_fake(cache, tree.folder)
    assert caught.value.hint == "apt-get install gcc binutils make flex bison bc"
    assert not cache.exists()


def test_no_network_is_told(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        kernel_source, "machine_mirrors", lambda codename: [Mirror("http://127.0.0.1:9/debian", "")]
    )
    monkeypatch.setattr(kernel_source, "check_distribution", lambda fields: "bookworm")
    monkeypatch.setattr(build, "check_toolchain", lambda more: None)
    if shutil.which("apt-get") is None:
        pytest.skip("no apt-get")
    with pytest.raises(GuestUnavailable, match="no network"):
        build_guest_kernel(cache, Told(), source=DebianSource())
    assert os.listdir(cache) == [".build-lock"]


def test_too_little_room_is_told_first(cache: Path, tree: FakeTree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "NEEDED_BYTES", 1 << 60)
    assert "a build needs" in refused(cache, tree.folder).message


def test_a_disk_that_fills_up_is_told(cache: Path, tree: FakeTree) -> None:
    """On a file system of 8 MB, in a mount namespace of the build's own."""
    tree.compile_first('dd if=/dev/zero of="$1/big" bs=1M count=64 || exit 1')
    cache.mkdir(parents=True)
    script = f"""
mount -t tmpfs -o size=8m none {cache} || exit 77
{sys.executable} -c '
import sys
from pathlib import Path
from netlab.errors import GuestError
from netlab.namespaces.guest import build
from netlab.namespaces.guest.kernel_source import named_source
class Quiet:
    def say(self, text): pass
    def count(self, text): pass
build.NEEDED_BYTES = 1 << 20
try:
    build.build_guest_kernel(Path(sys.argv[1]), Quiet(), source=named_source(Path(sys.argv[2])))
except GuestError as error:
    print(error, "|", error.hint)
' {cache} {tree.folder}
ls -A {cache}
"""
    rights = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    done = subprocess.run(
        ["unshare", *rights, "--mount", "sh", "-c", script], capture_output=True, text=True, check=False
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip(f"no mount namespace: {done.stderr.strip()}")
    error, *left = done.stdout.splitlines()
    assert "no room left" in error or "No space left" in error, done
    assert "make room" in error
    assert left == [".build-lock"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_ends_make_and_leaves_nothing(
    cache: Path, tree: FakeTree, number: signal.Signals
) -> None:
    tree.compile_first(WAITS)
    process = start_build(cache, tree)
    pids = wait_for_processes(cache, process)
    os.killpg(process.pid, number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number, errors
    assert not alive_after(pids)
    assert sorted(os.listdir(cache)) == [".build-lock", "pids"]
    assert "Traceback" not in errors


def test_a_killed_build_ends_make_and_the_next_cleans_up(cache: Path, tree: FakeTree) -> None:
    tree.compile_first(WAITS)
    process = start_build(cache, tree)
    pids = wait_for_processes(cache, process)
    process.kill()
    process.communicate()
    assert not alive_after(pids)
    assert list(cache.glob(".building-*"))
    assert list_guest_kernels(cache) == []
    assert time_travel_kernel(cache) is None
    tree.compile_first("")
    kernel, _ = build_fake(cache, tree.folder)
    assert not list(cache.glob(".building-*"))
    assert list_guest_kernels(cache) == [kernel]


def test_of_two_builds_at_once_the_second_takes_the_firsts(cache: Path, tree: FakeTree) -> None:
    tree.compile_first(f'echo x >> "{tree.folder.parent}/compiled"; sleep 1')
    builds = [start_build(cache, tree) for _ in range(2)]
    errors = [each.communicate(timeout=60)[1] for each in builds]
    assert [each.returncode for each in builds] == [0, 0], errors
    assert sum("another build is under way" in text for text in errors) == 1
    assert (tree.folder.parent / "compiled").read_text().split() == ["x"]
    assert len(list_guest_kernels(cache)) == 1


def test_a_place_where_make_cannot_work_is_refused(tmp_path: Path, tree: FakeTree) -> None:
    assert "spaces or colons" in refused(tmp_path / "a cache", tree.folder).message


def test_if_possible_forgives_what_is_lacking_and_no_failed_build(
    cache: Path, tree: FakeTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache.parents[1]))
    command = ["guest", "build", "--source", str(tree.folder), "--if-possible"]
    tree.compile_first("echo 'a.c:3:1: error: bad'; exit 1")
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, "does not compile: a.c:3:1: error: bad" in done.stderr) == (1, True)
    tree.compile_first("")
    tree.drop("CONFIG_NET_SCH_NETEM")
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, "without CONFIG_NET_SCH_NETEM=y" in done.stderr) == (1, True)
    monkeypatch.setattr(build, "NEEDED_BYTES", 1 << 60)
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, "going on without virtual time" in done.stderr) == (0, True)
    monkeypatch.setattr(build, "check_toolchain", lacks_a_compiler)
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, "gcc is not there" in done.stderr) == (0, True)
    assert CliRunner().invoke(main, command[:-1]).exit_code == 1  # asked for plainly it is due


def lacks_a_compiler(more: object) -> None:
    raise FeatureMissing("build a guest kernel", words="gcc is not there", hint="apt-get install gcc")
