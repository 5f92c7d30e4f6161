"""PPO: proximal policy optimisation with the clipped objective, to be read beside arXiv 1707.06347.

Symbols are the paper's: r_t(theta) the probability ratio, A_t the advantage, epsilon the clip ratio, c1 and c2 the
weights of value and entropy. ``docs/algorithms/ppo.md`` lists what the paper leaves open and what is done here.

::

    Rollout --values, log pi_old--> advantages, V^targ --K epochs of minibatches--> weights  (Algorithm 1)

Knows no environment and keeps nothing between two updates but the weights and Adam's moments.

Source: Schulman, Wolski, Dhariwal, Radford and Klimov 2017, arXiv 1707.06347.
"""

from __future__ import annotations

import numpy as np
import torch
from msgspec import Struct
from numpy.typing import NDArray
from torch import Tensor

from netlab.agents.distributions import Distribution, distribution_of
from netlab.agents.gae import estimate_advantages
from netlab.agents.networks import ActorCritic
from netlab.agents.one_thread import one_thread
from netlab.agents.optimiser import Optimiser
from netlab.agents.ppo_batches import Batch, Batches, EpisodeBatches, StepBatches, Targets, tail_inputs
from netlab.agents.ppo_config import PPOConfig
from netlab.agents.ppo_spaces import PPOSpaces
from netlab.agents.rollout import Rollout, diverged
from netlab.errors import LearningError

__all__ = ["PPO", "Losses", "UpdateMetrics"]

_TINY = 1e-8


class Losses(Struct):
    """The three terms of Eq 9, each a mean over steps, and what the first is made of.

    Attributes:
        policy: -L^CLIP.
        value: L^VF.
        entropy: S.
        log_ratios: log r_t(theta), ``[b]``.
    """

    policy: Tensor
    value: Tensor
    entropy: Tensor
    log_ratios: Tensor


class UpdateMetrics(Struct, frozen=True, kw_only=True):
    """How an update went; all but the norm over the whole rollout, with the weights as the update left them.

    Attributes:
        policy_loss: -L^CLIP of Eq 7.
        value_loss: Mean squared error of the value.
        entropy: Of the policy, in nats.
        approximate_kl: KL(pi_old || pi), estimated as the mean of (r - 1) - log r.
        clip_fraction: Share of steps whose r is outside 1 - epsilon .. 1 + epsilon.
        explained_variance: 1 - Var(V^targ - V) / Var(V^targ), V from before the update; 1 is perfect.
        gradient_norm: Of the last minibatch, before it was shortened.
        learning_rate: Adam's alpha in this update.
    """

    policy_loss: float
    value_loss: float
    entropy: float
    approximate_kl: float
    clip_fraction: float
    explained_variance: float
    gradient_norm: float
    learning_rate: float


