from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from netlab.errors import KernelError, LabError, SpecError
from netlab.lab import Lab
from netlab.namespaces.host import Host

# Signals 32 and 33, which it lets nobody set: whoever starts the tests with one ignored hands it to every program.
_C_LIBRARYS_OWN = 0b11 << 31


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab("procs") as opened:
        yield opened


@pytest.fixture
def host(lab: Lab) -> Host:
    edge = lab.add_host("edge")
    lab.add_link(edge, lab.add_host("far"))
    return edge


def _shell(host: Host, script: str, **options: object) -> tuple[int, str]:
    process = host.start(["sh", "-c", script], **options)  # type: ignore[arg-type]
    return process.wait(30), process.last_lines(1000)


def test_status_and_output(host: Host) -> None:
    assert _shell(host, "echo out; echo err >&2; exit 3") == (3, "out\nerr")
    assert _shell(host, "kill -TERM $$")[0] == -signal.SIGTERM


def test_death_by_a_signal_without_a_name(host: Host) -> None:
    process = host.start(["sh", "-c", "kill -40 $$"])
    assert process.wait(30) == -40
    with pytest.raises(LabError, match="was killed by signal 40"):
        process.check()
    named = host.start(["sh", "-c", "kill -TERM $$"])
    named.wait(30)
    with pytest.raises(LabError, match="was killed by SIGTERM"):
        named.check()


def test_pid_is_the_one_we_see(host: Host) -> None:
    process = host.start(["sleep", "100"])
    assert Path(f"/proc/{process.pid}/cmdline").read_bytes() == b"sleep\x00100\x00"
    assert os.stat(f"/proc/{process.pid}/ns/net").st_ino == host.node.namespace.inode
    process.close()
    assert process.poll() == -signal.SIGTERM


def test_it_sees_its_own_processes_and_interfaces(host: Host) -> None:
    status, text = _shell(
        host, "echo $$; ls -d /proc/[0-9]* | wc -l; ls /sys/class/net; ls /sys/fs/cgroup | wc -l"
    )
    pid, processes, *interfaces, groups = text.split()
    assert status == 0
    assert int(pid) < 10
    assert 3 <= int(processes) <= 6
    assert interfaces == ["eth0", "lo"]
    assert int(groups) == len(os.listdir("/sys/fs/cgroup"))


def test_mounts_inside_stay_inside(host: Host, tmp_path: Path) -> None:
    assert _shell(host, f"mount -t tmpfs none {tmp_path} && touch {tmp_path}/inside")[0] == 0
    assert list(tmp_path.iterdir()) == []


def test_no_descriptor_but_the_three_reaches_it(host: Host) -> None:
    spare = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(spare, True)
    try:
        listing = (
            "import os; print([fd for fd in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + fd)])"
        )
        process = host.start([sys.executable, "-c", listing])
        assert process.wait(30) == 0
        assert process.last_lines() == "['0', '1', '2']"
    finally:
        os.close(spare)


def test_environment_folder_and_stdin(lab: Lab, host: Host, tmp_path: Path) -> None:
    script = 'pwd; echo "$NETLAB_LAB $NETLAB_HOST $NETLAB_ADDRESS $NETLAB_PEER $NETLAB_PEER_FAR $MINE"; cat'
    read_fd, write_fd = os.pipe()
    os.write(write_fd, b"from stdin")
    os.close(write_fd)
    try:
        status, text = _shell(host, script, env={"MINE": "é\n"}, cwd=tmp_path, stdin=read_fd)
    finally:
        os.close(read_fd)
    assert status == 0
    assert text.splitlines() == [str(tmp_path), "procs edge 10.77.0.1 10.77.0.2 10.77.0.2 é", "", "from stdin"]


def test_arguments_arrive_byte_for_byte(host: Host) -> None:
    arguments = ["", " ", "ü€😀", "\udcff\udc80", "a\nb", "'\"\\$(x)", "x" * 100_000]
    script = "import os, sys; sys.stdout.buffer.write(b'|'.join(os.fsencode(a)[:20] for a in sys.argv[1:]))"
    process = host.start([sys.executable, "-c", script, *arguments])
    assert process.wait(30) == 0
    assert process.output.tail() == b"|".join(os.fsencode(argument)[:20] for argument in arguments)


