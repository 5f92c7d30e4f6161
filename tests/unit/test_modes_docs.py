"""The page on modes says what is true: what it prints is printed, what it names exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from netlab.cli.main import main
from netlab.cli.run import run
from netlab.modes.report import RunReport

PAGE = (Path(__file__).parents[2] / "docs" / "modes.md").read_text()
COMMANDS = [shlex.split(line) for line in re.findall(r"^    netlab (run .*)$", PAGE, re.M)]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_each_command_is_one_that_can_be_typed(words: list[str]) -> None:
    run.make_context("run", words[1:])


def test_the_page_shows_every_mode() -> None:
    assert [words[2] for words in COMMANDS] == ["local", "model", "lab", "remote"]
    (modes,) = [param.type for param in run.params if param.name == "mode"]
    assert isinstance(modes, click.Choice)
    assert list(modes.choices) == re.findall(r"^\| `(\w+)` \| (?:one|two|the environment)", PAGE, re.M)


@pytest.mark.parametrize("words", [words for words in COMMANDS if words[2] in ("local", "model")], ids=" ".join)
def test_what_needs_no_kernel_runs(words: list[str]) -> None:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(f"{words[2]}: CartPole-v1, policy linear-predict, scheduled ")


def test_the_model_prints_what_the_page_shows() -> None:
    (words,) = [words for words in COMMANDS if words[2] == "model"]
    shown = PAGE.partition("prints\n\n")[2].partition("\n\n")[0]
    assert CliRunner().invoke(main, words).stdout.splitlines() == [line.strip() for line in shown.splitlines()]


@pytest.mark.parametrize("name", RunReport.__struct_fields__)
def test_every_key_of_the_document_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE
