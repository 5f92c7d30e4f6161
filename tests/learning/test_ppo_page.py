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
    for _ in range(2):  # the second time it goes on with what is there, and has nothing left to do
        exec(compile(block, "docs/algorithms/ppo.md", "exec"), {})
        assert capsys.readouterr().out.strip() == printed
    (path,) = re.findall(r'"(.*\.safetensors)"', block)
    assert path.endswith(".checkpoint.safetensors") and Path(path).exists()
