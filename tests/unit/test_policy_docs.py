"""The page on policy files says what is true: its example runs, and what it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from netlab.agents.policy import make_policy
from netlab.agents.policy_card import PolicyCard, Training
from netlab.agents.policy_file import read_policy
from netlab.agents.transitions import read_transitions
from netlab.envs.registry import make_task

PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text()


def test_the_example_makes_a_policy_that_can_be_served(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "docs/policies.md", "exec"), {})
    printed = [line for line in capsys.readouterr().out.splitlines() if "ticks: angle off by" in line]
    assert [line.split()[0] for line in printed] == ["1", "5", "10", "20"]
    make_policy("best.safetensors", make_task("CartPole-v1").description)
    assert len(read_transitions("cartpole-transitions.safetensors")) == 2000
    card = read_policy("best.safetensors").card
    assert card.model is not None
    assert card.model.neutral_rows > 100
    assert card.model.errors[2].rmse[2] < 1e-3


@pytest.mark.parametrize(
    "name", [name for name in PolicyCard.__struct_fields__ if name not in ("format", "name", "summary", "kind")]
)
def test_every_field_of_the_card_is_on_the_page(name):
    assert re.search(rf"`{name}`|`{name}:|`{name}\.|{name}\.\*", PAGE), name


@pytest.mark.parametrize("name", Training.__struct_fields__)
def test_what_made_a_policy_is_on_the_page(name):
    assert name in PAGE
