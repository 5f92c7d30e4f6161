"""Edge: the half of the tick protocol beside the environment. No I/O, no clock: the caller has it.

::

    receive(frame)*  ->  observe(k, payload)  ->  play(k)      at each tick k of an episode
         |                    |                      |
     dropped, counted    Observation to send    what to apply at tick k

What has arrived when ``observe`` is called is what ``play`` chooses from: the observation's
``newest_age_ticks`` therefore tells the peer exactly what the edge has.

A tick always gets an action. A fallback that fails (a local policy is code of somebody else's) or offers what
is no action of the task costs that tick, which plays neutral and is counted; it does not end the loop.
"""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.control.actuator import MAX_AHEAD_TICKS, Actuator, Offer, Plan
from netlab.control.answers import AnswerRecord
from netlab.control.counters import EdgeCounters
from netlab.control.fallback import Fallback, Miss, Source
from netlab.control.histogram import Histogram
from netlab.control.values import Value, ValueCodec
from netlab.errors import LocalProtocolError, RemoteProtocolError
from netlab.messages import HISTORY_TICKS, Action, Observation, TaskDescription

__all__ = ["Edge", "Play"]

_HISTORY_MASK = (1 << HISTORY_TICKS) - 1


class Play(Struct, frozen=True):
    """What one tick applies.

    Attributes:
        action: The action; None is the task's neutral action.
        source: Where it came from.
        age_ticks: The tick minus the tick of the observation behind a remote action; -1 for a fallback.
    """

    action: Value | None
    source: Source
    age_ticks: int


