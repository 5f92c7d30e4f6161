"""``netlab train`` where something goes wrong: what was learned is not lost, and what cannot be is said."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from full_disk import full_disk
from test_train_command import MODEL, TINY

from netlab.agents.checkpoint import read_checkpoint
from netlab.agents.policy_file import read_policy
from netlab.agents.trainer import Trainer, TrainingProgress
from netlab.cli.main import main
from netlab.cli.training_progress import TrainingBar
from netlab.errors import LearningError

KEPT = "tiny-1.checkpoint.safetensors"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pytest"])
    Path("tiny.toml").write_text(TINY)
    return tmp_path


def train(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["train", *words])
    return result.exit_code, result.stdout, result.stderr


def watch_with(monkeypatch: pytest.MonkeyPatch, watched) -> None:
    """Have something done after each iteration."""
    watch = TrainingBar.watch

    def both(bar: TrainingBar, progress: TrainingProgress) -> None:
        watch(bar, progress)
        watched(progress)

    monkeypatch.setattr(TrainingBar, "watch", both)


def interrupted(monkeypatch: pytest.MonkeyPatch, *words: str, iteration: int = 2) -> tuple[int, str, str]:
    with monkeypatch.context() as patch:
        watch_with(
            patch, lambda told: os.kill(os.getpid(), signal.SIGINT) if told.iteration == iteration else None
        )
        return train(*words)


def test_an_interrupted_run_becomes_a_policy_as_it_is(folder, monkeypatch):
    status, _, stderr = interrupted(monkeypatch, "tiny.toml")
    assert status == 130 and "with --export it makes a policy of what there is" in stderr
    before = Path(KEPT).read_bytes()
    status, stdout, stderr = train("tiny.toml", "--export", "--json")
    assert status == 0, stderr
    told = json.loads(stdout)
    assert (told["policy"], told["checkpoint"]) == ("tiny-1.safetensors", KEPT)
    assert (told["run"]["stopped_by"], told["run"]["steps"], told["run"]["saved_iterations"]) == ("export", 128, 2)
    policy, saved = read_policy("tiny-1.safetensors"), read_checkpoint(KEPT)
    assert policy.weights.keys() < saved.weights.keys()  # the critic is left behind
    assert all(np.array_equal(one, saved.weights[name]) for name, one in policy.weights.items())
    assert (policy.card.training.steps, policy.card.training.seed) == (128, 1)
    assert policy.card.training.versions["torch"] == saved.card.versions["torch"]
    assert Path(KEPT).read_bytes() == before  # the run may go on
    assert train("tiny.toml", "--resume", "--force")[0] == 0
    assert train("tiny.toml", "-o", "whole.safetensors")[0] == 0
    assert Path("whole.safetensors").read_bytes() == Path("tiny-1.safetensors").read_bytes()


def test_an_export_fits_the_model_that_the_recipe_asks_for_and_needs_no_torch(folder, monkeypatch):
    assert interrupted(monkeypatch, "tiny.toml")[0] == 130
    Path("tiny.toml").write_text(TINY + MODEL)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "torch", None)
        status, stdout, stderr = train("tiny.toml", "--export")
    assert status == 0, stderr
    assert stdout.startswith("tiny-1.safetensors: 128 steps, ")
    assert "1 tick  ahead: position" in stdout and "a model is fitted to 200 ticks" in stderr
    assert read_policy("tiny-1.safetensors").card.predictor == "learned"


def test_of_a_run_that_has_learned_nothing_there_is_no_policy(folder, monkeypatch):
    def interrupt(*words):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("netlab.agents.trainer.PPO.update", interrupt)
        status, _, stderr = train("tiny.toml")
    assert status == 130 and "--export" not in stderr
    status, _, stderr = train("tiny.toml", "--export")
    assert status == 2 and "nothing was learned before the run was saved" in stderr
    assert not Path("tiny-1.safetensors").exists()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (LearningError("the loss is not finite", "a lower learning rate"), "the loss is not finite"),
        (MemoryError(), "not memory enough: it is taken"),
        (
            RuntimeError(
                "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"
            ),
            "not memory enough: you tried to allocate 9 bytes",
        ),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_run_that_fails_before_it_has_learned_anything_leaves_nothing(folder, monkeypatch, error, said):
    def fail(*words):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("netlab.agents.trainer.PPO.update", fail)
        status, _, stderr = train("tiny.toml")
    assert status == 1 and "--export" not in stderr
    assert f"netlab: iteration 1: {said}; nothing was learned, and nothing is saved\nhint: " in stderr
    assert [one.name for one in folder.iterdir()] == ["tiny.toml"]
    assert train("tiny.toml")[0] == 0  # with no word of a run that is saved there


def test_what_no_memory_holds_is_refused_by_its_numbers_before_anything_is_made(folder, monkeypatch):
    monkeypatch.setattr("netlab.training.job.make_environment", lambda *words: pytest.fail("an environment"))
    seen = "[control]\nfeatures = { stack = 64, actions = 256, acknowledgement = 64 }\n"
    size = "environments = 8192\nhorizon_steps = 2048\nreset_every_iterations = 1\n"
    recipe = 'name = "tiny"\nsummary = "-"\ntask = "CartPole-v1"\n'
    Path("tiny.toml").write_text(f"{recipe}{seen}[ppo]\n{size}")
    monkeypatch.setattr("netlab.agents.training_memory.machine_memory", lambda: 64 << 30)
    status, _, stderr = train("tiny.toml")
    assert status == 2
    assert "ppo: iterations of 8192 x 2048 steps, 832 numbers seen in each (104.5 GiB)" in stderr
    assert "and this machine has 64.0" in stderr and "fewer ppo.environments" in stderr
    assert [one.name for one in folder.iterdir()] == ["tiny.toml"]


def test_where_no_run_is_saved_there_is_nothing_to_export(folder):
    status, _, stderr = train("tiny.toml", "--export")
    assert status == 2 and f"{KEPT}: cannot be read" in stderr


def test_a_run_that_diverged_names_the_command_that_makes_a_policy_of_what_is_kept(folder, monkeypatch):
    Path("tiny.toml").write_text(TINY + "checkpoint_every_iterations = 1\n")
    from netlab.agents import trainer

    update, calls = trainer.PPO.update, []

    def diverge(*words):
        calls.append(words)
        if len(calls) == 3:
            raise LearningError("the loss is not finite", "a lower learning rate")
        return update(*words)

    monkeypatch.setattr(sys, "argv", ["netlab", "train", "tiny.toml", "--seed", "1"])
    with monkeypatch.context() as patch:
        patch.setattr(trainer.PPO, "update", diverge)
        status, _, stderr = train("tiny.toml", "--seed", "1")
    assert status == 1 and "is as it was after iteration 2" in stderr
    command = "netlab train tiny.toml --seed 1 --export"
    assert f"hint: a lower learning rate; {command} makes a policy of what is kept" in stderr
    assert train(*command.split()[2:])[0] == 0
    assert read_policy("tiny-1.safetensors").card.training.steps == 128


def test_what_the_policy_reader_says_of_a_checkpoint_names_the_way_out(folder, monkeypatch):
    interrupted(monkeypatch, "tiny.toml")
    done = CliRunner().invoke(main, ["eval", KEPT])
    assert done.exit_code == 2 and "netlab train RECIPE --export" in done.stderr


def test_a_stopped_run_that_could_not_be_saved_is_no_success_and_no_usage_error(folder, monkeypatch):
    room = full_disk()

    def stop(progress):
        if progress.iteration == 1:
            room.__enter__()
            os.kill(os.getpid(), signal.SIGINT)

    try:
        with monkeypatch.context() as patch:
            watch_with(patch, stop)
            status, stdout, stderr = train("tiny.toml", "--json")
    finally:
        room.__exit__(None, None, None)
    assert status == 1
    assert f"cannot write {KEPT}: File too large" in stderr and "hint: make room there" in stderr
    assert f"{KEPT} holds 0 iterations of it" in stderr
    assert json.loads(stdout)["run"]["saved_iterations"] == 0


def test_a_checkpoint_that_another_run_took_costs_neither_run_its_result(folder, monkeypatch):
    assert interrupted(monkeypatch, "tiny.toml", "--seed", "2", "-o", "other.safetensors")[0] == 130
    other = Path("other.checkpoint.safetensors").read_bytes()

    def take(progress):
        if progress.iteration == 1:
            shutil.copyfile("other.checkpoint.safetensors", "taken")
            Path("taken").replace(KEPT)

    watch_with(monkeypatch, take)
    status, _, stderr = train("tiny.toml")
    assert status == 0 and "another run has saved itself there by now" in stderr
    assert Path(KEPT).read_bytes() == other
    assert read_policy("tiny-1.safetensors").card.training.steps == 256
    status, stdout, stderr = train("tiny.toml", "--checkpoint", "named", "-o", "b.safetensors", "--json")
    assert status == 0 and json.loads(stdout)["checkpoint"] == "named"

    def take_named(progress):
        if progress.iteration == 1:
            Path(KEPT).replace("third")

    monkeypatch.undo()
    monkeypatch.chdir(folder)
    watch_with(monkeypatch, take_named)
    status, stdout, stderr = train("tiny.toml", "--checkpoint", "third", "-o", "c.safetensors", "--json")
    assert status == 2  # the checkpoint that was asked for is not there, the policy is
    assert json.loads(stdout)["checkpoint"] == "" and read_policy("c.safetensors")
    assert Path("third").read_bytes() == other


@pytest.mark.parametrize(
    ("change", "words", "said"),
    [
        ("", ("--seed", "2", "--checkpoint", KEPT), "its seed is 1, not 2"),
        ("", ("--steps", "512"), "its ppo.total_steps is 256, not 512"),
        ("", ("--network", "wifi-normal"), "its network is 'wifi-degraded', not 'wifi-normal'"),
        ("learning_rate = 0.5\n", (), "its ppo.learning_rate is 0.001, not 0.5"),
        ("[options]\npush_n = 1.0\n", (), "its options.push_n is not given, not 1.0"),
    ],
    ids=str,
)
@pytest.mark.parametrize("way", ["--resume", "--export"])
def test_another_run_is_told_by_the_first_thing_that_differs(folder, monkeypatch, change, words, said, way):
    interrupted(monkeypatch, "tiny.toml")
    Path("tiny.toml").write_text(TINY + change)
    status, _, stderr = train("tiny.toml", *words, way)
    assert status == 2 and said in stderr
    assert not list(folder.glob("tiny-?.safetensors"))


def test_a_network_whose_file_has_changed_is_another(folder, monkeypatch):
    Path("drawn.toml").write_text('clean_ratio = "20%"\n[each]\ndelay = ["0ms", "100ms"]\n')
    Path("tiny.toml").write_text(TINY.replace("wifi-degraded", "drawn.toml"))
    interrupted(monkeypatch, "tiny.toml")
    Path("same.toml").write_text('name = "drawn"\n' + Path("drawn.toml").read_text())
    assert train("tiny.toml", "--network", "same.toml", "--export")[0] == 0  # the words may change
    Path("drawn.toml").write_text('clean_ratio = "20%"\n[each]\ndelay = ["0ms", "101ms"]\n')
    status, _, stderr = train("tiny.toml", "--resume", "--force")
    assert status == 2 and "its network 'drawn.toml' has changed since" in stderr


def test_a_network_file_is_seen_from_the_folder_of_the_recipe_that_names_it(folder):
    """As a lab's files are; what the command line names is seen from where it is typed."""
    Path("mine").mkdir()
    Path("mine/slow.toml").write_text('[link]\ndelay = "50ms"\n')
    Path("mine/tiny.toml").write_text(TINY.replace("wifi-degraded", "slow.toml"))
    status, _, stderr = train("mine/tiny.toml", "-o", "a.safetensors", "--steps", "64")
    assert status == 0, stderr
    assert read_policy("a.safetensors").card.training.network == "mine/slow.toml"
    status, _, stderr = train("mine/tiny.toml", "--network", "slow.toml")
    assert status == 2 and "slow.toml" in stderr


