"""CheckpointFile: the file of one run, and of no other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from full_disk import full_disk
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from msgspec import structs

from netlab.agents.checkpoint import Checkpoint, read_checkpoint
from netlab.agents.checkpoint_file import CheckpointFile
from netlab.agents.policy_file import read_policy
from netlab.agents.ppo_config import PPOConfig
from netlab.agents.trainer import Trainer
from netlab.errors import KernelError, SpecError

SMALL = PPOConfig(
    total_steps=4 * 4 * 16, environments=4, horizon_steps=16, epochs=1, minibatches=2, hidden_units=(8,)
)
EACH = structs.replace(SMALL, checkpoint_every_iterations=1)


@pytest.fixture
def checkpoint() -> Checkpoint:
    return Trainer(CartPoleVectorEnv(4), SMALL).checkpoint()


def test_a_run_writes_over_itself_and_over_nothing_else(checkpoint: Checkpoint, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    ours, other = CheckpointFile(path), CheckpointFile(path)
    ours.save(checkpoint)
    ours.save(checkpoint)
    with pytest.raises(SpecError, match="a run is saved there already") as caught:
        other.save(checkpoint)
    assert "--resume" in caught.value.hint and "resume=read_checkpoint(path)" in caught.value.hint
    CheckpointFile(path, is_resumed=True).save(checkpoint)
    with pytest.raises(SpecError, match="another run has saved itself there by now"):
        ours.save(checkpoint)
    ours.remove()
    assert read_checkpoint(path).card == checkpoint.card  # not ours to remove


def test_a_checkpoint_taken_for_a_policy_is_called_what_it_is(checkpoint: Checkpoint, tmp_path: Path) -> None:
    path = tmp_path / "own.safetensors"
    CheckpointFile(path).save(checkpoint)
    with pytest.raises(SpecError, match="is a training run's checkpoint, not a policy file") as caught:
        read_policy(path)
    assert "--export" in caught.value.hint and "export_policy" in caught.value.hint
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(SpecError, match="no safetensors file, or cut short"):
        read_policy(path)


def test_a_file_that_was_removed_is_made_again_and_at_last_removed(checkpoint: Checkpoint, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    ours = CheckpointFile(path)
    ours.save(checkpoint)
    path.unlink()
    ours.save(checkpoint)
    assert read_checkpoint(path).card == checkpoint.card
    ours.remove()
    assert not list(tmp_path.iterdir())
    ours.remove()  # and nothing comes of it a second time


def test_a_link_to_a_file_elsewhere_stays_one(checkpoint: Checkpoint, tmp_path: Path) -> None:
    link, target = tmp_path / "run.safetensors", tmp_path / "elsewhere"
    link.symlink_to(target)
    ours = CheckpointFile(link)
    ours.save(checkpoint)
    ours.save(checkpoint)
    assert link.is_symlink() and read_checkpoint(target).card == checkpoint.card


def test_what_cannot_be_written_leaves_nothing(checkpoint: Checkpoint, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be written: No such file") as refused:
        CheckpointFile(tmp_path / "nowhere" / "run").save(checkpoint)
    assert refused.value.exit_code == 2
    with full_disk(), pytest.raises(KernelError, match=r"cannot write .*run: File too large") as full:
        CheckpointFile(tmp_path / "run").save(checkpoint)
    assert full.value.exit_code == 1 and "make room there" in full.value.hint
    assert not list(tmp_path.iterdir())


def test_a_disk_that_is_full_for_a_while_costs_the_run_nothing(tmp_path: Path) -> None:
    """Four saves: that of the second iteration fails, the third's finds room again."""
    path, told, held = tmp_path / "run", [], []
    room = full_disk()

    def report(progress) -> None:  # told before each save
        held.append(read_checkpoint(path).card.iteration)
        if progress.iteration == 2:
            room.__enter__()
        elif progress.iteration == 3:
            room.__exit__(None, None, None)

    trainer = Trainer(CartPoleVectorEnv(4), EACH, checkpoint_path=path, report=report, warn=told.append)
    try:
        result = trainer.run()
    finally:
        room.__exit__(None, None, None)
    assert held == [0, 1, 1, 3]
    assert (result.iterations, result.saved_iterations, trainer.unsaved) == (4, 4, None)
    (words,) = told
    assert words.startswith("the run is not saved after iteration 2: cannot write ")
    assert read_checkpoint(path).card.iteration == 4


