"""Remote: the half of the tick protocol beside the policy. No I/O, no clock.

::

    observation of tick k --> state at k --predict over what the edge will play at k .. k+D-1--> state at k+D
                                                                                                   | decide
    action frame  <-- decisions for k+1 .. k+D, no holes <-----------------------------------------'

Each target tick is decided once and later frames repeat the decision: whichever frame gets through, the edge
plays the same, and what is pending is known here without being told. A target whose own observation (D ticks
before) was lost is decided by prediction when the next one comes. At an episode's beginning the first target
is D ticks after its first tick, and after a silence of D ticks or more, in which all that was pending has run
out, it is D ticks after the observation that ends it.

What the edge plays at k .. k+D-1, which prediction needs: the decision for that tick where there is one, else
neutral. The observation already shows what earlier ticks did, missed ones included, so only these D matter.
That the pending decisions arrive in time is an assumption: D copies leave for each, and a horizon that fits
the link makes it true (``netlab.traces.horizon``). Where it was wrong, the next observation puts the state right.
Assuming instead that what left less than a typical round trip ago is missed was tried: it never scored more,
and much less with a pessimistic round trip.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.control.actuator import MAX_AHEAD_TICKS
from netlab.control.counters import RemoteCounters
from netlab.control.policy import Persistence, Policy, Predictor
from netlab.control.values import Value, ValueCodec
from netlab.errors import RemoteProtocolError, SpecError
from netlab.messages import Action, Observation, TaskDescription

__all__ = ["Remote"]


class _Decided(Struct, frozen=True):
    """A decision, for prediction and for the wire."""

    action: Value
    encoded: bytes


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
        self._decided_until = -1

    def receive(self, observation: Observation) -> Action | None:
        """Return the answer to an observation, or None where it is of no use (counted).

        Raises:
            LocalProtocolError: The policy offers an action that is not of the task's space.
        """
        self.counters.observations += 1
        state = self._accept(observation)
        if state is None:
            return None
        self._decide(state)
        first, until = self._tick + 1, self._decided_until
        while first not in self._decided:
            first += 1
        encoded = b"".join([self._decided[target].encoded for target in range(first, until + 1)])
        self.counters.answered += 1
        return Action(observation.run, observation.episode, self._tick, first, until + 1 - first, encoded)

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
            self._decided_until = observation.tick - observation.history_ticks + self.horizon_ticks - 1
            self._policy.reset()
        self._tick = observation.tick
        return state

    def _decide(self, state: NDArray[np.generic]) -> None:
        """Decide every target up to D ticks after the newest observation that has not been decided.

        Args:
            state: That observation, ``[*shape]``.
        """
        tick, horizon, decided = self._tick, self.horizon_ticks, self._decided
        for past in [target for target in decided if target < tick]:
            del decided[past]
        first = self._decided_until + 1 if self._decided_until > tick else tick + horizon
        for now in range(tick, tick + horizon):
            pending = decided.get(now)
            state = self._predictor.predict(state, None if pending is None else pending.action)
            if now + 1 >= first:
                action = self._policy.decide(state)
                decided[now + 1] = _Decided(action, self._actions.encode(action))
        self.counters.decisions += tick + horizon + 1 - first
        self.counters.decided_by_prediction += tick + horizon - first
        self._decided_until = tick + horizon
