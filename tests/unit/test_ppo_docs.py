"""The page on PPO says what is true: the functions and the curves it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "algorithms" / "ppo.md").read_text()
SOURCES = "\n".join(path.read_text() for path in sorted((ROOT / "agents").glob("*.py")))
NAMED = sorted(set(re.findall(r"`(_?[A-Za-z]+(?:[._][A-Za-z_]+)*)`", PAGE.partition("## What is done")[2])))
DEFINED = set(re.findall(r"(?:class|def) (\w+)", SOURCES))


def test_where_something_is_done_there_is_such_a_thing():
    from netlab.agents.ppo_config import PPOConfig

    found = {name.rpartition(".")[2] for name in NAMED} & DEFINED
    assert {"leave_out_open", "estimate_advantages", "EpisodeBatches", "_policy_loss", "make_network"} <= found
    unknown = {name for name in NAMED if not name.isupper()} - set(PPOConfig.__struct_fields__)
    unknown = {name for name in unknown if name.rpartition(".")[2] not in DEFINED}
    assert unknown == {"nn.LSTM", "report", "warn", "LearningError"}  # torch's, two arguments, of netlab.errors


def test_each_curve_is_on_the_page_and_no_other():
    pytest.importorskip("torch")
    from netlab.agents.ppo import UpdateMetrics

    curves = set(re.findall(r"\| `(\w+/\w+)` \|", PAGE))
    run = {name for name in curves if name.startswith("run/")}
    assert curves - run == {f"update/{name}" for name in UpdateMetrics.__struct_fields__}
    scalars = (ROOT / "agents" / "scalars.py").read_text()
    assert run == set(re.findall(r'"(run/\w+)"', scalars))
