"""What README and docs name exists."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from netlab.agents.policy import find_policy
from netlab.cli import demo
from netlab.cli.main import main
from netlab.engine_choice import BUILD_HINT
from netlab.envs.cartpole import LIMIT_TICKS
from netlab.envs.registry import make_task
from netlab.traces.horizon import horizon_ticks
from netlab.traces.presets import parse_preset

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


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_demo_prints_the_legend_that_the_readme_shows() -> None:
    rate_hz = make_task("CartPole-v1").description.rate_hz
    legend = demo._LEGEND.format(tick_ms=1e3 / rate_hz)
    assert "".join(f"    {line}\n" for line in legend.splitlines()) in readme()
    assert max(map(len, legend.splitlines())) <= 80


def test_one_figure_says_how_long_a_kernel_takes_to_build() -> None:
    figure = BUILD_HINT.partition("(")[2].partition(")")[0]
    assert figure in readme() and figure in (ROOT / "docs" / "guest.md").read_text(encoding="utf-8")
    told = " ".join(main.get_command(click.Context(main), "guest").commands["build"].help.split())  # type: ignore[union-attr]
    assert figure in told


def test_the_horizons_that_are_named_are_those_that_are_printed() -> None:
    text = " ".join(readme().split())
    tick_ms = 1e3 / make_task("CartPole-v1").description.rate_hz
    ticks = find_policy("cartpole-predictor").horizon_ticks
    assert ticks is not None
    assert f"D is {ticks} ticks, {ticks * tick_ms:g} ms." in text
    missed = f"{ticks / LIMIT_TICKS * 100:g} %"
    assert f"first {ticks} of {LIMIT_TICKS} ticks, for which nothing was decided yet: {missed}" in text
    asked, oneway = (horizon_ticks(parse_preset(f"wifi-degraded{way}"), tick_ms / 1e3) for way in ("", "@oneway"))
    assert f"`netlab profile show` prints it (play-out horizon), {asked} for `wifi-degraded`" in text
    assert oneway <= ticks


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_what_the_readme_makes_in_the_clone_is_no_change_of_it(tmp_path: Path) -> None:
    """And what is shipped is none of that."""
    made = ["robot.key", "pole.safetensors", "mine.safetensors", "tables/calf.md", ".venv/bin/netlab"]
    for name in made[:3]:
        assert name in readme()
    (tmp_path / ".gitignore").write_bytes((ROOT / ".gitignore").read_bytes())
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    shipped = ["agents/shipped/cartpole-predictor-1.safetensors", "netlab/tables/cell.py", "docs/results/calf.md"]
    asked = ["git", "-C", str(tmp_path), "check-ignore", *made, *shipped]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.stdout.split() == made
