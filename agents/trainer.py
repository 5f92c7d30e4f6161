"""Trainer: the loop around PPO: collect, learn, report, save.

::

    every reset_every_iterations: environments afresh, seed of (seed, iteration)
      |
    Collector.collect --Rollout--> PPO.update --metrics--> report, curves
      ^                                          |
      `------ weights (shared memory) -----------'-- every checkpoint_every_iterations, at a stop and at the end:
                                                     Checkpoint

One seed on one machine with one set of versions gives one set of numbers, however often the run was stopped and
resumed. Torch's own random generator is not used.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable

import gymnasium
import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

import netlab
from netlab.agents.acting import make_sampler
from netlab.agents.checkpoint import Checkpoint, CheckpointCard, RandomState, require_room
from netlab.agents.checkpoint_file import CheckpointFile
from netlab.agents.networks import make_network
from netlab.agents.ppo import PPO, UpdateMetrics
from netlab.agents.ppo_config import PPOConfig
from netlab.agents.rollout import Collector
from netlab.agents.scalars import Scalars
from netlab.agents.torch_actor import make_training_actor
from netlab.agents.training_memory import require_memory
from netlab.agents.training_result import TrainingProgress, TrainingResult
from netlab.agents.vector_steps import VectorEnvironment, VectorSteps
from netlab.errors import LearningError, NetlabError, SpecError

__all__ = ["Trainer", "TrainingProgress", "TrainingResult", "warn_python"]

_DRAWS, _RESETS = 0, 1
_NO_MEMORY = "can't allocate memory"
"""What torch says where numpy raises a MemoryError."""
_LESS_MEMORY = "fewer ppo.environments or ppo.horizon_steps; or more ppo.minibatches, of which one is held at once"


def warn_python(text: str) -> None:
    """Tell a program that uses the library, by Python's own means."""
    warnings.warn(text, RuntimeWarning, stacklevel=3)


