"""How long policies take from nothing: ``netlab train`` of the baseline and of the predictor, one after the other.

Counted is each command from its start to its end: the interpreter, the imports, the training, the model that the
predictor learns, the policy file. The predictor's recipe trains a baseline of its own, so that is done twice. What
comes of it must be worth something: a policy that ends below the return at which CartPole counts as solved fails.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from netlab.bench.figure import Figure, spread_text
from netlab.errors import FeatureMissing, LearningError
from netlab.install_hint import install_hint
from netlab.told_error import told_error

__all__ = ["train_time"]

RECIPES = ("cartpole-baseline", "cartpole-predictor")
TARGET_S = 120.0
SOLVED_RETURN = 475.0
SEEDS = (1, 2, 3)
OPTIONS: tuple[str, ...] = ()


class _Run(NamedTuple):
    """One ``netlab train``.

    Attributes:
        seconds: From the command's start to its end.
        processor_s: What it had of the processor: less on a machine that others use.
        steps: Steps of all environments.
        mean_return: Of the last 100 episodes of training; 0 where none ended.
    """

    seconds: float
    processor_s: float
    steps: int
    mean_return: float


def train_time(say: Callable[[str], None]) -> Figure:
    """Train both recipes with several seeds."""
    if importlib.util.find_spec("torch") is None:
        raise FeatureMissing("train", words="torch is not installed", hint=install_hint("rl"))
    runs: dict[str, list[_Run]] = {recipe: [] for recipe in RECIPES}
    with tempfile.TemporaryDirectory(prefix="netlab-train-") as folder:
        for seed in SEEDS:
            for recipe in RECIPES:
                say(f"netlab train {recipe} --seed {seed}")
                runs[recipe].append(_train(recipe, seed, Path(folder)))
    together_s = [sum(run.seconds for run in pair) for pair in zip(*runs.values(), strict=True)]
    least = min(run.mean_return for recipe in RECIPES for run in runs[recipe])
    value = statistics.median(together_s)
    return Figure(
        name="train-time",
        value=value,
        unit="s, baseline and predictor together",
        target=f"under {TARGET_S:g} s, and each ends at {SOLVED_RETURN:g} or more",
        holds=value < TARGET_S and least >= SOLVED_RETURN,
        n=len(SEEDS),
        spread=spread_text(together_s, "s"),
        note="; ".join(_text(recipe, runs[recipe]) for recipe in RECIPES)
        + f"; whole commands, one after the other, on {len(os.sched_getaffinity(0))} CPUs; medians; returns of "
        "the last 100 episodes of training",
    )


def _train(recipe: str, seed: int, folder: Path) -> _Run:
    """Run one command.

    Raises:
        LearningError: It failed.
    """
    policy = folder / f"{recipe}-{seed}.safetensors"
    words = ["train", recipe, "--seed", str(seed), "-o", str(policy), "--json", *OPTIONS]
    before_s, began_s = _children_s(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-P", "-m", "netlab", *words], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    seconds, processor_s = time.perf_counter() - began_s, _children_s() - before_s
    if done.returncode != 0 or not policy.exists():
        told = told_error(done.stderr)
        raise LearningError(
            f"netlab train {recipe} ended with status {done.returncode}: {told.message}", told.hint
        )
    run = json.loads(done.stdout)["run"]
    return _Run(seconds, processor_s, run["steps"], run["mean_return"] or 0.0)


def _children_s() -> float:
    """Return the processor time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _text(recipe: str, runs: list[_Run]) -> str:
    seconds, processor_s = (statistics.median(run[place] for run in runs) for place in (0, 1))
    returns = ", ".join(f"{run.mean_return:.0f}" for run in runs)
    return (
        f"{recipe} {seconds:.1f} s ({processor_s:.1f} of the processor), {runs[0].steps} steps, returns {returns}"
    )
