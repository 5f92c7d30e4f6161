"""The line of a long command: rewritten on a terminal, now and then elsewhere."""

from __future__ import annotations

import io
import sys
import time

import pytest

from netlab.cli.progress_line import PLAIN_S, ProgressLine

ERASE = "\r\x1b[K"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now_s)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_on_a_terminal_the_line_is_rewritten_and_gone_at_the_end(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressLine() as line:
        line.say("begins")
        for number in range(3):
            clock.now_s += 1.0
            line.count(f"{number} files")
            line.count("too soon to be shown")
    assert terminal.getvalue() == (
        f"netlab: begins\n{ERASE}netlab: 0 files, 1 s{ERASE}netlab: 1 files, 2 s{ERASE}netlab: 2 files, 3 s{ERASE}"
    )


def test_elsewhere_a_line_now_and_then(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    with ProgressLine() as line:
        for second in range(1, 2 * int(PLAIN_S) + 1):
            clock.now_s += 1.0
            line.count(f"file {second}")
        line.say("done")
    assert log.getvalue().splitlines() == [
        "netlab: file 30, 30 s",
        "netlab: file 60, 60 s",
        "netlab: done",
    ]


def test_an_error_leaves_a_clean_line(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(KeyboardInterrupt), ProgressLine() as line:
        clock.now_s += 1.0
        line.count("half")
        raise KeyboardInterrupt
    assert terminal.getvalue().endswith(f"half, 1 s{ERASE}")
