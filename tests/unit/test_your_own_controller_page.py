"""The page on controllers of one's own: what it prints runs, and prints what stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from netlab.agents.checkpoint import read_checkpoint
from netlab.agents.policy_export import export_policy
from netlab.agents.policy_file import read_policy
from netlab.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "your-own-controller.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
FUNCTION, TRAINED = (next(one for one in BLOCKS if word in one) for word in ("def controller", "Trainer("))


def run(words: str) -> tuple[int, str, str]:
    name, *rest = shlex.split(words)
    assert name == "netlab"
    done = CliRunner().invoke(main, rest)
    return done.exit_code, done.stdout, done.stderr


def test_a_function_is_scored_as_shown(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(FUNCTION, "docs/your-own-controller.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 9
    assert printed == re.findall(r"^    ((?:None|wifi-\w+) +(?:newest|scheduled).*)$", PAGE, re.MULTILINE)


def test_a_trainers_weights_become_a_policy_and_its_checkpoint_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    exec(compile(TRAINED, "docs/your-own-controller.md", "exec"), {})
    (scored,) = re.findall(r"^    (netlab eval own\.safetensors .*)$", PAGE, re.MULTILINE)
    status, stdout, stderr = run(scored)
    assert status == 0, stderr
    assert "wifi-normal" in stdout
    status, _, stderr = run("netlab eval own.checkpoint.safetensors")
    assert status == 2 and "is a training run's checkpoint, not a policy file" in stderr
    card = read_policy("own.safetensors").card
    again = export_policy(card, read_checkpoint("own.checkpoint.safetensors").weights)
    assert {name: one.tobytes() for name, one in again.weights.items()} == {
        name: one.tobytes() for name, one in read_policy("own.safetensors").weights.items()
    }


def test_the_recipe_does_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    (text,) = re.findall(r"```toml\n# own.toml\n(.*?)```", PAGE, re.DOTALL)
    Path("own.toml").write_text(text)
    lines = re.findall(r"^    (netlab (?:train own\.toml|eval own-1\.safetensors).*)$", PAGE, re.MULTILINE)
    assert len(lines) == 2
    for line in lines:
        status, _, stderr = run(line)
        assert status == 0, stderr
