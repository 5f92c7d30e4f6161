"""What a netlab command that has failed said, taken apart again."""

from __future__ import annotations

import subprocess
import sys

import pytest

from netlab.cli.command import echo_error
from netlab.errors import LabError, NetlabError
from netlab.told_error import ToldError, told_error


@pytest.mark.parametrize(
    "error",
    [
        NetlabError("cannot do this: why", "do that"),
        NetlabError("cannot do this: why"),
        NetlabError("two\nlines", "and\ntwo more"),
        LabError("agent died", 1, "its first\nits last", hint="look at it"),
    ],
    ids=str,
)
def test_an_error_comes_back_as_it_was(error: NetlabError, capsys: pytest.CaptureFixture[str]) -> None:
    echo_error(error)
    said = "netlab: in guest kernel 7.2, as asked\n" + capsys.readouterr().err
    assert told_error(said.encode()) == ToldError(error.message, error.hint)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("", "it said nothing"),
        ("netlab: playing\nTraceback (most recent call last):\n  File x\nValueError: no\n", "ValueError: no"),
        ("Usage: netlab run\n\nError: No such option: --x\n", "Error: No such option: --x"),
        ("\xff", "\ufffd"),
    ],
)
def test_what_is_no_error_of_netlabs_is_told_by_its_last_line(said: str, message: str) -> None:
    assert told_error(said.encode("latin-1")) == ToldError(message)


def test_a_command_that_fails_is_told_by_its_error_and_not_by_its_hint() -> None:
    words = [sys.executable, "-P", "-m", "netlab", "run", "linear", "--network", "wifi-norml", "--mode", "model"]
    done = subprocess.run(words, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    told = told_error(done.stderr)
    assert done.returncode == 2
    assert "wifi-norml" in told.message and "hint" not in told.message and told.hint
