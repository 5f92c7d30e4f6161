"""``netlab train``: from a recipe to a policy file."""

from __future__ import annotations

import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from netlab.cli.command import ResultOption, echo_json, json_option, result_option
from netlab.cli.computing_command import ComputingCommand
from netlab.cli.training_progress import TrainingBar, tell
from netlab.cli.training_stop import TrainingStop
from netlab.cli.types import SEED
from netlab.errors import FeatureMissing, LearningError, SpecError
from netlab.install_hint import install_hint
from netlab.stop_signals import Stopped, stop_on_signals

if TYPE_CHECKING:
    from netlab.agents.policy_file import PolicyFile
    from netlab.agents.training_result import TrainingResult
    from netlab.training.job import TrainingJob
    from netlab.training.recipe import TrainingRecipe
    from netlab.training.report import TrainingReport

__all__ = ["train"]

_SUFFIX = ".safetensors"
_CHECKPOINT = ".checkpoint.safetensors"


@click.command(cls=ComputingCommand)
@click.argument("recipe_name", metavar="RECIPE", required=False, default="")
@click.option("--seed", type=SEED, default=1, show_default=True, help="Of all that is random.")
@click.option(
    "-o",
    "--output",
    cls=ResultOption,
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"The policy to write; its name ends in {_SUFFIX}  [default: RECIPE-SEED{_SUFFIX}].",
)
@result_option("--checkpoint", "Save the run there  [default: beside the policy, until that is written].")
@click.option("--resume", "is_resumed", is_flag=True, help="Go on from the checkpoint.")
@click.option(
    "--export", "is_export", is_flag=True, help="Make a policy of the checkpoint as it is; train no further."
)
@click.option(
    "--steps",
    type=click.IntRange(1, 10**12),
    help="Steps of all environments, in place of the recipe's; rounded up to whole rollouts.",
)
@click.option("--network", default="", help="What training meets, in place of the recipe's; none for no network.")
@click.option("--force", "is_forced", is_flag=True, help="Replace a policy that is there already.")
@result_option("--tensorboard", "Write curves into this folder, for TensorBoard.", is_folder=True)
@click.option("--list", "is_list", is_flag=True, help="List the recipes that netlab ships.")
@click.option("--show", "is_show", is_flag=True, help="Print the recipe.")
@json_option
def train(
    recipe_name: str,
    seed: int,
    output: Path | None,
    checkpoint: Path | None,
    is_resumed: bool,
    is_export: bool,
    steps: int | None,
    network: str,
    is_forced: bool,
    tensorboard: Path | None,
    is_list: bool,
    is_show: bool,
    as_json: bool,
) -> None:
    """Train a policy: RECIPE is one that netlab ships, or a TOML file.

    Ctrl-C saves the run: --resume goes on with it as if nothing had been, --export makes a policy of it as it is.
    The same recipe and seed give the same file on one machine.

    \b
    Example:
      netlab train --list
      netlab train cartpole-predictor --seed 1
      netlab train --show cartpole-predictor | sed 's/^name = .*/name = "mine"/' > mine.toml
      netlab train mine.toml
    """  # noqa: D301
    if is_list:
        _list(as_json)
        return
    if not recipe_name:
        raise click.UsageError("Missing argument 'RECIPE'; netlab train --list has those that netlab ships")
    if is_show:
        _show(recipe_name, as_json)
        return
    recipe = _recipe(recipe_name, steps, network)
    policy = output or recipe.output(seed)
    kept = checkpoint or policy.with_name(policy.name.removesuffix(_SUFFIX) + _CHECKPOINT)
    _check_files(policy, kept, is_resumed=is_resumed or is_export, is_forced=is_forced)
    if is_export:
        _tell_result(_export(recipe, seed, kept, policy), as_json)
        return
    job, result = _train(recipe, seed, kept, is_resumed, tensorboard)
    if result.stopped_by:
        _stop(job, recipe, seed, result, kept, as_json)
    _finish(job, recipe, seed, result, policy, checkpoint, as_json)


