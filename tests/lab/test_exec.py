"""One command in a throw-away host, with and without a terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from orphans import Orphans

from netlab.errors import SpecError
from netlab.lab_exec import run_exec, split_command

# Signals 32 and 33, which it lets nobody set: whoever starts the tests with one ignored hands it to every program.
_C_LIBRARYS_OWN = 0b11 << 31

RUN = """
import sys
from netlab.errors import NetlabError
from netlab.lab_exec import run_exec
peer = sys.argv[1] or None
try:
    sys.exit(run_exec(sys.argv[2:], peer=peer))
except NetlabError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
"""


def _exec(*command: str, peer: str = "", **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUN, peer, *command],
        capture_output=True, text=True, check=False, timeout=60, start_new_session=True, **options,
    )  # type: ignore[call-overload,no-any-return]  # fmt: skip


def test_status_streams_and_environment(tmp_path: Path) -> None:
    done = _exec("sh", "-c", "pwd; cat; echo $NETLAB_PEER >&2; exit 7", input="typed\n", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (7, f"{tmp_path}\ntyped\n", "10.77.0.2\n")


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        (["sh", "-c", "kill -9 $$"], 137, ""),
        (["sh", "-c", "kill -TERM $$"], 143, ""),
        (["nosuch-program"], 127, "cannot start 'nosuch-program' in host here: No such file or directory"),
        (["/etc/passwd"], 126, "Permission denied"),
    ],
)
def test_status_is_as_a_shell_gives_it(command: list[str], status: int, words: str) -> None:
    done = _exec(*command)
    assert done.returncode == status
    assert words in done.stderr


SERVE = "import socket; s=socket.create_server(('', 5000)); c,_=s.accept(); c.sendall(b'from the ' + b'peer')"
ASK = "import os, socket; print(socket.create_connection((os.environ['NETLAB_PEER'], 5000)).recv(100).decode())"


def test_peer_is_ready_before_the_command() -> None:
    for _ in range(3):
        done = _exec(sys.executable, "-c", ASK, peer=f'{sys.executable} -c "{SERVE}"')
        assert (done.returncode, done.stdout, done.stderr) == (0, "from the peer\n", "")


def test_peer_that_dies_is_told_of_and_changes_no_status() -> None:
    done = _exec("sleep", "0.3", peer="sh -c 'echo broken; exit 3'")
    assert done.returncode == 0
    assert "netlab: peer: sh (pid " in done.stderr
    assert "failed (exit code 3); its last lines:\n  broken" in done.stderr


def test_peer_command_line_is_split_without_a_shell() -> None:
    assert split_command("a 'b c' $HOME") == ["a", "b c", "$HOME"]
    for text, words in (("'a", "No closing quotation"), ("  ", "empty")):
        with pytest.raises(SpecError, match=words):
            run_exec(["true"], peer=text)


def test_signals_are_passed_on_without_a_terminal() -> None:
    for number, name in ((signal.SIGINT, "INT"), (signal.SIGTERM, "TERM"), (signal.SIGUSR1, "USR1")):
        script = f"trap 'echo got {name}; exit 5' {name}; echo up; while :; do sleep 0.01; done"
        netlab = subprocess.Popen(
            [sys.executable, "-c", RUN, "", "sh", "-c", script],
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert netlab.stdout is not None
        with netlab.stdout:
            assert netlab.stdout.readline() == "up\n"
            os.killpg(netlab.pid, number)  # as a supervisor does it: netlab alone is in this group
            assert netlab.stdout.read() == f"got {name}\n"
        assert netlab.wait(60) == 5


def test_nohup_reaches_the_command() -> None:
    done = _exec(
        "grep", "SigIgn", "/proc/self/status", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    assert done.stdout.startswith("SigIgn:\t")
    assert int(done.stdout.split()[1], 16) & ~_C_LIBRARYS_OWN == 1 << signal.SIGHUP - 1


class Terminal:
    """A shell with job control on a terminal of its own."""

    def __init__(self, start_file: Path) -> None:
        self._orphans = Orphans()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvp("bash", ["bash", "--rcfile", str(start_file), "--noediting", "-i"])
        self.text = ""

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def expect(self, words: str, within_s: float = 60.0) -> None:
        """Read until the words appear in what was printed since they were last looked for."""
        deadline_s = time.monotonic() + within_s
        while words not in self.text:
            ready, _, _ = select.select([self.fd], [], [], max(0.0, deadline_s - time.monotonic()))
            assert ready, f"{words!r} did not appear in {self.text!r}"
            self.text += os.read(self.fd, 4096).decode(errors="replace")
        self.text = self.text.partition(words)[2]

    def close(self) -> None:
        os.close(self.fd)
        self._orphans.bury()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    program = tmp_path / "run.py"
    program.write_text(RUN)
    start_file = tmp_path / "rc"
    start_file.write_text(f"PS1='READY> '\nnl() {{ {sys.executable} {program} '' \"$@\"; }}\n")
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
    terminal.expect("READY> ")  # what is typed before the prompt is thrown away
    # The shell tells of the stop as soon as netlab has stopped; until cat has, the next line may be its.
    _wait_until(lambda: all(_state(pid) == "T" for pid in _commands(b"cat\x00-u\x00")))
    terminal.type("echo in bet''ween\n")
    terminal.expect("in between")
    terminal.expect("READY> ")
    terminal.type("fg\n")
    terminal.expect("run.py")
    terminal.expect("\n")
    terminal.type("two\n")
    terminal.expect("two\r\ntwo")
    terminal.type("\x04")
    terminal.expect("READY> ")
    terminal.type("echo status=$?\n")
    terminal.expect("\nstatus=0")


def test_a_shell_inside_has_job_control_and_gives_the_terminal_back(terminal: Terminal) -> None:
    terminal.type("PS1='INSIDE> ' nl bash --norc --noediting -i\n")
    terminal.expect("\nINSIDE> ")
    terminal.type("sleep 1313\n")
    _wait_until(lambda: any(_has_terminal(pid) for pid in _commands(b"sleep\x001313\x00")))
    terminal.type("\x1a")
    terminal.expect("Stopped")
    terminal.expect("INSIDE> ")
    terminal.type("kill -KILL %1; wait; tty; exit 4\n")
    terminal.expect("/dev/pts/")
    terminal.expect("READY> ")
    terminal.type("echo outside again\n")
    terminal.expect("\noutside again")


def test_in_a_pipeline(terminal: Terminal) -> None:
    terminal.type("nl seq 1 3 | (read a; read b; echo $a.$b)\n")
    terminal.expect("1.2")
    terminal.expect("READY> ")


def test_hang_up_ends_it(terminal: Terminal) -> None:
    terminal.type("nl sh -c 'trap \"\" INT; echo my''pid $PPID; exec sleep 4242'\n")
    terminal.expect("mypid")
    _wait_until(lambda: _commands(b"sleep\x004242\x00"))
    os.kill(terminal.pid, signal.SIGHUP)
    _wait_until(lambda: not _commands(b"sleep\x004242\x00"))


def _wait_until(is_so: Callable[[], object], within_s: float = 60.0) -> None:
    deadline_s = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline_s, "it did not come to that"
        time.sleep(0.02)


def _has_terminal(pid: str) -> bool:
    """Tell whether a process is in the foreground of its terminal."""
    fields = _fields(pid)
    return bool(fields) and fields[2] == fields[5]


def _state(pid: str) -> str:
    fields = _fields(pid)
    return fields[0] if fields else ""


def _fields(pid: str) -> list[str]:
    """Return what /proc says of a process after its name; nothing where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _commands(line: bytes) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == line:
                found.append(path.parent.name)
        except OSError:
            continue
    return found
