"""Commands in a lab that stays: streams, status, signals, terminals; they end with their client and the lab."""

from __future__ import annotations

import os
import signal
import struct
import sys
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pytest
from staying_labs import StayingLabs, wait_until
from test_exec import Terminal


@pytest.fixture(scope="module")
def labs(tmp_path_factory: pytest.TempPathFactory, private_namespaces: None) -> Iterator[StayingLabs]:
    """One lab for all of these tests; its holder is a child of ours from before each of them."""
    labs = StayingLabs(tmp_path_factory.mktemp("labs"))
    labs.up()
    yield labs
    labs.close()


def running(labs: StayingLabs) -> list[list[str]]:
    """Return what ``netlab lab exec`` runs in the lab."""
    hosts = labs.show("two")["hosts"]
    return [one["argv"] for host in hosts for one in host["processes"] if not one["from_spec"]]


def test_status_streams_folder_and_environment(labs: StayingLabs, tmp_path: Path) -> None:
    script = "pwd; cat; echo $NETLAB_PEER $NETLAB_HOST $NETLAB_LAB $COLOUR >&2; exit 7"
    environment = {**labs.environment, "COLOUR": "red"}
    done = labs.run("exec", "two", "a", "--", "sh", "-c", script, input="typed\n", cwd=tmp_path, env=environment)
    assert (done.returncode, done.stdout) == (7, f"{tmp_path}\ntyped\n")
    assert done.stderr == "10.77.0.2 a two red\n"
    assert running(labs) == []


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        (["sh", "-c", "kill -9 $$"], 137, ""),
        (["sh", "-c", "kill -TERM $$"], 143, ""),
        (["nosuch-program"], 127, "cannot start 'nosuch-program' in host a: No such file or directory"),
        (["/etc/passwd"], 126, "Permission denied"),
        ([b"\xff".decode(errors="surrogateescape")], 127, "cannot start"),
    ],
)
def test_status_is_as_a_shell_gives_it(labs: StayingLabs, command: list[str], status: int, words: str) -> None:
    done = labs.run("exec", "two", "a", *command)
    assert done.returncode == status
    assert words in done.stderr


def test_it_is_in_the_host_and_in_the_labs_pid_namespace(labs: StayingLabs) -> None:
    assert labs.run("exec", "two", "b", "ls", "/sys/class/net").stdout.split() == ["eth0", "lo"]
    assert int(labs.run("exec", "two", "b", "sh", "-c", "echo $$").stdout) < 1000
    done = labs.run("exec", "two", "b", "ping", "-c", "1", "-W", "5", "10.77.0.1")
    assert "1 received" in done.stdout or done.returncode == 127


def test_signals_are_passed_on_without_a_terminal(labs: StayingLabs) -> None:
    for number, name in ((signal.SIGINT, "INT"), (signal.SIGTERM, "TERM"), (signal.SIGUSR1, "USR1")):
        script = f"trap 'echo got {name}; exit 5' {name}; echo up; while :; do sleep 0.01; done"
        client = labs.start("exec", "two", "a", "--", "sh", "-c", script)
        assert client.stdout is not None
        assert client.stdout.readline() == "up\n"
        client.send_signal(number)
        text, _ = client.communicate(timeout=60)
        assert (text, client.returncode) == (f"got {name}\n", 5)


def test_a_killed_client_takes_its_command_along(labs: StayingLabs) -> None:
    # The command and a child of its group, both deaf to polite requests.
    script = "trap '' TERM HUP INT; sleep 987 & echo up; wait"
    client = labs.start("exec", "two", "a", "--", "sh", "-c", script)
    assert client.stdout is not None
    assert client.stdout.readline() == "up\n"
    assert running(labs) == [["sh", "-c", script]]
    client.kill()
    client.communicate(timeout=60)
    wait_until(lambda: not [line for line in labs.processes() if "sleep 987" in line])
    assert running(labs) == []


def test_many_at_once(labs: StayingLabs) -> None:
    clients = [labs.start("exec", "two", "ab"[n % 2], "sh", "-c", f"echo {n}; exit {n}") for n in range(6)]
    for number, client in enumerate(clients):
        text, _ = client.communicate(timeout=60)
        assert (text, client.returncode) == (f"{number}\n", number)


def test_it_ends_with_the_lab(tmp_path: Path, labs: StayingLabs) -> None:
    others = StayingLabs(tmp_path)
    try:
        others.up(others.spec, "--name", "brief")
        client = others.start("exec", "brief", "a", "--", "sh", "-c", "echo up; exec sleep 986")
        assert client.stdout is not None
        assert client.stdout.readline() == "up\n"
        assert others.run("down", "brief").returncode == 0
        _, text = client.communicate(timeout=60)
        assert client.returncode in (1, 128 + signal.SIGTERM, 128 + signal.SIGKILL), text
        others.up(others.spec, "--name", "briefer")
        client = others.start("exec", "briefer", "a", "--", "sh", "-c", "echo up; exec sleep 986")
        assert client.stdout is not None
        assert client.stdout.readline() == "up\n"
        others.kill_holder({"holder": {"pid": others.list()[0]["holder_pid"]}})
        _, text = client.communicate(timeout=60)
        assert client.returncode == 1
        assert "lab briefer has ended" in text or "gone" in text
    finally:
        others.close()


@pytest.fixture
def terminal(labs: StayingLabs, tmp_path: Path) -> Iterator[Terminal]:
    start_file = tmp_path / "rc"
    start_file.write_text(
        f"export NETLAB_RUNTIME_DIR={labs.runtime} NETLAB_STAYING={labs.folder}\nPS1='READY> '\n"
        f'nl() {{ {sys.executable} -P -m netlab lab exec two a -- "$@"; }}\n'
    )
    shell = Terminal(start_file)
    try:
        shell.expect("READY> ")
        yield shell
    finally:
        shell.close()


def test_ctrl_c_reaches_the_command(terminal: Terminal) -> None:
    terminal.type("nl sh -c 'trap \"echo got INT; exit 9\" INT; echo u''p; while :; do sleep 0.01; done'\n")
    terminal.expect("\nup")
    terminal.type("\x03")
    terminal.expect("got INT")
    terminal.expect("READY> ")
    terminal.type("echo status=$?\n")
    terminal.expect("\nstatus=9")


def test_ctrl_z_and_fg(terminal: Terminal) -> None:
    terminal.type("nl sh -c 'echo u''p; exec cat -u'\n")
    terminal.expect("\nup\r\n")
    terminal.type("one\n")
    terminal.expect("one\r\none")
    terminal.type("\x1a")
    terminal.expect("Stopped")
    terminal.expect("READY> ")
    terminal.type("echo in bet''ween\n")
    terminal.expect("in between")
    terminal.expect("READY> ")
    terminal.type("fg\n")
    terminal.expect("lab exec")
    terminal.expect("\n")
    terminal.type("two\n")
    terminal.expect("two\r\ntwo")
    terminal.type("\x04")
    terminal.expect("READY> ")
    terminal.type("echo status=$?\n")
    terminal.expect("\nstatus=0")


def test_a_shell_inside_has_job_control(terminal: Terminal) -> None:
    terminal.type("PS1='INSIDE> ' nl bash --norc --noediting -i\n")
    terminal.expect("\nINSIDE> ")
    terminal.type("sleep 1314\n")
    terminal.expect("sleep 1314")
    wait_until(lambda: _has_started(b"sleep\x001314\x00"))
    terminal.type("\x1a")
    terminal.expect("Stopped")
    terminal.expect("INSIDE> ")
    terminal.type("kill -KILL %1; wait; tty; stty size; exit 4\n")
    terminal.expect("/dev/pts/")
    terminal.expect("READY> ")
    terminal.type("echo status=$?; stty -a | grep -c ' icanon'\n")
    terminal.expect("\nstatus=4\r\n1")


def test_the_size_of_the_window_follows(terminal: Terminal) -> None:
    ioctl(terminal.fd, TIOCSWINSZ, struct.pack("4H", 33, 111, 0, 0))
    terminal.type("nl sh -c 'trap \"stty size\" WINCH; stty size; echo u''p; while :; do sleep 0.01; done'\n")
    terminal.expect("33 111\r\nup")
    ioctl(terminal.fd, TIOCSWINSZ, struct.pack("4H", 44, 122, 0, 0))
    terminal.expect("44 122")
    terminal.type("\x03")
    terminal.expect("READY> ")


def test_in_a_pipeline(terminal: Terminal) -> None:
    terminal.type("nl seq 1 3 | (read a; read b; echo $a.$b)\n")
    terminal.expect("1.2")
    terminal.expect("READY> ")
    terminal.type("echo piped in | nl cat\n")
    terminal.expect("\npiped in")
    terminal.expect("READY> ")


def test_hang_up_ends_it(terminal: Terminal) -> None:
    terminal.type("nl sh -c 'trap \"\" INT; echo my''pid; exec sleep 4243'\n")
    terminal.expect("mypid")
    wait_until(lambda: _has_started(b"sleep\x004243\x00"))
    os.kill(terminal.pid, signal.SIGHUP)
    wait_until(lambda: not _has_started(b"sleep\x004243\x00"))


def _has_started(line: bytes) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == line:
                return True
        except OSError:
            continue
    return False
