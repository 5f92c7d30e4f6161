"""What is said where a library is missing can be typed: in the clone, with its constraints, as the README does."""

from __future__ import annotations

import configparser
import re
import shlex
import sys
from pathlib import Path

import pytest

from netlab.install_hint import install_hint

ROOT = Path(__file__).parents[2]
CODE = [
    path for room in ("netlab", "traces", "namespaces", "envs", "agents") for path in (ROOT / room).rglob("*.py")
]
USED = sorted(
    {extra for path in CODE for extra in re.findall(r'install_hint\("(\w+)"', path.read_text(encoding="utf-8"))}
)


def test_the_command_is_what_the_readme_prints() -> None:
    command = install_hint("rl").partition(f"{sys.executable} -m ")[2]
    assert command == "pip install -c constraints.txt -e '.[rl]'"
    assert f"    {command} " in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("extra", USED)
def test_an_extra_that_is_named_is_one(extra: str) -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert extra in setup["options.extras_require"]


def test_more_packages_stand_beside_the_extra() -> None:
    words = shlex.split(install_hint("rl", "stable-baselines3").partition(": ")[2])
    assert words[-3:] == ["-e", ".[rl]", "stable-baselines3"]
    assert (ROOT / words[words.index("-c") + 1]).is_file()


def test_no_other_way_to_install_an_extra_is_named() -> None:
    """No index has the distribution: netlab is installed from its clone."""
    assert {"capture", "plot", "rl"} <= set(USED)
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    named = [path.name for path in (*CODE, *pages) if re.search(r"netlab-rl\[", path.read_text(encoding="utf-8"))]
    assert not named
