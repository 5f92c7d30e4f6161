"""What README and docs name exists."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from netlab.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# Commands are written indented or in backquotes, with words in capitals standing for something.
COMMAND = re.compile(r"(?:^ {4}|`|sudo )netlab ([a-z]+)(?: ([a-z]+))?", re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_named_exist(page: Path) -> None:
    for command, subcommand in COMMAND.findall(page.read_text(encoding="utf-8")):
        with click.Context(main) as ctx:
            found = main.get_command(ctx, command)
            assert found is not None, f"{page.name}: netlab {command}"
            if isinstance(found, click.Group) and subcommand:
                assert found.get_command(ctx, subcommand), f"{page.name}: netlab {command} {subcommand}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in re.findall(
        r"`((?:docs|netlab|namespaces|traces|envs|agents|tests|tools|examples)/[\w./-]+)`", text
    ):
        assert (ROOT / name).exists(), f"{page.name} names {name}"
    for name in re.findall(r"`([a-z-]+\.md)`", text):
        assert (ROOT / "docs" / name).exists() or (ROOT / name).exists(), f"{page.name} names {name}"
    assert "@" + "DEMO" + "@" not in text


def test_every_page_of_the_docs_is_named_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name in readme, f"README does not name docs/{page.name}"
