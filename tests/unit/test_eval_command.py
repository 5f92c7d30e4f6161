"""``netlab eval``: scores on networks, for people and for machines."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from policy_files import linear_file, with_card
from scored_policies import DOORKEY, lstm

from netlab.agents.policy_file import write_policy
from netlab.agents.ppo_config import GridLayout
from netlab.agents.shipped_policies import shipped_path
from netlab.cli.main import main
from netlab.control.feature_spec import FeatureSpec
from netlab.envs.registry import make_vector_task
from netlab.scoring.scorer import Overrides, score


def evaluate(*words: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["eval", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "best.safetensors"
    card = {"actuator": "scheduled", "horizon_ticks": 10, "predictor": "cartpole-physics"}
    write_policy(with_card(linear_file(), **card), path)
    return path


def test_a_table_has_a_row_a_network(policy, tmp_path):
    drawn = tmp_path / "d.toml"
    drawn.write_text('clean_ratio = "50%"\n[[choice]]\nnetwork = "wifi-normal"\n')
    networks = [word for network in ("none", "wifi-degraded", drawn) for word in ("--network", network)]
    status, stdout, stderr = evaluate(policy, "--episodes", 5, *networks)
    assert status == 0, stderr
    assert "linear-file: CartPole-v1 scheduled D=10, neutral; 5 episodes a network" in " ".join(stdout.split())
    rows = {line.split()[0]: line.split() for line in stdout.splitlines() if line.strip()}
    assert rows["none"][1:4] == ["500.0±0.0", "500.0", "-"]
    assert rows["wifi-degraded"][1:4] == ["500.0±0.0", "500.0", "0.0%"]
    assert "80±40" in rows["wifi-degraded"] and "82±38" in rows["wifi-degraded"] and "10%" in rows["wifi-degraded"]
    assert [line.split() for line in stdout.splitlines() if "500.0±0.0" in line][2][-4:-1] == ["-", "-", "-"]
    assert "clipped" in stdout  # what the profile warns of


def test_json_and_the_file_are_the_scores_of_the_library(policy, tmp_path):
    output = tmp_path / "scores.json"
    words = ("--network", "none", "--network", "wifi-degraded@oneway", "--episodes", 4, "--seed", 3)
    status, stdout, _ = evaluate(
        policy, *words, "--horizon", 14, "--option", "push_n=6", "--json", "--output", output
    )
    assert status == 0
    document = json.loads(stdout)
    assert json.loads(output.read_text()) == document
    assert [one["network"] for one in document["scores"]] == ["none", "wifi-degraded@oneway"]
    for one in document["scores"]:
        told = score(
            policy, one["network"], episodes=4, seed=3, overrides=Overrides(horizon=14), options={"push_n": 6}
        )
        assert one["returns"] == list(told.returns) and one["seeds"] == [3, 4, 5, 6]
        assert one["control"]["horizon"] == 14 and one["task_options"] == {"push_n": 6}
        assert one["clock"] == "model" and one["standard_error"] == told.standard_error


def test_what_is_asked_of_the_play_is_what_is_played(policy):
    words = ("--network", "wifi-degraded", "--episodes", 3, "--json")
    for more, expected in (
        ((), ("scheduled", 10, "neutral")),
        (("--horizon", "adaptive"), ("scheduled", "adaptive", "neutral")),
        (("--actuator", "newest", "--fallback", "hold"), ("newest", None, "hold")),
        (("--actuator", "stop-and-wait"), ("stop-and-wait", None, "neutral")),
    ):
        status, stdout, stderr = evaluate(policy, *words, *more)
        assert status == 0, stderr
        control = json.loads(stdout)["scores"][0]["control"]
        assert (control["actuator"], control["horizon"], control["fallback"]) == expected


def test_a_horizon_that_is_one_for_all_is_in_the_title(policy):
    networks = ("--network", "wifi-normal", "--network", "wifi-degraded")
    _, stdout, _ = evaluate(policy, "--episodes", 1, *networks)
    assert "scheduled D=10, neutral" in stdout
    (heading,) = [line.split() for line in stdout.splitlines() if line.startswith(" network")]
    assert heading[1] == "return"


def test_a_horizon_that_is_fitted_to_each_network_has_a_column():
    networks = ("--network", "wifi-normal", "--network", "wifi-degraded")
    status, stdout, stderr = evaluate("linear-predict", "--episodes", 1, *networks)
    assert status == 0, stderr
    assert "scheduled D, neutral" in stdout and "decided D ticks ahead" in stdout
    rows = {line.split()[0]: line.split() for line in stdout.splitlines() if line.strip()}
    assert rows["network"][1:3] == ["D", "return"]
    assert (rows["wifi-normal"][1], rows["wifi-degraded"][1]) == ("4", "10")
    assert max(map(len, stdout.splitlines())) <= 80


def test_a_shipped_policy_is_played_in_rows_as_a_file_is():
    """By its name, and by the name with another seed: 300 episodes in two chunks of rows."""
    words = ("--network", "wifi-degraded@oneway", "--episodes", 300, "--json")
    told = [
        json.loads(evaluate(name, *words)[1])["scores"][0] for name in ("cartpole-baseline", "cartpole-baseline-2")
    ]
    assert [one["policy"] for one in told] == ["cartpole-baseline", "cartpole-baseline-2"]
    assert [one["card"]["training"]["seed"] for one in told] == [1, 2]
    for one in told:
        path = shipped_path(one["policy"])
        assert one["returns"] == list(score(path, "wifi-degraded@oneway", episodes=300).returns)
        assert one["policy_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_usual_networks_are_gone_through_unless_others_are_named():
    status, stdout, _ = evaluate("linear", "--episodes", 1, "--json")
    assert status == 0
    asked = [one["network"] for one in json.loads(stdout)["scores"]]
    assert asked == ["none", "ethernet-clean", "wifi-normal", "wifi-degraded"]


def test_the_greatest_seed_is_one_for_any_number_of_episodes():
    words = ("--network", "wifi-normal", "--episodes", 3, "--seed", 2**64 - 1, "--json")
    status, stdout, stderr = evaluate("linear", *words)
    assert status == 0, stderr
    assert json.loads(stdout)["scores"][0]["seeds"] == [2**64 - 1, 0, 1]


def test_success_is_told_of_a_task_with_a_goal(tmp_path):
    file = lstm(make_vector_task(DOORKEY, 1).description, FeatureSpec(), GridLayout(), choose="sampled")
    path = tmp_path / "key.safetensors"
    write_policy(file, path)
    words = ("--network", "none", "--episodes", 2, "--option", "limit_ticks=20")
    status, stdout, stderr = evaluate(path, *words)
    assert status == 0, stderr
    assert "success" in stdout and "limit_ticks 20" in stdout
    assert "newest, neutral; 2 episodes a network" in " ".join(stdout.split())


def test_a_long_name_stays_on_its_line_beside_all_columns():
    words = ("doorkey-baseline", "--episodes", 2, "--option", "limit_ticks=20")
    status, stdout, stderr = evaluate(*words, "--network", "none", "--network", "wifi-degraded@oneway")
    assert status == 0, stderr
    (row,) = [line.split() for line in stdout.splitlines() if "wifi-degraded" in line]
    assert row[0] == "wifi-degraded@oneway" and "160±57" in row
    assert max(len(line.rstrip()) for line in stdout.splitlines()) <= 80


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), ("scheduled: ", "neutral: ")),
        (("--actuator", "newest", "--fallback", "hold"), ("newest: ", "hold: ")),
        (("--actuator", "planned"), ("planned: ", "neutral: ")),
        (("--actuator", "stop-and-wait"), ("stop-and-wait: ", "neutral: ")),
    ],
    ids=str,
)
def test_what_the_words_of_the_title_mean_is_said_below(policy, words, told):
    status, stdout, stderr = evaluate(policy, "--network", "none", "--episodes", 1, *words)
    assert status == 0, stderr
    legend = stdout.partition("return: ")[2].splitlines()
    assert tuple(line.partition(": ")[0] + ": " for line in legend[3:5]) == told
    assert "1 episode a network" in " ".join(stdout.split())


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("linea",), 2, "did you mean 'linear'?"),
        (("none.safetensors",), 2, "cannot be read"),
        (("linear", "--network", "wifi-degrade"), 2, "did you mean 'wifi-degraded'?"),
        (("linear", "--network", "none.toml"), 2, "cannot be read"),
        (("linear", "--horizon", "soon"), 2, "Or adaptive: the agent chooses."),
        (("linear", "--horizon", "0"), 2, "horizon"),
        (("linear", "--horizon", "4"), 2, "has no horizon"),
        (("linear", "--option", "push_n"), 2, "is no NAME=NUMBER"),
        (("linear", "--option", "push=3"), 2, "did you mean 'push_n'?"),
        (("linear", "--option", "push_n=nan"), 2, "push_n"),
        (("linear", "--actuator", "stop-and-wait", "--fallback", "hold"), 2, "plays each decision once"),
        (("linear", "--output", "/nowhere/a.json"), 2, "cannot write /nowhere/a.json"),
        (("linear", "--episodes", "0"), 2, "--episodes"),
        (("linear", "--seed", 2**64), 2, "'--seed'"),
    ],
    ids=str,
)
def test_what_cannot_be_scored_is_said(words, status, said):
    ended, stdout, stderr = evaluate(*words)
    assert ended == status, stderr
    assert said in stderr
    assert not stdout


def test_a_file_that_is_no_policy_is_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    path.write_bytes(b"\x08\0\0\0\0\0\0\0{}      ")
    status, _, stderr = evaluate(path)
    assert status == 2 and "is not a policy file" in stderr and "hint: netlab train writes policy files" in stderr