def test_an_environment_of_a_megabyte(host: Host) -> None:
    big = {f"BIG_{number}": "v" * 100_000 for number in range(10)}
    assert _shell(host, "env | wc -c", env=big)[0] == 0


@pytest.mark.parametrize(
    ("argv", "options", "error", "words"),
    [
        (["nosuch-program"], {}, KernelError, "cannot start 'nosuch-program' in host edge: No such file"),
        (["/etc/passwd"], {}, KernelError, "cannot start '/etc/passwd' in host edge: Permission denied"),
        (["true"], {"cwd": "/nowhere"}, KernelError, r"edge \(change to the folder /nowhere\): No such file"),
        (["true", "x" * 200_000], {}, KernelError, "Argument list too long"),
        ([], {}, SpecError, "no program to start in host edge"),
        ([""], {}, SpecError, "no program to start in host edge"),
        (["true", "a\0b"], {}, SpecError, "holds a null byte"),
        (["true"], {"env": {"A": "\0"}}, SpecError, "holds a null byte"),
        ("ls", {}, SpecError, r"argv: 'ls' for a program in host edge: must be a list of texts"),
        (b"ls", {}, SpecError, r"argv: b'ls' .* must be a list of texts"),
        (5, {}, SpecError, r"argv: 5 .* must be a list of texts"),
        ([b"ls"], {}, SpecError, r"argv: b'ls' .* must be text, not bytes"),
        (["echo", 5], {}, SpecError, r"argv: 5 .* must be text, not int"),
        (["echo", "\ud800"], {}, SpecError, r"argv: '\\ud800' .* cannot be encoded as utf-8"),
        (["true"], {"env": {"A": 1}}, SpecError, r"env\.A: 1 .* must be text, not int"),
        (["true"], {"env": {1: "A"}}, SpecError, r"env: 1 .* must be text, not int"),
        (["true"], {"env": {"A=B": "1"}}, SpecError, r"env: 'A=B' .* has no '='"),
        (["true"], {"env": {"A": "\ud800"}}, SpecError, r"env\.A: .* cannot be encoded"),
        (["true"], {"env": ["A"]}, SpecError, r"env: \['A'\] .* must be a mapping"),
        (["true"], {"stdin": "x"}, SpecError, r"stdin: 'x' .* must be an open descriptor"),
        (["true"], {"stdin": -1}, SpecError, r"stdin: -1 .* must be an open descriptor"),
        (["true"], {"stdout": 5}, SpecError, r"stdout: 5 .* must be a path"),
        (["true"], {"stdout": "a\0"}, SpecError, r"stdout: .* holds a null byte"),
        (["true"], {"cwd": 5}, SpecError, r"cwd: 5 .* must be a path"),
        (["true"], {"cwd": "\ud800"}, SpecError, r"cwd: .* cannot be encoded"),
        (["true"], {"stdout": "/nowhere/out"}, LabError, "cannot write a process's output to /nowhere/out"),
    ],
)
def test_what_cannot_be_started(
    host: Host, argv: list[str], options: dict[str, object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        host.start(argv, **options)  # type: ignore[arg-type]
    assert _shell(host, "true")[0] == 0  # the lab is as good as before


def test_output_keeps_its_end(host: Host) -> None:
    process = host.start(["sh", "-c", "seq 1 200000"])
    assert process.wait(60) == 0
    assert len(process.output.tail()) == 65536
    assert process.last_lines(2) == "199999\n200000"


def test_output_in_a_file(host: Host, tmp_path: Path) -> None:
    process = host.start(["sh", "-c", "seq 1 100000; echo end >&2"], stdout=tmp_path / "out")
    assert process.wait(60) == 0
    assert (tmp_path / "out").read_text().splitlines()[-2:] == ["100000", "end"]
    assert process.last_lines(1) == "end"


def test_run_folder(tmp_path: Path) -> None:
    with Lab(run_folder=tmp_path / "run") as lab:
        host = lab.add_host("edge")
        for word in ("one", "two"):
            assert host.start(["echo", word]).wait(30) == 0
    assert [(path.name, path.read_text()) for path in sorted((tmp_path / "run").iterdir())] == [
        ("edge-1.log", "one\n"),
        ("edge-2.log", "two\n"),
    ]


def test_wait_has_a_limit(host: Host) -> None:
    process = host.start(["sleep", "100"])
    with pytest.raises(LabError, match=r"edge: sleep \(pid \d+\) still runs after 0.05 s"):
        process.wait(0.05)
    assert process.poll() is None


def test_check_tells_of_a_death(host: Host) -> None:
    service = host.start(["sh", "-c", "echo about to fail; exit 9"])
    service.wait(30)
    with pytest.raises(
        LabError, match=r"edge: sh \(pid \d+\) failed \(exit code 9\); .*\n  about to fail"
    ) as caught:
        service.check()
    assert caught.value.exit_code_of_service == 9
    killed = host.start(["sh", "-c", "kill -SEGV $$"])
    killed.wait(30)
    with pytest.raises(LabError, match="was killed by SIGSEGV"):
        killed.check()
    for well in (host.start(["true"]), host.start(["sleep", "100"])):
        if well.argv[0] == "true":
            well.wait(30)
        well.check()
        well.close()
        well.check()  # ended by us: no failure


def test_close_asks_then_kills(host: Host) -> None:
    polite = host.start(["sh", "-c", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done"])
    _until(lambda: polite.last_lines() == "up")
    polite.close()
    assert (polite.poll(), polite.last_lines(1)) == (0, "bye")
    took_s = []
    while not took_s or (took_s[-1] >= 2.0 and len(took_s) < 3):  # a busy machine may stall for a while
        stubborn = host.start(["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.01; done"])
        _until(lambda stubborn=stubborn: stubborn.last_lines() == "up")
        began = time.monotonic()
        stubborn.close(grace_s=0.2)
        took_s.append(time.monotonic() - began)
        assert stubborn.poll() == -signal.SIGKILL
        stubborn.close()
        stubborn.kill()
    assert 0.2 <= min(took_s) < 2.0


def test_close_takes_the_whole_group(host: Host) -> None:
    script = "trap '' TERM; (trap '' TERM; exec sleep 1000) & echo $!; trap - TERM; wait"
    process = host.start(["sh", "-c", script])
    _until(lambda: process.last_lines() != "")
    count = "grep -l '(sleep)' /proc/[0-9]*/stat | wc -l"
    _until(lambda: _shell(host, count)[1] == "1")
    process.close()
    _until(lambda: _shell(host, count)[1] == "0")


def test_signals_reach_the_process(host: Host) -> None:
    process = host.start(["sh", "-c", "trap 'echo usr1; exit 4' USR1; echo up; while :; do sleep 0.01; done"])
    _until(lambda: process.last_lines() == "up")
    process.send_signal(signal.SIGUSR1)
    assert process.wait(30) == 4
    process.send_signal(signal.SIGUSR1)  # dead: nothing happens


@pytest.mark.parametrize("number", [999, -1, 0, 65, "TERM", None, 15.0, True, 2**80])
def test_what_is_no_signal(host: Host, number: object) -> None:
    process = host.start(["sleep", "100"])
    with pytest.raises(SpecError, match=r"signal_number: .* must be a signal's number, 1 \.\. 64"):
        process.send_signal(number)  # type: ignore[arg-type]
    assert process.poll() is None


def test_the_keeper_outlives_requests_that_make_no_sense(lab: Lab, host: Host) -> None:
    process = host.start(["sleep", "100"])
    pids = lab._programs.pid_space()
    for number in (999, -1, 2**80):
        pids.send_signal(1, number, group=False)
    for request in (
        {},
        {"do": "dance"},
        {"do": ["start"]},
        {"do": "start"},
        {"do": "start", "id": 77, "session": True},
        {"do": "signal", "id": 1},
        {"do": "signal", "id": 1, "group": False, "signal": None},
    ):
        pids._send(request)
    assert _shell(host, "true")[0] == 0
    assert process.poll() is None


def test_a_request_that_cannot_be_sent_is_forgotten(lab: Lab, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _shell(host, "true")[0] == 0
    before = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patch:
        for surprise in (MemoryError, KeyboardInterrupt):

            def fail(*_: object, surprise: type[BaseException] = surprise) -> None:
                raise surprise

            patch.setattr("netlab.namespaces.pid_space.start_request", fail)
            with pytest.raises(surprise):
                host.start(["true"])
    assert len(os.listdir("/proc/self/fd")) == before
    began = time.monotonic()
    lab.close()
    assert time.monotonic() - began < 5.0


def test_a_surprise_in_the_keepers_thread_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("surprise")

    monkeypatch.setattr("netlab.namespaces.pid_space.start_keeper", fail)
    with Lab() as lab:
        host = lab.add_host("edge")
        with pytest.raises(ZeroDivisionError, match="surprise"):
            host.start(["true"])
        monkeypatch.undo()
        assert _shell(host, "true")[0] == 0


def test_dispositions_and_mask_are_the_default(host: Host) -> None:
    old = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    try:
        status, text = _shell(host, "grep -E 'Sig(Blk|Ign)' /proc/self/status")
        assert (status, text.split()[:3]) == (0, ["SigBlk:", "0" * 16, "SigIgn:"])
        assert int(text.split()[3], 16) & ~_C_LIBRARYS_OWN == 0
        process = host.start(["grep", "SigIgn", "/proc/self/status"], ignored_signals=frozenset({signal.SIGHUP}))
        process.wait(30)
        assert int(process.last_lines().split()[1], 16) & ~_C_LIBRARYS_OWN == 1 << signal.SIGHUP - 1
    finally:
        signal.signal(signal.SIGUSR2, old)


def test_orphans_are_buried(host: Host) -> None:
    assert _shell(host, "(sleep 0.05 &) ; (sleep 0.05 &) ; true")[0] == 0
    zombies = "grep -l '^State:.Z' /proc/[0-9]*/status | wc -l"
    time.sleep(0.1)
    _until(lambda: _shell(host, zombies)[1] == "0")


def test_many_at_once(host: Host) -> None:
    processes = [host.start(["sh", "-c", f"exit {number % 7}"]) for number in range(60)]
    assert [process.wait(60) for process in processes] == [number % 7 for number in range(60)]


def test_failed_starts_do_no_harm(host: Host) -> None:
    # The report of a failed start and the death of its process reach the keeper together, or one before the other.
    for _ in range(150):
        with pytest.raises(KernelError):
            host.start(["nosuch-program"])
    assert _shell(host, "ls -d /proc/[0-9]* | wc -l")[1] in ("3", "4", "5")


def test_starts_from_many_threads(lab: Lab, host: Host) -> None:
    statuses: list[tuple[int, int]] = []

    def work(thread: int) -> None:
        for number in range(15):
            process = lab.hosts["far" if number % 2 else "edge"].start(["sh", "-c", f"exit {thread + number}"])
            statuses.append((process.wait(60), thread + number))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(statuses) == 60
    assert all(got == asked for got, asked in statuses)


def test_lab_close_ends_everything_within_its_grace() -> None:
    with Lab() as lab:
        host = lab.add_host("edge")
        script = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep 1000' &); echo up; sleep 1000 & wait"
        processes = [host.start(["sh", "-c", script]) for _ in range(5)]
        for process in processes:
            _until(lambda process=process: process.last_lines() == "up")
        began = time.monotonic()
    assert time.monotonic() - began < 9.0  # one grace of 2 s for all, not one each
    assert all(process.poll() is not None for process in processes)
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)


def _until(condition: object, within_s: float = 30.0) -> None:
    deadline_s = time.monotonic() + within_s
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline_s, "did not come true"
        time.sleep(0.01)