def _list(as_json: bool) -> None:
    from netlab.training.recipe import find_recipe, shipped_recipes

    recipes = [find_recipe(name) for name in shipped_recipes()]
    if as_json:
        echo_json([{"name": one.name, "summary": one.summary} for one in recipes])
        return
    for one in recipes:
        click.echo(f"{one.name:22} {one.summary}")


def _show(name: str, as_json: bool) -> None:
    from netlab.training.recipe import find_recipe, recipe_text

    recipe = find_recipe(name)  # refuses what is none
    if as_json:
        echo_json(recipe)
    else:
        click.echo(recipe_text(name).decode(), nl=False)


def _recipe(name: str, steps: int | None, network: str) -> TrainingRecipe:
    """Return the recipe with what the command line changes of it."""
    from msgspec import structs

    from netlab.network_words import find_network
    from netlab.training.recipe import find_recipe

    recipe = find_recipe(name)
    if steps is not None:
        recipe = structs.replace(recipe, ppo=structs.replace(recipe.ppo, total_steps=steps))
    if network:
        find_network(network)  # refused before anything heavy is loaded
        recipe = structs.replace(recipe, network=network)
    return recipe


def _check_files(policy: Path, checkpoint: Path, *, is_resumed: bool, is_forced: bool) -> None:
    """Refuse, before the work, files that could not be written after it, or would be lost by it."""
    from netlab.documents import refuse_shared_files, require_writable

    if policy.suffix != _SUFFIX:
        raise SpecError(f"{policy}: must end in {_SUFFIX}", key="--output", hint=f"-o {policy.stem}{_SUFFIX}")
    require_writable("--output", policy)
    require_writable("--checkpoint", checkpoint)
    refuse_shared_files({"--output": policy, "--checkpoint": checkpoint}, {})
    if policy.exists() and not is_forced:
        hint = "add --force to replace it, or name another one with -o"
        raise SpecError("a policy is there already", policy, "--output", hint)
    if checkpoint.exists() and not is_resumed:
        hint = "add --resume to go on with it or --export to make a policy of it, name another one, or remove it"
        raise SpecError("a run is saved there already", checkpoint, "--checkpoint", hint)


def _train(
    recipe: TrainingRecipe, seed: int, checkpoint: Path, is_resumed: bool, curves: Path | None
) -> tuple[TrainingJob, TrainingResult]:
    """Train to the end, or until a signal comes."""
    _require_torch()
    from netlab.training.job import TrainingJob

    _tell_beginning(recipe)
    with TrainingBar(f"{recipe.name}, seed {seed}") as bar:
        job = TrainingJob(
            recipe,
            seed,
            checkpoint_path=checkpoint,
            report=bar.watch,
            warn=tell,
            curves="" if curves is None else curves,
            is_resumed=is_resumed,
            command=_command_line(),
        )
        try:
            with stop_on_signals(TrainingStop(job.stop)):
                return job, job.train()
        except KeyboardInterrupt:
            tell(f"{checkpoint} holds {job.saved_iterations} iterations")
            raise
        except LearningError as error:
            if not job.saved_iterations:
                raise
            way = f"{_command_line() or 'the same command'} --export makes a policy of what is kept"
            raise LearningError(error.message, "; ".join(filter(None, (error.hint, way)))) from error


def _tell_beginning(recipe: TrainingRecipe) -> None:
    """Say what of a run is otherwise than whoever asked for it may think."""
    from netlab.training.environments import has_twin

    ppo = recipe.ppo
    steps = ppo.iterations * ppo.iteration_steps
    if steps != ppo.total_steps:
        tell(f"{ppo.total_steps} steps: rounded up to whole rollouts of {ppo.iteration_steps}, {steps} steps")
    if not has_twin(recipe):
        tell(f"{recipe.task} has no vectorised twin: {ppo.environments} single environments, slower")


