"""The loop: resumed runs go on bit for bit, stops save, divergence ends with the last good checkpoint kept."""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from full_disk import full_disk
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from msgspec import structs
from toy_vector_env import TargetVectorEnv, ToyVectorEnv

from netlab.agents.checkpoint import Checkpoint, read_checkpoint
from netlab.agents.ppo_config import PPOConfig
from netlab.agents.scalars import Scalars
from netlab.agents.trainer import Trainer, TrainingProgress
from netlab.agents.training_memory import training_memory
from netlab.errors import KernelError, LearningError, SpecError

SMALL = PPOConfig(
    total_steps=6 * 4 * 16,
    environments=4,
    horizon_steps=16,
    epochs=2,
    minibatches=2,
    hidden_units=(8,),
    lstm_units=8,
    reset_every_iterations=4,
    checkpoint_every_iterations=100,
)
LSTM = structs.replace(SMALL, network="lstm")


def toy(mode: AutoresetMode, *, asks_odd: bool = False) -> ToyVectorEnv:
    return ToyVectorEnv(4, mode, length=7, cut=True, asks_odd=asks_odd)


def same(a: Checkpoint, b: Checkpoint) -> bool:
    return a.card == b.card and all(
        np.array_equal(x, y)
        for x, y in (
            *((a.weights[name], b.weights[name]) for name in a.weights | b.weights),
            (a.first, b.first),
            (a.second, b.second),
            (a.observations, b.observations),
            (a.state, b.state),
            (a.played, b.played),
        )
    )


class Log(list[TrainingProgress]):
    """Keeps what is reported, less what is about the clock, and stops the trainer after some iterations."""

    def __init__(self, stop_after: int = 0) -> None:
        super().__init__()
        self._stop_after = stop_after
        self.trainer: Trainer | None = None

    def __call__(self, progress: TrainingProgress) -> None:
        assert progress.rate_hz > 0.0
        assert progress.left_s >= 0.0
        self.append(structs.replace(progress, rate_hz=0.0, left_s=0.0))
        if progress.iteration == self._stop_after and self.trainer is not None:
            self.trainer.stop("SIGINT")


CASES = {
    "mlp, next step": (lambda: toy(AutoresetMode.NEXT_STEP), SMALL),
    "mlp, reset there": (
        lambda: toy(AutoresetMode.NEXT_STEP),
        structs.replace(SMALL, reset_every_iterations=3),
    ),
    "lstm, same step": (lambda: toy(AutoresetMode.SAME_STEP), LSTM),
    "lstm, next step, privileged": (
        lambda: toy(AutoresetMode.NEXT_STEP, asks_odd=True),
        structs.replace(LSTM, privileged_critic=True),
    ),
    "continuous": (lambda: TargetVectorEnv(4), SMALL),
    "cartpole": (lambda: CartPoleVectorEnv(4), SMALL),
}


@pytest.mark.parametrize("case", CASES)
def test_three_iterations_and_three_more_are_six(case: str, tmp_path: Path) -> None:
    make, config = CASES[case]
    straight = Log()
    Trainer(make(), config, seed=9, checkpoint_path=tmp_path / "six", note="x", report=straight).run()
    first, second = Log(stop_after=3), Log()
    first.trainer = Trainer(make(), config, seed=9, checkpoint_path=tmp_path / "half", note="x", report=first)
    result = first.trainer.run()
    assert (result.iterations, result.steps, result.stopped_by) == (3, 192, "SIGINT")
    half = read_checkpoint(tmp_path / "half")
    assert half.card.iteration == 3
    resumed = Trainer(
        make(), config, seed=9, checkpoint_path=tmp_path / "half", note="x", report=second, resume=half
    )
    assert same(resumed.checkpoint(), half)
    assert resumed.run().stopped_by == ""
    assert [*first, *second] == straight
    assert len(straight) == 6
    assert same(read_checkpoint(tmp_path / "six"), read_checkpoint(tmp_path / "half"))
    assert (tmp_path / "six").read_bytes() == (tmp_path / "half").read_bytes()


def test_a_seed_is_one_run(tmp_path: Path) -> None:
    runs = []
    for seed in (1, 1, 2):
        trainer = Trainer(CartPoleVectorEnv(4), SMALL, seed=seed)
        trainer.run()
        runs.append(trainer.checkpoint())
    assert same(runs[0], runs[1])
    assert not np.array_equal(runs[0].weights["actor.1.weight"], runs[2].weights["actor.1.weight"])