class Trainer:
    """Trains one policy.

    Args:
        env: The environments; nothing else may step them.
        config: Every hyper-parameter.
        seed: Of everything that is random.
        checkpoint_path: Where to save; empty for nowhere.
        note: What is trained, in words, for the checkpoint.
        report: Told after each iteration; what it raises ends the run, which is saved first.
        warn: Told what went wrong without ending the run.
        scalars: Curves; None for none.
        resume: A checkpoint to go on from; its config and seed must be these.

    Attributes:
        file: Where it saves itself; None for nowhere.
        saved_iteration: After which one it has saved itself; -1 where it has not.
        unsaved: Why the last save failed; None where it did not.

    Raises:
        SpecError: The environment, the config and the checkpoint do not fit.
    """

    def __init__(
        self,
        env: VectorEnvironment,
        config: PPOConfig,
        *,
        seed: int = 0,
        checkpoint_path: str | os.PathLike[str] = "",
        note: str = "",
        report: Callable[[TrainingProgress], None] = lambda progress: None,
        warn: Callable[[str], None] = warn_python,
        scalars: Scalars | None = None,
        resume: Checkpoint | None = None,
    ) -> None:
        if env.num_envs != config.environments:
            hint = "the learning rate and the minibatches belong to a number of environments"
            problem = f"{config.environments}: {env.num_envs} environments were given"
            raise SpecError(problem, key="environments", hint=hint)
        self._config, self._seed, self._note = config, seed, note
        self._report, self._warn, self._scalars = report, warn, scalars
        self.file = CheckpointFile(checkpoint_path, is_resumed=resume is not None) if checkpoint_path else None
        self.unsaved: NetlabError | None = None
        self._iteration, self.saved_iteration = 0, -1
        self._is_whole = True
        self._stopped_by = ""
        self._rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_DRAWS,)))
        steps = VectorSteps(env, wants_privileged=config.privileged_critic)
        moment = steps.reset(self._reset_seed(0))
        self.spaces = steps.spaces(moment)
        if resume is not None:
            resume.require_spaces(self.spaces)
        require_memory(config, self.spaces)
        self._ppo = PPO(make_network(config, self.spaces, self._rng), self.spaces, config)
        self._collector = Collector(
            steps,
            moment,
            make_training_actor(self._ppo.network, config),
            make_sampler(self.spaces.action),
            config.horizon_steps,
            config.grid,
        )
        if self.file is not None:
            require_room(config, self.spaces, sum(weight.size for weight in self.weights.values()))
        if resume is not None:
            self._resume(resume)

    @property
    def weights(self) -> dict[str, NDArray[np.float32]]:
        """Return the weights of the network by name: views, which change as training goes on."""
        return {name: weight.detach().numpy() for name, weight in self._ppo.network.named_parameters()}

    def stop(self, reason: str) -> None:
        """End ``run`` after the present iteration; may be called from a signal handler or another thread."""
        self._stopped_by = self._stopped_by or reason

    def run(self) -> TrainingResult:
        """Train to the end or until stopped; save at the beginning, every few iterations, and then.

        Whatever ends the run between two iterations, it is saved. A save that fails is told of and tried again the
        next time; ``unsaved`` is why the last one failed.

        Raises:
            LearningError: The run diverged; the last good checkpoint is kept.
            SpecError: Nothing can be saved there at all, or another run is.
        """
        began, done_before = time.perf_counter(), self._iteration
        if self._iteration == 0:
            self._save()  # a file that cannot be written is found out before the work
        try:
            while self._iteration < self._config.iterations and not self._stopped_by:
                metrics = self._iterate()
                self._tell(metrics, done_before, time.perf_counter() - began)
                if self._iteration % self._config.checkpoint_every_iterations == 0:
                    self._save_or_warn()
        except Exception:
            self._drop_empty()
            raise
        finally:
            if self._is_whole and self.saved_iteration != self._iteration:
                self._save_or_warn()
        returns = self._collector.returns
        return TrainingResult(
            iterations=self._iteration,
            steps=self._iteration * self._config.iteration_steps,
            stopped_by=self._stopped_by if self._iteration < self._config.iterations else "",
            episodes=returns.finished,
            mean_return=returns.mean,
            seconds=time.perf_counter() - began,
            saved_iterations=self.saved_iteration if self.saved_iteration >= 0 else None,
        )

    def checkpoint(self) -> Checkpoint:
        """Return all that the run is now."""
        collector, optimiser = self._collector, self._ppo.optimiser
        card = CheckpointCard(
            config=self._config,
            spaces=self.spaces,
            seed=self._seed,
            iteration=self._iteration,
            adam_steps=optimiser.steps,
            random=RandomState.of(self._rng),
            finished=collector.returns.finished,
            recent=collector.returns.recent,
            note=self._note,
            versions=_versions(),
        )
        return Checkpoint(
            card=card,
            weights={name: weight.copy() for name, weight in self.weights.items()},
            first=optimiser.first.numpy().copy(),
            second=optimiser.second.numpy().copy(),
            observations=np.array(collector.observations, dtype=np.float32),
            state=collector.state.copy(),
            # Where the environments begin afresh next, nobody will ask what was played.
            played=np.zeros(0, dtype=np.int64) if self._resets_next else collector.played,
        )

    def _iterate(self) -> UpdateMetrics:
        config = self._config
        self._is_whole = False
        if self._iteration and self._resets_next:
            self._collector.reset(self._reset_seed(self._iteration))
        rate = config.learning_rate
        if config.anneal:
            rate *= 1.0 - self._iteration / config.iterations
        try:
            rollout = self._collector.collect(self._rng)
            with np.errstate(over="ignore", invalid="ignore"):  # of a run that diverges, which is said
                metrics = self._ppo.update(rollout, self._rng, rate)
        except NetlabError as error:
            raise self._failure(str(error), error.hint) from error
        except (MemoryError, RuntimeError) as error:  # torch has no kind of its own for it
            if not (isinstance(error, MemoryError) or _NO_MEMORY in str(error)):
                raise
            words = f"not memory enough: {str(error).rpartition(_NO_MEMORY)[2].strip(': ') or 'it is taken'}"
            raise self._failure(words, _LESS_MEMORY) from error
        self._iteration += 1
        self._is_whole = True
        return metrics

    def _failure(self, words: str, hint: str) -> LearningError:
        """Return the error that ends the run, with what is left of it."""
        kept = "no checkpoint was asked for"
        if self.file is not None:
            kept = f"{self.file.path} is as it was after iteration {self.saved_iteration}"
            if not self._iteration:
                kept = "nothing was learned, and nothing is saved"
        return LearningError(f"iteration {self._iteration + 1}: {words}; {kept}", hint)

    def _drop_empty(self) -> None:
        """Remove the checkpoint of a run whose very first iteration has failed: it would fail there again."""
        if self.file is not None and not self._iteration and not self._is_whole:
            self.file.remove()
            self.saved_iteration = -1

    def _tell(self, metrics: UpdateMetrics, done_before: int, seconds: float) -> None:
        config, returns = self._config, self._collector.returns
        rate_hz = (self._iteration - done_before) * config.iteration_steps / seconds
        progress = TrainingProgress(
            iteration=self._iteration,
            iterations=config.iterations,
            steps=self._iteration * config.iteration_steps,
            rate_hz=rate_hz,
            left_s=(config.iterations - self._iteration) * config.iteration_steps / rate_hz,
            episodes=returns.finished,
            mean_return=returns.mean,
            metrics=metrics,
        )
        self._draw(progress)
        self._report(progress)

    def _draw(self, progress: TrainingProgress) -> None:
        """Add a point to each curve; without a place for curves the run goes on without them."""
        if self._scalars is None:
            return
        try:
            self._scalars.draw(progress)
        except NetlabError as error:
            self._scalars = None
            self._warn(f"{error}; no more curves are drawn")

    def _save(self) -> None:
        if self.file is not None:
            self.file.save(self.checkpoint())
            self.saved_iteration, self.unsaved = self._iteration, None

    def _save_or_warn(self) -> None:
        try:
            self._save()
        except NetlabError as error:
            self.unsaved = error
            self._warn(f"the run is not saved after iteration {self._iteration}: {error}")

    def _resume(self, checkpoint: Checkpoint) -> None:
        card = checkpoint.card
        ours, theirs = (
            {**msgspec.structs.asdict(one), "seed": seed}
            for one, seed in ((self._config, self._seed), (card.config, card.seed))
        )
        differ = [f"{name} is {theirs[name]}, not {ours[name]}" for name in ours if ours[name] != theirs[name]]
        if differ:
            hint = "resume with what the checkpoint says; to change something, begin a new run"
            raise SpecError(f"the checkpoint's {', '.join(differ):.400}", key="resume", hint=hint)
        ours, theirs = _versions(), card.versions
        other = [
            f"{name} {theirs.get(name, 'unknown')}, now {ours[name]}"
            for name in ours
            if theirs.get(name) != ours[name]
        ]
        if other:
            self._warn(
                f"the checkpoint was made with {', '.join(other)}: what follows may differ in the last bits"
            )
        weights = self.weights
        if {name: array.shape for name, array in weights.items()} != {
            name: array.shape for name, array in checkpoint.weights.items()
        }:
            raise SpecError("its weights are not those of the network it describes", key="resume")
        for name, array in checkpoint.weights.items():
            weights[name][...] = array
        optimiser = self._ppo.optimiser
        optimiser.first.copy_(torch.tensor(checkpoint.first))
        optimiser.second.copy_(torch.tensor(checkpoint.second))
        optimiser.steps = card.adam_steps
        self._rng = card.random.generator()
        self._iteration = self.saved_iteration = card.iteration
        if not self._resets_next:
            last_reset = card.iteration - card.iteration % self._config.reset_every_iterations
            self._collector.play_again(
                self._reset_seed(last_reset), checkpoint.played, checkpoint.observations, checkpoint.state
            )
        self._collector.returns.restore(card.finished, card.recent)

    @property
    def _resets_next(self) -> bool:
        return self._iteration % self._config.reset_every_iterations == 0

    def _reset_seed(self, iteration: int) -> int:
        words = np.random.SeedSequence(self._seed, spawn_key=(_RESETS, iteration)).generate_state(1)
        return int(words[0])


def _versions() -> dict[str, str]:
    return {
        "netlab": netlab.__version__,
        "numpy": np.__version__,
        "torch": str(torch.__version__),
        "gymnasium": gymnasium.__version__,
    }
