"""The example on the page on PPO runs, and prints what stands beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "algorithms" / "ppo.md").read_text()


def test_the_example_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (printed,) = re.findall(r"# prints (.*)\n", block)
    exec(compile(block, "docs/algorithms/ppo.md", "exec"), {})
    assert capsys.readouterr().out.strip() == printed
    assert Path("cartpole.safetensors").exists()