def test_checkpoints_are_written_now_and_then(tmp_path: Path) -> None:
    path, seen = tmp_path / "run.safetensors", []
    config = structs.replace(SMALL, checkpoint_every_iterations=2)
    report = lambda progress: seen.append(read_checkpoint(path).card.iteration)  # noqa: E731
    Trainer(CartPoleVectorEnv(4), config, checkpoint_path=path, report=report).run()
    assert seen == [0, 0, 2, 2, 4, 4]  # told before it is saved
    assert read_checkpoint(path).card.iteration == 6


class Erupting(TargetVectorEnv):
    """Pays beyond all measure after some steps."""

    def step(self, actions: np.ndarray) -> tuple:
        self.steps = getattr(self, "steps", 0) + 1
        observed, rewards, *rest = super().step(actions)
        return observed, rewards * (1e38 if self.steps > 3 * 16 else 1.0), *rest


def test_a_diverging_run_stops_and_keeps_its_last_good_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    config = structs.replace(SMALL, checkpoint_every_iterations=2, reward_scale=1.0)
    trainer = Trainer(Erupting(4), config, checkpoint_path=path)
    with pytest.raises(LearningError, match=r"iteration 4: the run has diverged.* after iteration 2") as caught:
        trainer.run()
    assert "learning_rate" in caught.value.hint
    kept = read_checkpoint(path)
    assert kept.card.iteration == 2
    assert all(np.isfinite(array).all() for array in kept.weights.values())


@pytest.mark.parametrize(
    ("make", "name", "value", "found"),
    [
        (lambda: TargetVectorEnv(4), "log_sd", 100.0, "puts out numbers"),  # its exponential is infinite
        (lambda: TargetVectorEnv(4), "actor.1.weight", 3e38, "puts out numbers"),
        (lambda: CartPoleVectorEnv(4), "actor.1.weight", 3e38, "puts out numbers"),
        (lambda: CartPoleVectorEnv(4), "critic.1.weight", 3e38, "policy loss"),
    ],
)
def test_weights_that_are_of_no_more_use_are_not_blamed_on_the_environment(
    make, name: str, value: float, found: str
) -> None:
    trainer = Trainer(make(), SMALL)
    trainer.weights[name][...] = value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LearningError, match=f"iteration 1: the run has diverged: .*{found}") as caught:
            trainer.run()
    assert "ppo.learning_rate" in caught.value.hint


def test_a_run_that_no_memory_holds_is_refused_before_anything_is_made_for_it(monkeypatch, tmp_path: Path) -> None:
    needed = training_memory(SMALL, Trainer(CartPoleVectorEnv(4), SMALL).spaces)
    # T N steps of 4 numbers seen, a number done, a reward and 4 truths, twice
    assert needed.rollout == 2 * 64 * (4 * 4 + 8 + 4 + 4)
    monkeypatch.setattr("netlab.agents.training_memory.machine_memory", lambda: needed.whole)
    Trainer(CartPoleVectorEnv(4), SMALL)
    monkeypatch.setattr("netlab.agents.training_memory.machine_memory", lambda: needed.whole - 1)
    monkeypatch.setattr("netlab.agents.trainer.make_network", lambda *words: pytest.fail("a network"))
    with pytest.raises(SpecError, match="iterations of 4 x 16 steps, 4 numbers seen in each") as caught:
        Trainer(CartPoleVectorEnv(4), SMALL, checkpoint_path=tmp_path / "run")
    assert caught.value.key == "ppo" and not list(tmp_path.iterdir())


def test_numbers_that_are_none_are_blamed_on_the_environment() -> None:
    env = CartPoleVectorEnv(4)
    step = env.step
    env.step = lambda actions: (step(actions)[0] * np.float32(np.nan), *step(actions)[1:])
    with pytest.raises(LearningError, match="iteration 1: observations of the environments are not finite"):
        Trainer(env, SMALL).run()


def resumed_by(env: VectorEnv, config: PPOConfig, checkpoint: Checkpoint, seed: int = 0) -> Trainer:
    return Trainer(env, config, seed=seed, resume=checkpoint)


@pytest.fixture
def third() -> Checkpoint:
    log = Log(stop_after=3)
    log.trainer = Trainer(CartPoleVectorEnv(4), SMALL, report=log)
    log.trainer.run()
    return log.trainer.checkpoint()


