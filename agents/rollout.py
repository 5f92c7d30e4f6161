"""Rollout: T steps of N environments, as they were lived through; Collector fills it.

::

    Collector   now --Actor--> output --Sampler--> actions --VectorSteps--> outcome ; now := its moment
                 `--------------------------- Rollout: rows [t, n] -----------------'

The environments begin afresh now and then, and what was played since is kept: an environment cannot be saved, but
one that depends on its seed and on the actions alone can be brought back to where it was by playing them again.

Nothing here learns. Values are the learner's to compute, in one batch for all steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.agents.acting import Actor, Sampler, require_cells
from netlab.agents.episode_returns import EpisodeReturns
from netlab.agents.ppo_config import GridLayout
from netlab.agents.vector_steps import Moment, Outcome, VectorSteps
from netlab.errors import LearningError, SpecError

__all__ = ["Collector", "Rollout", "Tails", "diverged"]

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]


class Tails(Struct):
    """States behind the steps whose worth the critic is to estimate: of episodes cut off, and of the last steps.

    Attributes:
        steps: Index ``t * n + environment`` of the step each is behind, ``[m]``; the last n are the rollout's end.
        observations: ``[m, d]``.
        privileged: ``[m, p]``.
        states: Of the policy network, ``[2, m, units]``.
    """

    steps: NDArray[np.int64]
    observations: Floats
    privileged: Floats
    states: Floats


class Rollout(Struct):
    """Columns ``[t, n, ...]``, each row a step.

    Attributes:
        observations: What was seen before the step ``[t, n, d]``.
        privileged: What the critic saw beside it ``[t, n, p]``.
        actions: As drawn, ``[t, n]`` int64 or ``[t, n, m]`` float32.
        rewards: Unscaled.
        asked: Whether the action counted.
        starts: Whether an episode began with the step.
        done: Whether it ended with it.
        ticked: Whether time passed in it.
        first_state: State of the policy network before the first step ``[2, n, units]``.
        tails: States behind steps.
    """

    observations: Floats
    privileged: Floats
    actions: NDArray[Any]
    rewards: Floats
    asked: Bools
    starts: Bools
    done: Bools
    ticked: Bools
    first_state: Floats
    tails: Tails


class Collector:
    """Plays the present policy in the environments.

    Args:
        steps: The environments.
        moment: What is seen in them now.
        actor: The policy network.
        sampler: Draws from its output.
        horizon_steps: T.
        grid: Where observations have a grid whose numbers are to be refused if they are none.
    """

    def __init__(
        self,
        steps: VectorSteps,
        moment: Moment,
        actor: Actor,
        sampler: Sampler,
        horizon_steps: int,
        grid: GridLayout | None = None,
    ) -> None:
        self._grid = grid
        self._steps, self._now = steps, moment
        self._actor, self._sampler, self._horizon = actor, sampler, horizon_steps
        self._state = np.zeros((2, steps.count, actor.state_units), dtype=np.float32)
        self._played: list[NDArray[Any]] = []
        self.returns = EpisodeReturns(steps.count)

    @property
    def observations(self) -> Floats:
        """Return what is seen now, ``[n, d]``."""
        return self._now.observations

    @property
    def state(self) -> Floats:
        """Return the state of the policy network, ``[2, n, units]``."""
        return self._state

    @property
    def played(self) -> NDArray[Any]:
        """Return the actions since the last reset, ``[steps, n, ...]``; empty ``[0]`` where there are none."""
        return np.concatenate(self._played) if self._played else np.zeros(0, dtype=np.int64)

    def reset(self, seed: int) -> None:
        """Begin every environment afresh; episodes under way are cut off and count nowhere."""
        self._now = self._steps.reset(seed)
        self._state = np.zeros_like(self._state)
        self._played = []
        self.returns.forget_running()

    def play_again(self, seed: int, actions: NDArray[Any], observations: Floats, state: Floats) -> None:
        """Bring the environments to where they were.

        Args:
            seed: Of their last reset.
            actions: Played since, ``[steps, n, ...]``.
            observations: What was seen then, ``[n, d]``.
            state: Of the policy network then.

        Raises:
            SpecError: They are not where they were.
        """
        self.reset(seed)
        for row in actions:
            self._now = self._take(self._steps.step(self._sampler.played(row))).moment
        if not np.array_equal(self._now.observations, observations):
            hint = "resume with the environment, and the versions, that the checkpoint was made with"
            raise SpecError("the same actions lead the environments elsewhere than before", "", "resume", hint)
        self._state = np.array(state)
        self._played = [actions] if len(actions) else []

    def collect(self, rng: np.random.Generator) -> Rollout:
        """Play T steps.

        Raises:
            LearningError: The environments, or the policy network, gave numbers that are not finite.
        """
        rollout = self._empty()
        ends = CutEnds(rollout)
        recurrent, before = self._actor.state_units > 0, self._state
        for t in range(self._horizon):
            now = self._now
            if self._grid is not None:
                require_cells(now.observations[:, self._grid.start : self._grid.stop], self._grid)
            rollout.observations[t], rollout.privileged[t] = now.observations, now.privileged
            rollout.asked[t], rollout.starts[t] = now.asked, now.starts
            if recurrent:
                self._state[:, now.starts] = 0.0
                if t == 0:
                    rollout.first_state = self._state.copy()
            actions, after = self._draw(now, rng)
            if recurrent:
                before = np.where(now.asked[:, None], self._state, before)
                self._state = np.where(now.asked[:, None], after, self._state)
            rollout.actions[t] = actions
            outcome = self._take(self._steps.step(self._sampler.played(actions)))
            rollout.rewards[t], rollout.done[t] = outcome.rewards, outcome.done
            rollout.ticked[t] = outcome.ticked
            if outcome.cut.size:
                ends.cut(t, outcome, self._state, before)
            self._now = outcome.moment
        ends.last(self._now, self._state, before)
        rollout.tails = ends.tails()
        for name in ("observations", "privileged", "rewards"):  # before anything of it is written over
            _require_finite(name, getattr(rollout, name))
        for name in ("observations", "privileged"):
            _require_finite(f"last {name}", getattr(rollout.tails, name))
        ends.leave_out_open()
        self._played.append(rollout.actions.copy())
        return rollout

    def _take(self, outcome: Outcome) -> Outcome:
        self.returns.add(outcome.rewards, outcome.done)
        return outcome

    def _draw(self, now: Moment, rng: np.random.Generator) -> tuple[NDArray[Any], Floats]:
        """Return the actions drawn at a moment, and the next state of the policy network."""
        with np.errstate(over="ignore", invalid="ignore"):  # it is said below
            output, after = self._actor.act(now.observations, self._state)
            actions = self._sampler.sample(output, rng)
        if not (np.isfinite(output).all() and np.isfinite(actions).all()):
            _require_finite("observations", now.observations)
            raise diverged("the policy network puts out numbers that are not finite")
        return actions, after

    def _empty(self) -> Rollout:
        shape, now = (self._horizon, self._steps.count), self._now
        drawn, _ = self._draw(now, np.random.default_rng(0))
        return Rollout(
            observations=np.empty((*shape, now.observations.shape[1]), dtype=np.float32),
            privileged=np.empty((*shape, now.privileged.shape[1]), dtype=np.float32),
            actions=np.empty((*shape, *drawn.shape[1:]), dtype=drawn.dtype),
            rewards=np.empty(shape, dtype=np.float32),
            asked=np.empty(shape, dtype=bool),
            starts=np.empty(shape, dtype=bool),
            done=np.empty(shape, dtype=bool),
            ticked=np.empty(shape, dtype=bool),
            first_state=self._state,
            tails=_joined([]),
        )


class CutEnds:
    """Where the episodes of a rollout were cut off, by their time limit or by the rollout's own end.

    Args:
        rollout: What is being filled.
    """

    def __init__(self, rollout: Rollout) -> None:
        self._rollout = rollout
        self._parts: list[tuple[NDArray[Any], Floats, Floats, Floats]] = []
        self._open: list[tuple[int, Floats]] = []

    def cut(self, t: int, outcome: Outcome, state: Floats, before: Floats) -> None:
        """Note the episodes that step t cut off.

        Args:
            t: The step.
            outcome: Of it.
            state: Of the policy network behind it, ``[2, n, units]``.
            before: Of the policy network before each environment's last decision, ``[2, n, units]``.
        """
        cut, count = outcome.cut, self._rollout.asked.shape[1]
        steps = t * count + cut
        self._note_open(steps[~outcome.cut_asked], before[:, cut[~outcome.cut_asked]])
        self._parts.append((steps, outcome.cut_observations, outcome.cut_privileged, state[:, cut]))

    def last(self, now: Moment, state: Floats, before: Floats) -> None:
        """Note where each environment is behind the last step; see ``cut``."""
        steps, count = self._rollout.asked.shape
        last = (steps - 1) * count + np.arange(count)
        is_open = ~now.asked & ~self._rollout.done[-1]
        self._note_open(last[is_open], before[:, is_open])
        state = np.where(now.starts[:, None], np.float32(0.0), state)
        self._parts.append((last, now.observations, now.privileged, state))

    def _note_open(self, steps: NDArray[Any], before: Floats) -> None:
        self._open += [(int(step), before[:, number].copy()) for number, step in enumerate(steps)]

    def tails(self) -> Tails:
        """Return the states behind the steps that were noted."""
        return _joined(self._parts)

    def leave_out_open(self) -> None:
        """Let each of them end in a state that was asked about.

        What the critic believes of any other it never learned. So where one ends between a decision and the next
        question, that decision is left out, and the state it was made in is the last one.
        """
        for step, before in self._open:
            self._leave_out(step, before)

    def _leave_out(self, step: int, before: Floats) -> None:
        rollout, tails = self._rollout, self._rollout.tails
        end, n = divmod(step, rollout.asked.shape[1])
        decisions = np.flatnonzero(rollout.asked[: end + 1, n])
        if not decisions.size or rollout.done[decisions[-1] : end, n].any():
            return  # it was in the rollout before, and was left out there
        t, last = decisions[-1], np.flatnonzero(tails.steps == step)[0]
        left = slice(t, end + 1)
        rollout.asked[t, n], rollout.rewards[left, n], rollout.ticked[left, n] = False, 0.0, False
        tails.observations[last], tails.privileged[last] = rollout.observations[t, n], rollout.privileged[t, n]
        tails.states[:, last] = before


def _joined(parts: list[tuple[NDArray[Any], Floats, Floats, Floats]]) -> Tails:
    if not parts:
        nothing = np.zeros((0, 0), dtype=np.float32)
        return Tails(np.zeros(0, dtype=np.int64), nothing, nothing, nothing)
    steps, observations, privileged, states = zip(*parts, strict=True)
    return Tails(
        np.concatenate(steps),
        np.concatenate(observations),
        np.concatenate(privileged),
        np.concatenate(states, axis=1),
    )


def diverged(found: str) -> LearningError:
    """Return the error of a run whose networks are of no more use.

    Args:
        found: By what that was seen.
    """
    hint = "a smaller ppo.learning_rate, or a ppo.reward_scale that brings returns near 1 .. 100"
    return LearningError(f"the run has diverged: {found}", hint)


def _require_finite(name: str, numbers: NDArray[Any]) -> None:
    """Refuse what an environment gave."""
    if not np.isfinite(numbers).all():
        hint = "look for the step in which the environment first returned such a number"
        raise LearningError(f"{name} of the environments are not finite", hint)