class PPO:
    """Improves an actor-critic network from rollouts.

    Args:
        network: Both networks.
        spaces: What they see and do.
        config: Every hyper-parameter.
    """

    def __init__(self, network: ActorCritic, spaces: PPOSpaces, config: PPOConfig) -> None:
        self.network = network
        self.optimiser = Optimiser(network, config.adam_epsilon)
        self._config = config
        self._distribution: Distribution = distribution_of(spaces.action)
        self._lambda, self._clip = config.gae_lambda, config.clip_ratio

    @one_thread()
    def update(self, rollout: Rollout, rng: np.random.Generator, learning_rate: float) -> UpdateMetrics:
        """Learn from a rollout: the inner half of Algorithm 1.

        Args:
            rollout: T steps of N environments, played by the network as it is.
            rng: Shuffles the steps.
            learning_rate: Adam's alpha.

        Raises:
            LearningError: The update led to numbers that are not finite, or there was nothing to learn from.
        """
        config = self._config
        made = EpisodeBatches if config.network == "lstm" else StepBatches
        batches: Batches = made(rollout, config.minibatches)
        if not batches.steps.size:
            hint = "the network in front of the environment lets no observation through: make it better"
            raise LearningError(f"not one of {rollout.asked.size} steps asked for an action", hint)
        targets, values = self._targets(rollout, batches)
        norm = torch.zeros(())
        for _ in range(config.epochs):
            for batch in batches.epoch(targets, rng):
                self.optimiser.zero()
                self._objective(self.losses(batch)).backward()  # type: ignore[no-untyped-call]
                norm = self.optimiser.step(learning_rate, config.gradient_norm)
        return self._metrics(Batch(batches.whole, targets), values, float(norm), learning_rate)

    def losses(self, batch: Batch) -> Losses:
        """Return the terms of Eq 9 for a minibatch."""
        output, values = self.network(batch.inputs)
        log_probs, entropies = self._distribution.log_prob_and_entropy(output, batch.targets.actions)
        log_ratios = log_probs - batch.targets.log_probs
        return Losses(
            self._policy_loss(log_ratios.exp(), batch.targets.advantages),
            (values - batch.targets.values).square().mean(),  # L^VF = (V(s) - V^targ)^2, below Eq 9
            entropies.mean(),
            log_ratios,
        )

    def _policy_loss(self, ratios: Tensor, advantages: Tensor) -> Tensor:
        """Return -L^CLIP = -E[min(r A, clip(r, 1 - eps, 1 + eps) A)] (Eq 7)."""
        # Normalised in each minibatch: the paper does not say so, its authors' code does.
        advantages = (advantages - advantages.mean()) / (advantages.std(correction=0) + _TINY)
        clipped = ratios.clamp(1.0 - self._clip, 1.0 + self._clip)
        return -torch.minimum(ratios * advantages, clipped * advantages).mean()

    def _objective(self, losses: Losses) -> Tensor:
        """Return -L^(CLIP+VF+S) = -(L^CLIP - c1 L^VF + c2 S) (Eq 9), which Adam makes small."""
        config = self._config
        return losses.policy + config.value_weight * losses.value - config.entropy_weight * losses.entropy

    @torch.no_grad()
    def _targets(self, rollout: Rollout, batches: Batches) -> tuple[Targets, NDArray[np.float32]]:
        """Return what the asked steps are learned from, and the critic's V of them before, ``[b]``."""
        shape, scale = rollout.asked.shape, np.float32(self._config.reward_scale)
        actions = torch.from_numpy(rollout.actions.reshape(-1, *rollout.actions.shape[2:])[batches.steps])
        output, asked_values = self.network(batches.whole)
        log_probs, _ = self._distribution.log_prob_and_entropy(output, actions)
        values = np.zeros(rollout.asked.size, dtype=np.float32)
        values[batches.steps] = asked_values.numpy()
        tail_values = self.network.values(tail_inputs(rollout.tails)).numpy()
        count, final_values = shape[1], np.zeros(rollout.asked.size, dtype=np.float32)
        final_values[rollout.tails.steps[:-count]] = tail_values[:-count]
        gamma = np.float32(self._config.discount)
        advantages = estimate_advantages(
            rollout.rewards * scale,
            values.reshape(shape),
            tail_values[-count:],
            asked=rollout.asked,
            done=rollout.done,
            final_values=final_values.reshape(shape),
            discounts=np.where(rollout.ticked, gamma, np.float32(1.0)),
            lambda_=self._lambda,
        ).reshape(-1)[batches.steps]
        before = values[batches.steps]
        return (
            Targets(actions, log_probs, torch.from_numpy(advantages), torch.from_numpy(advantages + before)),
            before,
        )

    @torch.no_grad()
    def _metrics(
        self, whole: Batch, values: NDArray[np.float32], gradient_norm: float, learning_rate: float
    ) -> UpdateMetrics:
        losses = self.losses(whole)
        log_ratios, targets = losses.log_ratios, whole.targets.values.numpy()
        ratios = log_ratios.exp()
        with np.errstate(over="ignore", invalid="ignore"):  # of a run that diverged, which is said below
            variance, missed = float(targets.var()), float((targets - values).var())
        metrics = UpdateMetrics(
            policy_loss=float(losses.policy),
            value_loss=float(losses.value),
            entropy=float(losses.entropy),
            approximate_kl=float((ratios - 1.0 - log_ratios).mean()),
            clip_fraction=float(((ratios - 1.0).abs() > self._clip).float().mean()),
            explained_variance=1.0 - missed / variance if variance else 0.0,
            gradient_norm=gradient_norm,
            learning_rate=learning_rate,
        )
        if not (np.isfinite(metrics.policy_loss + metrics.value_loss) and self.optimiser.finite):
            raise diverged(
                f"policy loss {metrics.policy_loss:g}, value loss {metrics.value_loss:g}, "
                f"weights {'finite' if self.optimiser.finite else 'not finite'}"
            )
        return metrics
