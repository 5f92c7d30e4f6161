"""With a terminal outside there is one inside: isatty, its size, its lines, its keys."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator

import pytest
from guest_driver import Driver, descendants, reap


class Terminal:
    """A terminal of our own with a guest on it."""

    def __init__(self, rows: int, columns: int) -> None:
        self.master, self.slave = os.openpty()
        self.resize(rows, columns)
        self.process: subprocess.Popen[bytes] | None = None
        self.seen = b""

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def start(self, command: list[str], **streams: int) -> None:
        streams = {"stdin": self.slave, "stdout": self.slave, "stderr": self.slave, **streams}

        def take_terminal() -> None:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(  # type: ignore[call-overload]
            command,
            preexec_fn=take_terminal,  # noqa: PLW1509 - no thread of a test holds a lock
            pass_fds=(self.slave,),
            **streams,
        )

    def wait_for(self, text: bytes, timeout_s: float = 30.0) -> None:
        deadline = time.monotonic() + timeout_s
        while text not in self.seen:
            assert time.monotonic() < deadline, f"{text!r} did not come; seen: {self.seen!r}"
            if select.select([self.master], [], [], 0.1)[0]:
                self.seen += os.read(self.master, 4096)

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            below = {self.process.pid, *descendants(self.process.pid)}
            self.process.kill()
            self.process.wait()
            while below & set(descendants(os.getpid())):
                reap(below)
                time.sleep(0.005)
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal(33, 111)
    yield made
    made.close()


def test_a_terminal_with_its_size(driver: Driver, terminal: Terminal) -> None:
    terminal.start(
        driver.command("sh", "-c", "test -t 0 && test -t 1 && test -t 2 && stty size && tty && echo done")
    )
    terminal.wait_for(b"done\r\n")
    assert b"33 111\r\n/dev/pts/" in terminal.seen
    assert b"\r\r\n" not in terminal.seen
    assert terminal.process is not None
    assert terminal.process.wait(30) == 0


def test_a_new_size_reaches_the_command(driver: Driver, terminal: Terminal) -> None:
    script = "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.1; done"
    terminal.start(driver.command("sh", "-c", script))
    terminal.wait_for(b"ready")
    terminal.resize(44, 99)
    terminal.wait_for(b"44 99")


def test_lines_typed_are_read_and_echoed_once(driver: Driver, terminal: Terminal) -> None:
    terminal.start(driver.command("sh", "-c", "echo ready; read line; echo got $line; cat; echo end"))
    terminal.wait_for(b"ready")
    os.write(terminal.master, b"hello\n")
    terminal.wait_for(b"got hello")
    assert terminal.seen.count(b"hello") == 2  # the echo, and what the command says
    os.write(terminal.master, b"\x04")
    terminal.wait_for(b"end")
    assert terminal.process is not None
    assert terminal.process.wait(30) == 0


def test_ctrl_c_is_a_signal_to_the_command(driver: Driver, terminal: Terminal) -> None:
    terminal.start(
        driver.command("sh", "-c", "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.1; done")
    )
    terminal.wait_for(b"ready")
    os.write(terminal.master, b"\x03")
    terminal.wait_for(b"caught")
    assert terminal.process is not None
    assert terminal.process.wait(30) == 5


def test_only_what_is_a_terminal_is_one(driver: Driver, terminal: Terminal) -> None:
    read_end, write_end = os.pipe()
    terminal.start(
        driver.command("sh", "-c", "test -t 0; echo $?; test -t 1; echo $?; test -t 2; echo $?; echo shown >&2"),
        stdout=write_end,
    )
    os.close(write_end)
    terminal.wait_for(b"shown")
    with os.fdopen(read_end, "rb") as pipe:
        assert pipe.read().split() == [b"0", b"1", b"0"]


def test_a_background_job_does_not_touch_the_terminal(driver: Driver, terminal: Terminal) -> None:
    """A guest in the background must not be stopped for reading: it never asked to."""
    inner = driver.command("sh", "-c", "sleep 1; echo finished")
    terminal.start(["sh", "-mc", '"$@" & wait $!; echo status $?', "sh", *inner])
    terminal.wait_for(b"status 0")
    assert b"finished" in terminal.seen
