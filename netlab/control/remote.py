"""Remote: the half of the tick protocol beside the policy. No I/O, no clock.

::

    observation of tick k --> state at k --predict over what the edge will play at k .. k+D-1--> state at k+D
                                                                                                   | decide
    action frame  <-- decisions for k+1 .. k+D, no holes <-----------------------------------------'

Each target tick is decided once; later frames repeat the decision, so it is the same whichever frame gets
through. A target whose own observation (D ticks before) was lost is decided by prediction when the next one
comes, and so are the first D targets of an episode.

What the edge will play at a tick t in k .. k+D-1, which prediction needs to know:

* t was in a frame that the edge has (the observation says how old its newest one is): that decision, surely.
* Otherwise, if a frame with it left early enough to arrive by t on the shortest round trip seen lately: that
  decision, since each of the D frames that repeat it would have to be lost for it not to come.
* Otherwise it cannot be there in time: neutral. So is a tick never decided (an episode's beginning, a gap
  longer than the horizon, another agent before this one).
"""

from __future__ import annotations

from collections import deque

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.control.actuator import MAX_AHEAD_TICKS
from netlab.control.counters import RemoteCounters
from netlab.control.policy import Persistence, Policy, Predictor
from netlab.control.values import Value, ValueCodec
from netlab.errors import RemoteProtocolError, SpecError
from netlab.messages import HISTORY_TICKS, Action, Observation, TaskDescription

__all__ = ["Remote"]


class _Decided(Struct, frozen=True):
    """A decision and the tick of the observation whose answer first carried it."""

    action: Value
    encoded: bytes
    sent_tick: int


class Remote:
    """Answer each new observation of one session with the decisions for the ticks to come.

    Args:
        task: What is controlled, from the Hello.
        policy: Decides; used by this remote alone.
        predictor: Says what follows an observation; persistence where None.
        horizon_ticks: D, from the Hello.
        run: The session's run; observations of another are dropped. None takes the first one's.

    Raises:
        SpecError: A horizon out of range, or a space that contradicts itself.
    """

    def __init__(
        self,
        task: TaskDescription,
        policy: Policy,
        predictor: Predictor | None = None,
        horizon_ticks: int = 1,
        run: int | None = None,
    ) -> None:
        if not 1 <= horizon_ticks <= MAX_AHEAD_TICKS:
            raise SpecError(f"{horizon_ticks}: must be 1 .. {MAX_AHEAD_TICKS}", key="horizon_ticks")
        self.task = task
        self.horizon_ticks = horizon_ticks
        self.counters = RemoteCounters()
        self._policy = policy
        self._predictor = Persistence() if predictor is None else predictor
        self._run = run
        self._observations = ValueCodec(task.observation)
        self._actions = ValueCodec(task.action)
        self._episode = -1
        self._tick = -1
        self._decided: dict[int, _Decided] = {}
        self._round_trips: deque[int] = deque(maxlen=HISTORY_TICKS)

    def receive(self, observation: Observation) -> Action | None:
        """Return the answer to an observation, or None where it is of no use (counted).

        Raises:
            LocalProtocolError: The policy offers an action that is not of the task's space.
        """
        self.counters.observations += 1
        state = self._accept(observation)
        if state is None:
            return None
        tick, horizon = observation.tick, self.horizon_ticks
        if observation.newest_age_ticks > 0:
            self._round_trips.append(observation.newest_age_ticks)
        self._decide(state, tick, observation.newest_age_ticks)
        decided = self._decided
        encoded = b"".join([decided[target].encoded for target in range(tick + 1, tick + horizon + 1)])
        self.counters.answered += 1
        return Action(observation.run, observation.episode, tick, tick + 1, horizon, encoded)

    def _accept(self, observation: Observation) -> NDArray[np.generic] | None:
        """Return the state that an observation holds if it is valid and newer than all before."""
        counters = self.counters
        if self._run is None:
            self._run = observation.run
        if observation.run != self._run:
            counters.dropped_other_run += 1
            return None
        if observation.episode < self._episode:
            counters.dropped_old_episode += 1
            return None
        if observation.tick <= self._tick:
            if observation.tick == self._tick:
                counters.dropped_duplicate += 1
            else:
                counters.dropped_overtaken += 1
            return None
        try:
            state = np.asarray(self._observations.decode(observation.payload))
        except RemoteProtocolError:
            counters.dropped_invalid += 1
            return None
        if observation.episode > self._episode:
            self._episode = observation.episode
            self._decided.clear()
            self._policy.reset()
        self._tick = observation.tick
        return state

    def _decide(self, state: NDArray[np.generic], tick: int, newest_age_ticks: int) -> None:
        """Decide every target up to ``tick + D`` that has not been decided.

        Args:
            state: The observation at ``tick``.
            tick: k.
            newest_age_ticks: As in the observation.
        """
        horizon, decided = self.horizon_ticks, self._decided
        for past in [target for target in decided if target < tick]:
            del decided[past]
        # All that the edge's newest frame carried is there, whatever the round trip.
        known_until = tick - newest_age_ticks + horizon if newest_age_ticks >= 0 else -1
        round_trip = min(self._round_trips, default=1)
        policy, predictor = self._policy, self._predictor
        for now in range(tick, tick + horizon):
            pending = decided.get(now)
            if pending is not None and now > known_until and pending.sent_tick + round_trip > now:
                pending = None
            state = predictor.predict(state, None if pending is None else pending.action)
            target = now + 1
            if target not in decided:
                action = policy.decide(state)
                decided[target] = _Decided(action, self._actions.encode(action), tick)
                self.counters.decisions += 1
                self.counters.decided_by_prediction += target < tick + horizon