def _require_torch() -> None:
    """Refuse to train without what learns; what was trained plays without it."""
    import importlib.util

    if importlib.util.find_spec("torch") is None:
        raise FeatureMissing("train", words="torch is not installed", hint=install_hint("rl"))


def _command_line() -> str:
    """Return what was typed, as it makes the same again; empty where this process was begun by something else."""
    if sys.argv[1:2] != ["train"]:
        return ""
    return shlex.join(["netlab", *(word for word in sys.argv[1:] if word not in ("--resume", "--force"))])


def _stop(
    job: TrainingJob, recipe: TrainingRecipe, seed: int, result: TrainingResult, checkpoint: Path, as_json: bool
) -> NoReturn:
    """Say what a stopped run has left, and end as the signal asked for; by an error where it was not saved."""
    from netlab.training.report import TrainingReport

    if job.unsaved is None:
        ways = "the same command with --resume goes on, with --export it makes a policy of what there is"
        tell(f"stopped after {result.steps} steps; the run is saved in {checkpoint}: {ways}")
    else:
        tell(f"stopped after {result.steps} steps; {checkpoint} holds {job.saved_iterations} iterations of it")
    if as_json:
        echo_json(TrainingReport.of(recipe, seed, result, checkpoint=checkpoint))
    if job.unsaved is not None:
        raise job.unsaved
    number = signal.Signals[result.stopped_by]
    raise KeyboardInterrupt if number is signal.SIGINT else Stopped(number)


def _finish(
    job: TrainingJob,
    recipe: TrainingRecipe,
    seed: int,
    result: TrainingResult,
    policy: Path,
    checkpoint: Path | None,
    as_json: bool,
) -> None:
    """Write the policy of a run that came to its end; a checkpoint that nobody asked for has then had its use."""
    _tell_model(recipe)
    kept = checkpoint if job.unsaved is None else None
    report = _write(job.export(result), recipe, seed, result, policy, kept)
    if checkpoint is None:
        job.discard_checkpoint()
    _tell_result(report, as_json)
    if checkpoint is not None and job.unsaved is not None:
        raise job.unsaved


def _export(recipe: TrainingRecipe, seed: int, checkpoint: Path, policy: Path) -> TrainingReport:
    """Write the policy of a saved run as it is; asks for neither torch nor the environments of training."""
    from netlab.training.saved_run import SavedRun

    saved = SavedRun.read(checkpoint, recipe, seed)
    _tell_model(recipe)
    return _write(saved.policy(_command_line()), recipe, seed, saved.result, policy, checkpoint)


def _tell_model(recipe: TrainingRecipe) -> None:
    if recipe.model is not None:
        tell(f"a model is fitted to {recipe.model.transitions} ticks of its own play")


def _write(
    made: PolicyFile,
    recipe: TrainingRecipe,
    seed: int,
    result: TrainingResult,
    policy: Path,
    checkpoint: Path | None,
) -> TrainingReport:
    """Write the policy; return what there is to say of it."""
    from netlab.agents.policy_file import write_policy
    from netlab.training.report import TrainingReport

    write_policy(made, policy)
    return TrainingReport.of(recipe, seed, result, card=made.card, policy=policy, checkpoint=checkpoint or "")


def _tell_result(report: TrainingReport, as_json: bool) -> None:
    if as_json:
        echo_json(report)
    else:
        _print(report)


def _print(report: TrainingReport) -> None:
    from netlab.cli.model_error_text import model_error_lines
    from netlab.envs.registry import find_task

    run = report.run
    mean = "no episode ended" if run.mean_return is None else f"mean return {run.mean_return:.4g} at the end"
    took = f" in {run.seconds:.0f} s" if run.seconds else ""
    click.echo(f"{report.policy}: {run.steps} steps{took}, {run.episodes} episodes, {mean}")
    for line in model_error_lines(report.model_errors, find_task(report.recipe.task).quantities):
        click.echo(line)
    tell(f"next: netlab eval {shlex.quote(report.policy)}")
