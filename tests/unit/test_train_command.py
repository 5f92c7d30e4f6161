"""``netlab train``: a recipe, a run, a policy file."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec import structs

from netlab.agents.model_card import HorizonError
from netlab.agents.policy_file import read_policy
from netlab.agents.ppo import UpdateMetrics
from netlab.agents.trainer import TrainingProgress
from netlab.cli.main import main
from netlab.cli.model_error_text import model_error_lines
from netlab.cli.training_progress import TrainingBar
from netlab.envs.registry import find_task, make_task
from netlab.errors import LearningError
from netlab.install_hint import install_hint
from netlab.training import policy_maker
from netlab.training.recipe import find_recipe

TINY = """
name = "tiny"
summary = "too small to learn anything"
task = "CartPole-v1"
network = "wifi-degraded"

[control]
features = { actions = 2, age = true }

[ppo]
total_steps = 256
environments = 4
horizon_steps = 16
epochs = 1
minibatches = 2
hidden_units = [8]
"""
MODEL = '[model]\ntransitions = 200\n[play]\nactuator = "scheduled"\nhorizon = "adaptive"\n' + (
    "features = { actions = 2, age = true, predicted = true }\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(TINY)
    return tmp_path


def train(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["train", *words])
    return result.exit_code, result.stdout, result.stderr


def files() -> set[str]:
    return {path.name for path in Path().iterdir()}


def test_a_recipe_becomes_a_policy_file(folder):
    status, stdout, stderr = train("tiny.toml", "--seed", "3")
    assert status == 0, stderr
    assert stdout.startswith("tiny-3.safetensors: 256 steps in ")
    assert "tiny, seed 3: 256 steps (100%)" in stderr and "steps/s" in stderr and "mean return" in stderr
    assert files() == {"tiny.toml", "tiny-3.safetensors"}
    card = read_policy("tiny-3.safetensors").card
    assert (card.name, card.summary, card.kind) == ("tiny", "too small to learn anything", "mlp")
    assert (card.training.seed, card.training.steps, card.training.network) == (3, 256, "wifi-degraded")
    assert card.features.actions == 2 and card.features.age
    assert set(card.training.versions) == {"netlab", "numpy", "python", "torch"}


def test_one_seed_gives_one_file_and_another_seed_another(folder):
    digests = []
    for words in (("-o", "a.safetensors"), ("-o", "b.safetensors"), ("-o", "c.safetensors", "--seed", "2")):
        status, stdout, stderr = train("tiny.toml", "--json", *words)
        assert status == 0, stderr
        told = json.loads(stdout)
        data = Path(told["policy"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == told["sha256"]
        digests.append(told["sha256"])
    assert digests[0] == digests[1] != digests[2]


def test_the_card_has_the_command_as_it_was_typed(folder, monkeypatch):
    typed = ["train", "tiny.toml", "--steps", "64", "-o", "my policy.safetensors"]
    monkeypatch.setattr(sys, "argv", ["/somewhere/netlab", *typed])
    assert train(*typed[1:])[0] == 0
    training = read_policy("my policy.safetensors").card.training
    assert training.command == "netlab train tiny.toml --steps 64 -o 'my policy.safetensors'"
    assert training.steps == 64


def test_a_model_is_fitted_and_told(folder):
    Path("tiny.toml").write_text(TINY + MODEL)
    status, stdout, stderr = train("tiny.toml", "--network", "none", "--json")
    assert status == 0, stderr
    told = json.loads(stdout)
    assert told["recipe"]["network"] == "none"
    assert [error["ticks"] for error in told["model_errors"]] == [1, 5, 10, 20]
    file = read_policy("tiny-1.safetensors")
    assert file.card.predictor == "learned" and file.card.features.predicted
    assert (file.card.actuator, file.card.horizon_ticks) == ("scheduled", "adaptive")
    assert file.model.card.rows + file.model.card.held_out_rows == 200
    assert file.model.card.neutral_rows > 0
    shown = train("tiny.toml", "--network", "none", "-o", "b.safetensors")[1]
    (heading,) = [line for line in shown.splitlines() if line.startswith("its model's error")]
    assert "root mean square" in heading
    told_ticks = [error["ticks"] for error in told["model_errors"] if error["windows"]]
    lines = shown.partition(heading + "\n")[2].splitlines()
    assert [int(line.split()[0]) for line in lines] == told_ticks and told_ticks[0] == 1
    assert lines[0].startswith("   1 tick  ahead: ") and lines[1].startswith("   5 ticks ahead: ")
    for line in lines:
        number = r"[\d.e+-]+"
        named = [rf"{name} {number} {unit} \({number}\)" for name, unit in find_task("CartPole-v1").quantities]
        assert re.search(f"ahead: {', '.join(named)}$", line), line


def test_seeds_have_64_bits(folder):
    """The run is saved and goes on with the greatest one, and its policy and model have it on their cards."""
    greatest = 2**64 - 1
    Path("tiny.toml").write_text(TINY + MODEL)
    status, stdout, stderr = train("tiny.toml", "--seed", str(greatest), "--checkpoint", "c.safetensors", "--json")
    assert status == 0, stderr
    assert json.loads(stdout)["seed"] == greatest
    assert read_policy(f"tiny-{greatest}.safetensors").card.training.seed == greatest
    exported = ("--export", "--checkpoint", "c.safetensors", "-o", "again.safetensors")
    assert train("tiny.toml", "--seed", str(greatest), *exported)[0] == 0
    assert read_policy("again.safetensors").card.training.seed == greatest
    assert train("tiny.toml", "--seed", str(greatest + 1))[0] == 2


def test_numbers_of_a_task_that_names_none_are_numbered():
    error = HorizonError(ticks=1, windows=3, rmse=(0.25, 1e-9), still_rmse=(2.0, 3.0))
    _, line = model_error_lines([error, HorizonError(ticks=5, windows=0)])
    assert line == "   1 tick  ahead: number 0 0.25 (2), number 1 1e-09 (3)"
    assert not list(model_error_lines([HorizonError(ticks=5, windows=0)]))
    assert len(find_task("CartPole-v1").quantities) == make_task("CartPole-v1").description.observation.shape[0]


@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_saves_the_run_and_it_goes_on_to_the_same_file(folder, monkeypatch, name, status):
    assert train("tiny.toml", "-o", "whole.safetensors")[0] == 0
    watch = TrainingBar.watch

    def interrupt(bar: TrainingBar, progress: TrainingProgress) -> None:
        watch(bar, progress)
        os.kill(os.getpid(), signal.Signals[name])

    monkeypatch.setattr(TrainingBar, "watch", interrupt)
    ended, stdout, stderr = train("tiny.toml", "-o", "parts.safetensors", "--json")
    assert ended == status
    assert "stopped after 64 steps; the run is saved in parts.checkpoint.safetensors" in stderr
    told = json.loads(stdout)
    assert (told["policy"], told["checkpoint"]) == ("", "parts.checkpoint.safetensors")
    assert told["run"]["stopped_by"] == name
    assert "parts.safetensors" not in files()
    monkeypatch.setattr(TrainingBar, "watch", watch)
    ended, _, stderr = train("tiny.toml", "-o", "parts.safetensors")
    assert ended == 2 and "a run is saved there already" in stderr and "--resume" in stderr
    ended, _, stderr = train("tiny.toml", "-o", "parts.safetensors", "--resume", "--network", "wifi-normal")
    assert ended == 2 and "is of another recipe" in stderr
    assert train("tiny.toml", "-o", "parts.safetensors", "--resume")[0] == 0
    assert Path("parts.safetensors").read_bytes() == Path("whole.safetensors").read_bytes()
    assert "parts.checkpoint.safetensors" not in files()


def test_what_could_not_be_made_after_the_training_is_refused_before_it(folder, monkeypatch):
    """A file that has room for a thousand weights: one of 64 MiB would take long to fill."""
    monkeypatch.setattr(policy_maker, "MAX_BYTES", policy_maker._CARD_BYTES + 4_000)
    Path("wide.toml").write_text(TINY.replace("[8]", "[64, 64]"))
    status, _, stderr = train("wide.toml")
    assert status == 2 and "a policy file has room for" in stderr
    Path("few.toml").write_text(TINY + MODEL.replace("200", "209\ndegree = 3"))
    status, _, stderr = train("few.toml")
    assert status == 2 and "model.transitions: 209: 84 terms of degree 3 need at least 210" in stderr
    assert files() == {"tiny.toml", "wide.toml", "few.toml"}


def test_a_checkpoint_outlives_a_change_of_what_is_done_after_the_training(folder):
    """The weights of a run are not lost when its model, or how it is to be played, turns out to be wrong."""
    assert train("tiny.toml", "--checkpoint", "run.safetensors")[0] == 0
    Path("tiny.toml").write_text(TINY + MODEL)
    status, _, stderr = train("tiny.toml", "-o", "b.safetensors", "--checkpoint", "run.safetensors", "--resume")
    assert status == 0, stderr
    first, second = (read_policy(name) for name in ("tiny-1.safetensors", "b.safetensors"))
    assert first.model is None and second.model is not None
    assert all(np.array_equal(first.weights[name], second.weights[name]) for name in first.weights)


def test_the_card_has_the_command_that_makes_the_same_again(folder, monkeypatch):
    typed = ["tiny.toml", "--checkpoint", "run.safetensors"]
    found = []
    for words in (typed, [*typed, "--resume", "--force"]):
        monkeypatch.setattr(sys, "argv", ["netlab", "train", *words])
        assert train(*words)[0] == 0
        found.append(Path("tiny-1.safetensors").read_bytes())
    assert read_policy("tiny-1.safetensors").card.training.command == (
        "netlab train tiny.toml --checkpoint run.safetensors"
    )
    assert found[0] == found[1]


@pytest.mark.parametrize("way", [[], ["--resume"], ["--export"]])
def test_a_policy_that_is_there_is_replaced_only_where_that_is_said(folder, monkeypatch, way):
    """Before the training: nobody waits an hour for a refusal, or loses the policy of another one."""
    Path("tiny-1.safetensors").write_bytes(b"somebody's")
    if way:
        assert train("tiny.toml", "-o", "b.safetensors", "--checkpoint", "run.safetensors")[0] == 0
        way = [*way, "--checkpoint", "run.safetensors"]
    with monkeypatch.context() as patch:
        patch.setattr("netlab.cli.train._train", lambda *words: pytest.fail("trained"))
        status, _, stderr = train("tiny.toml", *way)
    assert status == 2 and "tiny-1.safetensors: --output: a policy is there already" in stderr
    assert "--force" in stderr and "-o" in stderr
    assert Path("tiny-1.safetensors").read_bytes() == b"somebody's"
    status, _, stderr = train("tiny.toml", *way, "--force")
    assert status == 0, stderr
    assert read_policy("tiny-1.safetensors").card.name == "tiny"


def test_steps_are_told_as_they_will_be(folder):
    _, _, stderr = train("tiny.toml", "--steps", "65", "-o", "a.safetensors")
    assert "65 steps: rounded up to whole rollouts of 64, 128 steps" in stderr
    _, _, stderr = train("tiny.toml", "--steps", "128", "-o", "b.safetensors")
    assert "rounded" not in stderr
    assert "whole rollouts" in train("--help")[1]


def test_the_example_makes_a_recipe_of_another_name(folder):
    """Else what is trained from it takes the name, and the file, of what netlab ships."""
    line = next(line for line in train("--help")[1].splitlines() if "--show" in line and ">" in line)
    words = line.strip().partition(" | ")[2]
    shown = train("--show", "cartpole-predictor")[1]
    done = subprocess.run(["sh", "-c", words], input=shown, text=True, check=True)
    assert done.returncode == 0
    mine, shipped = find_recipe("mine.toml"), find_recipe("cartpole-predictor")
    assert mine.name == "mine" and structs.replace(mine, name=shipped.name) == shipped


def test_a_named_checkpoint_is_kept(folder):
    status, stdout, _ = train("tiny.toml", "--checkpoint", "run.safetensors", "--json")
    assert status == 0
    assert json.loads(stdout)["checkpoint"] == "run.safetensors"
    assert files() == {"tiny.toml", "tiny-1.safetensors", "run.safetensors"}
    status, _, stderr = train("tiny.toml", "--checkpoint", "tiny-1.safetensors")
    assert status == 2 and "--output already" in stderr


def test_a_run_that_diverges_says_what_is_kept(folder, monkeypatch):
    Path("tiny.toml").write_text(TINY + "checkpoint_every_iterations = 1\n")
    from netlab.agents import trainer

    update, calls = trainer.PPO.update, []

    def diverge(ppo, rollout, rng, rate):
        calls.append(rate)
        if len(calls) == 3:
            raise LearningError("the loss is not finite", "a lower learning rate")
        return update(ppo, rollout, rng, rate)

    monkeypatch.setattr(trainer.PPO, "update", diverge)
    status, _, stderr = train("tiny.toml")
    assert status == 1
    assert "iteration 3: the loss is not finite" in stderr
    assert "tiny-1.checkpoint.safetensors is as it was after iteration 2" in stderr
    assert "hint: a lower learning rate" in stderr
    assert files() == {"tiny.toml", "tiny-1.checkpoint.safetensors"}
    monkeypatch.setattr(trainer.PPO, "update", update)
    assert train("tiny.toml", "--resume")[0] == 0


def test_a_terminal_sees_a_bar_and_no_lines(folder, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    status, _, stderr = train("tiny.toml")
    assert status == 0
    assert "100%" in stderr and "steps/s" in stderr
    assert "netlab: tiny, seed 1" not in stderr


def test_elsewhere_a_line_comes_every_few_seconds_and_at_the_end(monkeypatch, capsys):
    from netlab.cli import training_progress

    now_s = [100.0]
    monkeypatch.setattr(training_progress.time, "monotonic", lambda: now_s[0])
    bar = TrainingBar("tiny, seed 1")
    metrics = UpdateMetrics(**dict.fromkeys(UpdateMetrics.__struct_fields__, 0.0))
    for iteration in range(1, 13):
        now_s[0] += 1.0
        bar.watch(
            TrainingProgress(
                iteration=iteration,
                iterations=12,
                steps=64 * iteration,
                rate_hz=64.0,
                left_s=75.0,
                episodes=iteration - 1,
                mean_return=None if iteration < 6 else 20.5,
                metrics=metrics,
            )
        )
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "netlab: tiny, seed 1: 320 steps (42%), 64 steps/s, 1:15 left, no episode yet",
        "netlab: tiny, seed 1: 640 steps (83%), 64 steps/s, 1:15 left, mean return 20.5",
        "netlab: tiny, seed 1: 768 steps (100%), 64 steps/s, 1:15 left, mean return 20.5",
    ]


def test_curves_are_written(folder):
    pytest.importorskip("tensorboard")
    assert train("tiny.toml", "--tensorboard", "curves")[0] == 0
    assert any(path.name.startswith("events.") for path in Path("curves").iterdir())


def test_recipes_are_listed_and_shown():
    status, stdout, _ = train("--list")
    assert status == 0 and "cartpole-predictor" in stdout
    names = [one["name"] for one in json.loads(train("--list", "--json")[1])]
    assert names == sorted(names) and "doorkey-aware" in names
    status, stdout, _ = train("--show", "cartpole-paper")
    assert status == 0 and 'name = "cartpole-paper"' in stdout
    assert json.loads(train("--show", "cartpole-paper", "--json")[1])["ppo"]["clip_ratio"] == 0.2


def test_what_is_shown_is_a_recipe_again(folder):
    Path("mine.toml").write_text(train("--show", "cartpole-scheduled")[1])
    shown = train("--show", "mine.toml", "--json")[1]
    assert shown == train("--show", "cartpole-scheduled", "--json")[1]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ((), 2, "--list"),
        (("cartpole-pradictor",), 2, "did you mean 'cartpole-predictor'?"),
        (("none.toml",), 2, "cannot be read"),
        (("tiny.toml", "-o", "a.pt"), 2, "must end in .safetensors"),
        (("tiny.toml", "-o", "nowhere/a.safetensors"), 2, "cannot write nowhere/a.safetensors"),
        (("tiny.toml", "--network", "wifi"), 2, "unknown network"),
        (("tiny.toml", "--resume"), 2, "cannot be read"),
        (("tiny.toml", "--steps", "0"), 2, "--steps"),
        (("--show", "x"), 2, "no recipe is called 'x'"),
    ],
    ids=str,
)
def test_what_cannot_be_trained_is_said_before_the_work(folder, words, status, said):
    ended, stdout, stderr = train(*words)
    assert ended == status and said in stderr
    assert not stdout
    assert files() == {"tiny.toml"}


def test_without_torch_the_hint_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    status, _, stderr = train("tiny.toml")
    assert status == 1
    assert "cannot train: torch is not installed" in stderr
    assert install_hint("rl") in stderr
    assert files() == {"tiny.toml"}


def test_a_model_of_what_is_no_number_is_refused_before_the_training(folder):
    Path("grid.toml").write_text('name = "g"\nsummary = "g"\ntask = "MiniGrid-DoorKey-8x8-v0"\n[model]\n')
    status, _, stderr = train("grid.toml")
    assert status == 2 and "a model is of floats" in stderr
    assert "g-1.checkpoint.safetensors" not in files()


def test_the_policy_is_what_was_learned(folder):
    """The weights move: two lengths of one run differ, and so does what they decide for some of 100 states."""
    for steps in ("64", "256"):
        assert train("tiny.toml", "--steps", steps, "-o", f"{steps}.safetensors")[0] == 0
    one, other = (read_policy(f"{steps}.safetensors").weights for steps in ("64", "256"))
    assert all(not np.array_equal(one[name], other[name]) for name in one)
