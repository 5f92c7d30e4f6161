"""The [episode] table: what can be played, and what is refused by its key."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlab.episode.run import EpisodePlan
from netlab.errors import NetlabError, SpecError
from netlab.lab_spec import read_lab_spec

EXAMPLE = Path(__file__).parents[2] / "examples" / "cartpole.toml"
LAB = """
[hosts.edge]
[hosts.agent]
[hosts.other]
[[link]]
ends = ["agent", "edge"]
profile = "wifi-normal"
"""


def write(folder: Path, episode: str, lab: str = LAB) -> Path:
    path = folder / "lab.toml"
    path.write_text(lab + "\n[episode]\n" + episode)
    return path


def test_the_example_can_be_planned() -> None:
    plan = EpisodePlan.of(read_lab_spec(EXAMPLE), str(EXAMPLE))
    assert (plan.seed, plan.outward, plan.link.full_name) == (7, "forward", "edge-agent")
    assert plan.horizon_ticks > 4  # fitted: 160 ms and their spread at 50 Hz


def test_observations_travel_back_where_the_link_begins_at_the_agent(tmp_path: Path) -> None:
    path = write(tmp_path, 'edge = "edge"\nagent = "agent"\nhorizon = 9')
    plan = EpisodePlan.of(read_lab_spec(path), str(path), seed=5)
    assert (plan.outward, plan.horizon_ticks, plan.seed) == ("back", 9, 5)


@pytest.mark.parametrize(
    ("episode", "words"),
    [
        ('edge = "edg"\nagent = "agent"', ("episode.edge", "'edg' is no host")),
        ('edge = "edge"\nagent = "other"', ("episode", "0 links join")),
        ('edge = "edge"', ("episode", "agent")),
        ('edge = "edge"\nagent = "agent"\npolcy = "linear"', ("episode.polcy", "unknown key")),
        ('edge = "edge"\nagent = "agent"\nactuator = "newst"', ("episode.actuator", "'newst'")),
        ('edge = "edge"\nagent = "agent"\nactuator = "newest"\nhorizon = 3', ("episode.horizon", "no horizon")),
        (
            'edge = "edge"\nagent = "agent"\nactuator = "stop-and-wait"\nfallback = "hold"',
            ("episode.fallback", "plays each decision once"),
        ),
        ('edge = "edge"\nagent = "agent"\nhorizon = "adaptable"', ("episode.horizon", "adapt")),
        ('edge = "edge"\nagent = "agent"\nhorizon = 257', ("episode.horizon", "257")),
        ('edge = "edge"\nagent = "edge"', ("episode.agent", "'edge' is the edge as well")),
        ('edge = "edge"\nagent = "agent"\ninference = ""', ("episode.inference", "'' says nothing")),
        ('edge = "edge"\nagent = "agent"\nfallback = "halt"', ("episode.fallback", "one of neutral, hold")),
        ('edge = "edge"\nagent = "agent"\nrate_hz = 0', ("episode.rate_hz", "0")),
        ('edge = "edge"\nagent = "agent"\nepisodes = 0', ("episode.episodes", "0")),
        ('edge = "edge"\nagent = "agent"\ninference = "2 apples"', ("episode.inference", "apples")),
        ('edge = "edge"\nagent = "agent"\ninference = "2h"', ("episode.inference", "must be 0 .. 60")),
    ],
)
def test_what_cannot_be_played_is_refused_by_its_key(tmp_path: Path, episode: str, words: tuple[str, str]) -> None:
    with pytest.raises(SpecError) as refused:
        read_lab_spec(write(tmp_path, episode))
    for word in words:
        assert word in str(refused.value)


def test_a_spec_without_an_episode_has_no_plan(tmp_path: Path) -> None:
    path = tmp_path / "lab.toml"
    path.write_text(LAB)
    with pytest.raises(SpecError, match="no episode"):
        EpisodePlan.of(read_lab_spec(path), str(path))


def test_a_link_that_loses_everything_is_refused(tmp_path: Path) -> None:
    lab = LAB.replace("wifi-normal", "loss=100%")
    path = write(tmp_path, 'edge = "edge"\nagent = "agent"', lab)
    with pytest.raises(NetlabError, match="loses everything"):
        EpisodePlan.of(read_lab_spec(path), str(path))


def test_a_misspelt_choice_is_told_which_was_meant(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as refused:
        read_lab_spec(write(tmp_path, 'edge = "edge"\nagent = "agent"\nactuator = "newst"'))
    assert "must be one of newest, scheduled" in str(refused.value)
    assert refused.value.hint == "did you mean 'newest'?"


@pytest.mark.parametrize(
    ("field", "name", "hint"),
    [("task", "CartPole-v2", "did you mean 'CartPole-v1'?"), ("policy", "linear-predikt", "did you mean")],
)
def test_an_unknown_task_or_policy_is_refused_where_it_stands(
    tmp_path: Path, field: str, name: str, hint: str
) -> None:
    path = write(tmp_path, f'edge = "edge"\nagent = "agent"\n{field} = "{name}"')
    with pytest.raises(SpecError) as refused:
        EpisodePlan.of(read_lab_spec(path), str(path))
    assert str(refused.value) == f"{path}: episode.{field}: no {field} is called '{name}'"
    assert refused.value.hint.startswith(hint)