def test_how_it_is_to_be_played_where_nothing_is_there_is_on_the_card(folder):
    Path("tiny.toml").write_text(TINY + '[play]\nfallback = "hold"\nfeatures = { actions = 2, age = true }\n')
    assert train("tiny.toml", "--steps", "64")[0] == 0
    assert read_policy("tiny-1.safetensors").card.fallback == "hold"


def test_a_run_that_another_program_has_noted_is_not_taken_for_one_of_a_recipe(folder):
    from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

    from netlab.training.recipe import find_recipe

    trainer = Trainer(CartPoleVectorEnv(4), find_recipe("tiny.toml").ppo, note="mine", checkpoint_path=KEPT)
    trainer.run()
    status, _, stderr = train("tiny.toml", "--export")
    assert status == 2 and "does not say which recipe it is a run of: 'mine'" in stderr


@pytest.mark.parametrize("stderr", ["/dev/full", "a closed pipe"])
def test_nobody_to_listen_costs_the_run_nothing(folder, stderr):
    reader, writer = os.pipe()
    os.close(reader)
    taken = os.open(stderr, os.O_WRONLY) if stderr.startswith("/") else writer
    command = [sys.executable, "-m", "netlab", "train", "tiny.toml", "--json"]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=taken)
    for one in {taken, writer}:
        os.close(one)
    assert done.returncode == 0
    assert json.loads(done.stdout)["policy"] == "tiny-1.safetensors"
    assert read_policy("tiny-1.safetensors").card.training.steps == 256


def test_a_second_signal_ends_the_run_at_once_and_what_is_whole_is_saved(folder, monkeypatch):
    monkeypatch.setattr("netlab.cli.training_stop._APART_S", 0.0)

    def twice(progress):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)

    watch_with(monkeypatch, twice)
    status, stdout, stderr = train("tiny.toml", "--json")
    assert status == 130 and stdout == ""
    assert f"{KEPT} holds 1 iterations" in stderr
    assert read_checkpoint(KEPT).card.iteration == 1
