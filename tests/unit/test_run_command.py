"""``netlab run`` without a kernel: local, model, and what each mode refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import msgspec
import pytest
from click.testing import CliRunner
from saved_linear import LINK, read_lines, returns, write_linear

from netlab.agents.policy import make_policy
from netlab.cli.main import main
from netlab.control.question import Question
from netlab.envs.cartpole import CartPole
from netlab.envs.episode import episode_seed
from netlab.modes.report import RunReport

EXAMPLE = Path(__file__).parents[2] / "examples" / "cartpole.toml"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "saved.safetensors"
    write_linear(path)
    return path


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["run", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr


def played(*words: object) -> dict[str, Any]:
    status, stdout, stderr = run(*words, "--json")
    assert status == 0, stderr
    return json.loads(stdout)


def plain_gymnasium(policy: str, seed: int) -> list[int]:
    """Return the actions of one episode as Gymnasium plays it."""
    env = gymnasium.make("CartPole-v1")
    decides, _ = make_policy(policy, CartPole().description)
    state, _ = env.reset(seed=seed)
    actions, over = [], False
    while not over:
        actions.append(int(decides.decide(Question.of_state(state))))
        state, _, terminated, truncated, _ = env.step(actions[-1])
        over = terminated or truncated
    return actions


@pytest.mark.parametrize("options", [["--actuator", "newest"], ["--actuator", "stop-and-wait"]])
def test_local_is_plain_gymnasium_tick_by_tick(tmp_path: Path, saved: Path, options: list[str]) -> None:
    ticks = tmp_path / "ticks.jsonl"
    document = played(saved, "--mode", "local", "--episodes", 3, "--seed", 5, "--ticks", ticks, *options)
    lines = read_lines(ticks)
    for episode in range(3):
        expected = plain_gymnasium(str(saved), episode_seed(5, episode))
        assert [line["action"] for line in lines if line["episode"] == episode] == expected
        assert returns(document)[episode] == float(len(expected))
    assert document["run"]["counters"]["played_remote"] == len(lines)


def test_so_it_is_for_a_policy_that_falls(tmp_path: Path) -> None:
    """One that sees the angle alone: each episode has another length, so none of them is a limit."""
    path = tmp_path / "angle.safetensors"
    write_linear(path, actuator="newest", horizon_ticks=None, gains=(0.0, 0.0, 1.0, 0.0))
    document = played(path, "--mode", "local", "--episodes", 5)
    expected = [float(len(plain_gymnasium(str(path), episode_seed(0, episode)))) for episode in range(5)]
    assert returns(document) == expected
    assert len(set(expected)) > 1 and max(expected) < 500.0


def test_scheduled_plays_as_late_as_its_file_says_without_a_network_too(saved: Path, tmp_path: Path) -> None:
    document = played(saved, "--mode", "local")
    counters = document["run"]["counters"]
    assert (counters["missed_neutral"], counters["played_remote"]) == (10, 490)
    assert returns(document) == [500.0]


def test_the_model_plays_what_a_lab_file_says_of_the_same_link(tmp_path: Path) -> None:
    """examples/cartpole.toml: wifi-degraded@oneway, seed 7."""
    report, ticks = tmp_path / "report.json", tmp_path / "ticks.jsonl"
    lab = CliRunner().invoke(main, ["lab", "run", str(EXAMPLE), "--on", "model", "--output", str(report)])
    assert lab.exit_code == 0, lab.stderr
    asked = ["linear-predict", "--mode", "model", "--network", "wifi-degraded@oneway", "--seed", 7]
    document = played(*asked, "--ticks", ticks)
    expected = json.loads(report.read_text())
    assert read_lines(ticks) == expected["ticks"]
    assert document["delivered"] == expected["ways"]
    assert document["run"]["horizon_ticks"] == expected["horizon_ticks"] == 16


def test_documents_of_all_modes_have_the_same_keys(saved: Path) -> None:
    local, model = played(saved, "--mode", "local"), played(saved, "--mode", "model", "--network", LINK)
    assert local.keys() == model.keys() == set(RunReport.__struct_fields__)
    assert (local["mode"], local["engine"], local["clock"]) == ("local", "none", "virtual")
    assert (model["mode"], model["engine"], model["clock"]) == ("model", "model", "virtual")
    assert local["card"] == model["card"] and local["card"]["name"] == local["policy"] == "saved-linear"
    assert local["policy_sha256"] == model["policy_sha256"] and len(local["policy_sha256"]) == 64
    assert (local["asked"], local["delivered"], local["network"]) == ([], [], "")
    assert [way["loss_ratio"] for way in model["asked"]] == [0.02, 0.02]
    assert [way["delay_mean_ms"] for way in model["asked"]] == pytest.approx([8.0, 8.0], abs=0.1)
    assert [way["direction"] for way in model["delivered"]] == ["forward", "back"]
    assert model["delivered"][0]["sent"] == model["run"]["counters"]["ticks"] + 1  # and the goodbye
    for document in (local, model):
        assert document["run"]["deadline_misses"] is None and document["run"]["not_claimable"]


def test_a_document_survives_its_journey_and_two_runs_are_one(tmp_path: Path, saved: Path) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in files:
        status, _, stderr = run(saved, "--mode", "model", "--network", LINK, "--seed", 3, "--output", path)
        assert status == 0, stderr
    assert files[0].read_bytes() == files[1].read_bytes()
    report = msgspec.json.decode(files[0].read_bytes(), type=RunReport)
    assert report.run.returns == [500.0] and report.card is not None and report.seed == 3


def test_a_person_reads_where_it_was_played_and_what_came_of_it(saved: Path) -> None:
    _, local, _ = run(saved, "--mode", "local")
    assert local.splitlines()[:3] == [
        "local: CartPole-v1, policy saved-linear, scheduled D=10, no network",
        "engine none, virtual time, seed 0",
        "return          500.0   (1 episode)",
    ]
    _, model, _ = run("linear-predict", "--mode", "model", "--network", "wifi-normal", "--horizon", "adaptive")
    assert "scheduled adaptive, wifi-normal" in model
    assert "forward " in model and "back    " in model
    _, newest, _ = run("linear", "--mode", "model")
    assert "policy linear, newest, a clean link" in newest


def test_an_option_changes_the_task(saved: Path) -> None:
    pushed = played(saved, "--mode", "local", "--option", "push_n=40")
    assert pushed["options"] == {"push_n": 40.0}
    assert returns(pushed) != [500.0]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--mode", "local", "--network", "wifi-normal"], ("--network", "there is no network", "--mode model")),
        (
            ["--mode", "remote", "--agent", "127.0.0.1:9", "--network", "wifi-normal"],
            ("--network", "a real network", "--mode lab"),
        ),
        (["--mode", "remote"], ("--agent", "netlab agent serve")),
        (["--mode", "model", "--agent", "127.0.0.1:9"], ("--agent", "--mode remote")),
        (["--mode", "local", "--key", "a.key"], ("--key-file", "--mode remote")),
        (["--mode", "local", "--on", "guest"], ("--on guest", "makes no lab", "--mode lab")),
        (["--mode", "model", "--virtual-time"], ("--virtual-time", "--mode lab")),
        (["--mode", "remote", "--agent", "127.0.0.1:9", "--check"], ("--check", "--mode lab")),
        (["--mode", "remote", "--agent", "nowhere"], ("nowhere",)),
        (["--mode", "lab", "--on", "relay", "--virtual-time"], ("--on relay", "virtual time")),
        (["--mode", "modle"], ("modle", "model")),
        ([], ("--mode",)),
        (["--mode", "model", "--output", "/nowhere/at/all.json"], ("--output",)),
        (["--mode", "model", "--ticks", "/nowhere/at/all.jsonl"], ("--ticks",)),
    ],
)
def test_what_a_mode_does_not_take_is_refused_with_what_to_do(words: list[str], expected: tuple[str, ...]) -> None:
    status, stdout, stderr = run("linear", *words)
    assert (status, stdout) == (2, "")
    for word in expected:
        assert word in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize("mode", ["model", "lab"])
@pytest.mark.parametrize("network", ["random", " random", "mine.toml"])
def test_a_distribution_is_called_one_and_where_it_can_be_used_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, network: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text('clean_ratio = "20%"\n[each]\ndelay = ["0ms", "100ms"]\n')
    status, stdout, stderr = run("linear", "--mode", mode, "--network", network)
    assert (status, stdout) == (2, "")
    assert f"{network!r} is a distribution of networks, and run plays one network" in stderr
    assert f"netlab eval POLICY --network {network}" in stderr and "netlab profile list" in stderr


def test_a_file_of_one_network_is_played_and_a_broken_one_named(tmp_path: Path) -> None:
    one, broken = tmp_path / "one.toml", tmp_path / "broken.toml"
    one.write_text('[link]\ndelay = "5ms"\n'), broken.write_text("[link")
    assert run("linear", "--mode", "model", "--network", str(one))[0] == 0
    status, _, stderr = run("linear", "--mode", "model", "--network", str(broken))
    assert status == 2 and "broken.toml" in stderr and "distribution of networks" not in stderr


def test_no_result_overwrites_the_policy_or_another_result(saved: Path, tmp_path: Path) -> None:
    before, one = saved.read_bytes(), tmp_path / "one"
    for words, complaint in (
        (["--output", saved], "--output: "),
        (["--ticks", saved], "--ticks: "),
        (["--output", one, "--ticks", one], "--ticks: "),
    ):
        status, _, stderr = run(saved, "--mode", "local", *words)
        assert (status, complaint in stderr) == (2, True), stderr
    assert saved.read_bytes() == before


def test_a_policy_in_a_lab_file_is_relative_to_it(tmp_path: Path, saved: Path) -> None:
    folder = tmp_path / "lab"
    folder.mkdir()
    saved.rename(folder / saved.name)
    spec = folder / "lab.toml"
    text = EXAMPLE.read_text().replace('"linear-predict"', f'"{saved.name}"').replace("@oneway", "")
    spec.write_text(text + '\nhorizon = "adaptive"\n')
    result = CliRunner().invoke(main, ["lab", "run", str(spec), "--on", "model"])
    assert result.exit_code == 0, result.stderr
    assert f"policy {saved.name}, scheduled adaptive, wifi-degraded\n" in result.stdout
    (folder / saved.name).unlink()
    result = CliRunner().invoke(main, ["lab", "run", str(spec), "--on", "model"])
    assert result.exit_code == 2 and "episode.policy" in result.stderr and str(folder) in result.stderr


def test_seeds_have_64_bits() -> None:
    words = ("linear-predict", "--mode", "model", "--network", "wifi-normal", "--episodes", 2)
    document = played(*words, "--seed", 2**64 - 1)
    assert document["seed"] == 2**64 - 1 and len(document["run"]["episodes"]) == 2
    status, _, stderr = run(*words, "--seed", 2**64)
    assert status == 2 and "'--seed'" in stderr