class Edge:
    """Keep the actions that arrive, give each tick exactly one, count everything.

    Args:
        task: What is controlled.
        actuator: Which of the arrived decisions is played.
        fallback: What is played when there is none.
        run: Identity of the run, as in the Hello.
        first_episode: Number of the first episode that it plays.

    Raises:
        SpecError: A space of the task contradicts itself.
    """

    def __init__(
        self, task: TaskDescription, actuator: Actuator, fallback: Fallback, run: int, first_episode: int = 0
    ) -> None:
        self.task = task
        self.actuator = actuator
        self.fallback = fallback
        self.run = run
        self._first_episode = first_episode
        self.episode = first_episode - 1
        self.counters = EdgeCounters()
        """Counts of the current episode; ``begin_episode`` starts new ones."""
        self.ages = Histogram()
        """Ages at play of the current episode, in ticks."""
        self.horizon_ticks = actuator.horizon_ticks
        """How far the newest answer of the current episode reaches: D, as the remote has it."""
        self.fallback_fault = ""
        """How the fallback last failed; empty while it never did."""
        self._is_fallback_usable = True
        self._actions = ValueCodec(task.action)
        self._observations = ValueCodec(task.observation)
        self._begin(0)

    def begin_episode(self, tick: int) -> None:
        """Begin the next episode, the first tick of which is ``tick``; all that is pending is forgotten.

        Raises:
            LocalProtocolError: The tick has been observed before.
        """
        if self.episode >= self._first_episode and tick <= self._tick:
            raise LocalProtocolError(f"episode begins at tick {tick}: must be after tick {self._tick}")
        self.episode += 1
        self.counters = EdgeCounters()
        self.ages = Histogram()
        self._begin(tick)
        self.actuator.reset()
        try:
            self.fallback.reset()
            self._is_fallback_usable = True
        except Exception as error:  # whatever a local policy may raise
            self._note_fault(error)
            self._is_fallback_usable = False

    def _begin(self, tick: int) -> None:
        self.horizon_ticks = self.actuator.horizon_ticks
        self._newest_obs_tick = -1
        self._first_tick = tick
        self._tick = tick - 1
        self._played_tick = tick - 1
        self._payload = b""
        self._answers = AnswerRecord()
        self._played_remote = 0
        self._last_applied: Value | None = None
        self._last_remote: Value | None = None
        self._misses_in_a_row = 0

    def observe(self, tick: int, payload: bytes) -> Observation:
        """Return the observation frame of a tick.

        Args:
            tick: Above every earlier one; gaps are ticks that the loop skipped.
            payload: Raw bytes of the task's observation space.

        Raises:
            LocalProtocolError: A tick out of order, a payload of the wrong size, no episode.
        """
        if self.episode < self._first_episode or tick <= self._tick:
            raise LocalProtocolError(f"observation of tick {tick} after tick {self._tick}: ticks only rise")
        if len(payload) != self._observations.nbytes:
            raise LocalProtocolError(f"payload of {len(payload)} bytes: must be {self._observations.nbytes}")
        if tick - self._played_tick > 1:
            self._skip_to(tick)
        last = self._last_applied
        self._tick = tick
        self._payload = payload
        self._answers.send(tick)
        return Observation(
            self.run,
            self.episode,
            tick,
            payload,
            b"" if last is None else self._actions.encode(last),
            self._played_remote,
            min(tick - self._first_tick, HISTORY_TICKS),
            self._answers.newest_age_ticks,
            self._answers.loss_ratio,
            self.counters.played_remote,
        )

    def receive(self, action: Action) -> bool:
        """Take in an action frame; what is of no use is dropped and counted.

        Returns:
            Whether it is the first valid answer to its observation, be it in time or not.
        """
        counters = self.counters
        counters.frames_received += 1
        if action.run != self.run:
            counters.dropped_old_run += 1
            return False
        if action.episode < self.episode:
            counters.dropped_old_episode += 1
            return False
        plan = self._validate(action)
        if plan is None:
            counters.dropped_invalid += 1
            return False
        answers = self._answers
        if answers.is_answered(plan.obs_tick):
            counters.dropped_duplicate += 1
            return False
        answers.answer(plan.obs_tick)
        self._learn_horizon(plan)
        match self.actuator.offer(plan, self._played_tick + 1):
            case Offer.ACCEPTED:
                counters.frames_accepted += 1
            case Offer.STALE:
                counters.dropped_stale += 1
            case Offer.LATE:
                counters.dropped_late += 1
        return True

    def _learn_horizon(self, plan: Plan) -> None:
        if plan.obs_tick > self._newest_obs_tick:
            self._newest_obs_tick = plan.obs_tick
            end = plan.first_target_tick + len(plan.actions)
            self.horizon_ticks = end - plan.obs_tick - self.task.lead_ticks

    def play(self, tick: int) -> Play:
        """Return what to apply at the tick that was just observed.

        Raises:
            LocalProtocolError: Another tick than the one observed, or a second time.
        """
        if tick != self._tick or tick == self._played_tick:
            raise LocalProtocolError(
                f"play of tick {tick}: tick {self._tick} was observed, tick {self._played_tick} played"
            )
        counters = self.counters
        counters.ticks += 1
        self._played_tick = tick
        decision = self.actuator.take(tick)
        if decision is None:
            return self._fall_back()
        counters.played_remote += 1
        age_ticks = tick - decision.obs_tick
        self.ages.add(age_ticks)
        self._misses_in_a_row = 0
        self._played_remote = ((self._played_remote << 1) | 1) & _HISTORY_MASK
        self._last_applied = self._last_remote = decision.action
        return Play(decision.action, Source.REMOTE, age_ticks)

    def _fall_back(self) -> Play:
        self._misses_in_a_row += 1
        counters = self.counters
        action, source = self._ask_fallback()
        match source:
            case Source.HOLD:
                counters.missed_hold += 1
            case Source.LOCAL:
                counters.missed_local += 1
            case Source.NEUTRAL:
                counters.missed_neutral += 1
            case _:
                counters.missed_failed += 1
        self._played_remote = (self._played_remote << 1) & _HISTORY_MASK
        self._last_applied = action
        return Play(action, source, -1)

    def _ask_fallback(self) -> tuple[Value | None, Source]:
        """Return what the fallback plays, or neutral where it fails or offers what is no action."""
        if not self._is_fallback_usable:
            return None, Source.FAILED
        try:
            action, source = self.fallback.play(Miss(self._misses_in_a_row, self._last_remote, self._see))
            # The task gets what the bytes say: a policy's own int or array type stays outside.
            return None if action is None else self._actions.decode(self._actions.encode(action)), source
        except Exception as error:  # whatever a local policy may raise
            self._note_fault(error)
            return None, Source.FAILED

    def _note_fault(self, error: Exception) -> None:
        self.fallback_fault = " ".join("".join(traceback.format_exception_only(error)).split())

    def _see(self) -> NDArray[Any]:
        return np.asarray(self._observations.decode(self._payload))

    def _skip_to(self, tick: int) -> None:
        """Take note that the ticks since the last one played were skipped: nothing was applied at them."""
        self._played_remote = self._played_remote << min(tick - self._played_tick - 1, HISTORY_TICKS)
        self._played_remote &= _HISTORY_MASK
        self._last_applied = None

    def _validate(self, action: Action) -> Plan | None:
        """Return the plan that a frame of this run holds, or None where the peer is wrong."""
        reach = action.first_target_tick + action.n - 1
        if action.episode != self.episode or reach > self._tick + MAX_AHEAD_TICKS:
            return None
        if not self._answers.was_sent(action.obs_tick) or action.turn > self.counters.played_remote:
            return None
        try:
            values = self._actions.decode_many(action.actions, action.n)
        except RemoteProtocolError:
            return None
        return Plan(action.obs_tick, action.first_target_tick, values, action.turn)
