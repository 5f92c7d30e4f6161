"""``netlab guest run`` refuses what no guest can have as a usage error, before anything is started."""

from __future__ import annotations

import errno

import pytest
from click.testing import CliRunner

from netlab.cli.main import main
from netlab.namespaces.guest.outcome import cannot_start


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--timeout", "0"), ("--timeout", "-1s"),
        ("--memory", "0"), ("--memory", "1MiB"), ("--memory", "-1MiB"),
        ("--cpu", "4095"), ("--writable", "/"), ("--writable", "/tmp/.."),
    ],
)  # fmt: skip
def test_an_impossible_option_is_a_usage_error(option: str, value: str) -> None:
    result = CliRunner().invoke(main, ["guest", "run", option, value, "--", "true"])
    assert result.exit_code == 2, result.output
    assert f"Invalid value for {option}" in result.output


def test_an_empty_program_is_a_usage_error() -> None:
    result = CliRunner().invoke(main, ["guest", "run", "--", ""])
    assert result.exit_code == 2
    assert "name is empty" in result.output


def test_a_refused_call_becomes_an_error_with_what_to_do() -> None:
    assert "ulimit -n" in cannot_start(OSError(errno.EMFILE, "Too many open files")).hint
    error = cannot_start(FileNotFoundError(errno.ENOENT, "No such file or directory", "/proc/stat"))
    assert "/proc/stat" in error.message
    assert "/proc" in error.hint