def test_what_does_not_fit_a_checkpoint_is_named(third: Checkpoint) -> None:
    with pytest.raises(SpecError, match=r"is for observations of 4 numbers, one of 2 actions; .* of 8 numbers"):
        resumed_by(toy(AutoresetMode.SAME_STEP), SMALL, third)
    with pytest.raises(SpecError, match=r"the checkpoint's discount is 0\.995, not 0\.5\n"):
        resumed_by(CartPoleVectorEnv(4), structs.replace(SMALL, discount=0.5), third)
    with pytest.raises(SpecError, match=r"the checkpoint's seed is [0-9]+, not [0-9]+"):
        resumed_by(CartPoleVectorEnv(4), SMALL, third, seed=1)
    weights = {**third.weights, "actor.0.bias": np.zeros(9, dtype=np.float32)}
    with pytest.raises(SpecError, match="not those of the network"):
        resumed_by(CartPoleVectorEnv(4), SMALL, structs.replace(third, weights=weights))
    with pytest.raises(SpecError, match="4: 5 environments were given"):
        Trainer(CartPoleVectorEnv(5), SMALL)


def test_an_environment_that_went_elsewhere_is_found_out(third: Checkpoint) -> None:
    env = CartPoleVectorEnv(4)
    env.gravity = 9.81
    with pytest.raises(SpecError, match="elsewhere than before"):
        resumed_by(env, SMALL, third)


def test_actions_sent_stay_within_their_bounds() -> None:
    env = ToyVectorEnv(
        4,
        AutoresetMode.SAME_STEP,
        action=Box(np.array([-0.1, -np.inf]), np.array([0.1, np.inf]), dtype=np.float64),
    )
    Trainer(env, SMALL).run()
    sent = np.concatenate(env.sent)
    assert sent.dtype == np.float64
    assert sent.shape == (6 * 64, 2)
    assert (sent[:, 0].min(), sent[:, 0].max()) == (-0.1, 0.1)
    assert np.abs(sent[:, 1]).max() > 1.5  # 384 draws of deviation 1 that nothing bounds


def test_curves_are_written_for_tensorboard(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with Scalars(tmp_path / "curves") as scalars:
        log = Log()
        Trainer(CartPoleVectorEnv(4), SMALL, report=log, scalars=scalars).run()
    events = EventAccumulator(str(tmp_path / "curves"))
    events.Reload()
    names = set(events.Tags()["scalars"])
    assert {"run/mean_return", "run/steps_per_s", "update/approximate_kl", "update/value_loss"} <= names
    points = events.Scalars("update/entropy")
    assert [point.step for point in points] == [64, 128, 192, 256, 320, 384]
    assert points[-1].value == pytest.approx(log[-1].metrics.entropy, rel=1e-6)
    with pytest.raises(SpecError, match="cannot write there"):
        Scalars("/dev/null/curves")


def test_curves_that_cannot_be_written_are_one_error_and_leave_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder, heard = tmp_path / "far" / "curves", []
    before = threading.excepthook
    threading.excepthook = heard.append
    try:
        scalars = Scalars(folder)
        with (
            full_disk(),
            pytest.raises(KernelError, match=r"cannot write curves into .*curves: File too large\nhint"),
        ):
            while True:
                scalars.add(0, dict.fromkeys(map(str, range(100)), 1.0))
                time.sleep(0.001)
        with contextlib.suppress(KernelError):
            scalars.close()
        assert threading.excepthook == heard.append
    finally:
        threading.excepthook = before
    assert heard == [] and "Traceback" not in capfd.readouterr().err
    with full_disk(room_bytes=0), contextlib.suppress(KernelError, SpecError), Scalars(folder / "more") as scalars:
        scalars.add(0, {"a": 1.0})
    assert not (folder / "more").exists()
    with Scalars(tmp_path / "unused"):
        pass
    assert not (tmp_path / "unused").exists()


def test_threads_of_others_are_heard_while_curves_are_drawn(tmp_path: Path) -> None:
    heard, before = [], threading.excepthook
    threading.excepthook = heard.append
    try:
        with Scalars(tmp_path / "curves"):
            thread = threading.Thread(target=lambda: 1 / 0)
            thread.start()
            thread.join()
    finally:
        threading.excepthook = before
    assert [one.exc_type for one in heard] == [ZeroDivisionError]