def test_a_disk_that_stays_full_leaves_the_last_good_state(tmp_path: Path) -> None:
    path, room = tmp_path / "run", full_disk()
    trainer = Trainer(
        CartPoleVectorEnv(4),
        EACH,
        checkpoint_path=path,
        report=lambda progress: room.__enter__() if progress.iteration == 2 else None,
        warn=lambda text: None,
    )
    try:
        result = trainer.run()
    finally:
        room.__exit__(None, None, None)
    assert (result.iterations, result.saved_iterations) == (4, 1)
    assert isinstance(trainer.unsaved, KernelError)
    assert read_checkpoint(path).card.iteration == 1


def test_a_report_that_fails_ends_the_run_saved(tmp_path: Path) -> None:
    path = tmp_path / "run"

    def report(progress) -> None:
        if progress.iteration == 3:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        Trainer(CartPoleVectorEnv(4), SMALL, checkpoint_path=path, report=report).run()
    half = read_checkpoint(path)
    assert half.card.iteration == 3
    rest = Trainer(CartPoleVectorEnv(4), SMALL, checkpoint_path=path, resume=half)
    rest.run()
    whole = Trainer(CartPoleVectorEnv(4), SMALL)
    whole.run()
    assert rest.checkpoint().card == whole.checkpoint().card
    assert all((rest.weights[name] == whole.weights[name]).all() for name in whole.weights)


def test_an_iteration_that_was_cut_short_is_not_saved(tmp_path: Path) -> None:
    """A run is whole between iterations alone: within one its environments are ahead of what it has learned."""
    path = tmp_path / "run"
    trainer = Trainer(CartPoleVectorEnv(4), EACH, checkpoint_path=path)
    step, calls = trainer._ppo.update, []

    def update(*args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return step(*args)

    trainer._ppo.update = update
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert read_checkpoint(path).card.iteration == 2


def test_two_runs_into_one_file_the_second_is_refused_before_its_work(tmp_path: Path) -> None:
    path = tmp_path / "run"
    first = Trainer(CartPoleVectorEnv(4), SMALL, checkpoint_path=path)
    second = Trainer(CartPoleVectorEnv(4), SMALL, seed=1, checkpoint_path=path)
    first.run()
    with pytest.raises(SpecError, match="a run is saved there already"):
        second.run()
    assert read_checkpoint(path).card.seed == 0


def test_a_run_that_is_resumed_twice_is_saved_by_the_first_that_saves(tmp_path: Path) -> None:
    path, told = tmp_path / "run", []
    Trainer(CartPoleVectorEnv(4), SMALL, checkpoint_path=path)._save()
    begun = read_checkpoint(path)
    first, second = (
        Trainer(CartPoleVectorEnv(4), SMALL, checkpoint_path=path, resume=begun, warn=told.append)
        for _ in range(2)
    )
    first._iterate()
    first._save()
    second._iterate()
    second._save_or_warn()
    assert isinstance(second.unsaved, SpecError) and "another run has saved itself there" in told[-1]


def test_other_versions_are_told_when_a_run_goes_on() -> None:
    run = Trainer(CartPoleVectorEnv(4), SMALL)
    saved, told = run.checkpoint(), []
    Trainer(CartPoleVectorEnv(4), SMALL, resume=saved, warn=told.append)
    assert told == []
    card = structs.replace(saved.card, versions={**saved.card.versions, "torch": "1.0", "numpy": "0.1"})
    Trainer(CartPoleVectorEnv(4), SMALL, resume=structs.replace(saved, card=card), warn=told.append)
    (words,) = told
    assert "numpy 0.1, now " in words and "torch 1.0, now " in words and "netlab" not in words


def test_a_program_is_warned_by_python(tmp_path: Path) -> None:
    run = Trainer(CartPoleVectorEnv(4), SMALL)
    saved = run.checkpoint()
    card = structs.replace(saved.card, versions={})
    with pytest.warns(RuntimeWarning, match="numpy unknown, now"):
        Trainer(CartPoleVectorEnv(4), SMALL, resume=structs.replace(saved, card=card))


def test_curves_that_cannot_be_drawn_any_more_cost_the_run_nothing(tmp_path: Path) -> None:
    """A disk that fills up under TensorBoard's writer, which says so by an OSError out of its thread."""
    from netlab.agents.scalars import Scalars

    scalars, told = Scalars(tmp_path / "curves"), []
    writer, drawn = scalars._writer.add_scalar, []

    def add_scalar(*args) -> None:
        drawn.append(args)
        if len(drawn) > 20:
            raise OSError(28, os.strerror(28))
        writer(*args)

    scalars._writer.add_scalar = add_scalar
    result = Trainer(CartPoleVectorEnv(4), SMALL, scalars=scalars, warn=told.append).run()
    scalars.close()
    assert result.iterations == 4 and len(drawn) == 21
    (words,) = told
    assert "cannot write curves into" in words and "No space left" in words and "no more curves" in words
