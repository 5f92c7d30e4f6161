"""Remote: the half of the tick protocol beside the policy. No I/O, no clock, and no policy: it asks.

::

    observation of tick k --> state at k --predict over what the edge will play at k .. k+D-1--> state at k+D
                                                                                                   | question
    answer: action frame  <-- decisions for k+1 .. k+D, no holes <---------- decide(action) <------'

One observation opens as many questions as there are targets to decide, usually one: ``netlab.control.agenda``
knows which. They are asked in order, each on a state predicted over the answers to those before it; only when
all are decided is there a frame. Whichever frame gets through, the edge plays the same, and what is pending is
known here without being told.

What the edge plays from k to the tick before the target, which prediction needs: the decision for that tick
where there is one, else neutral. The observation already shows what earlier ticks did, missed ones included, so
only these matter. That the pending decisions arrive in time is an assumption: D copies leave for each, and a
horizon that fits the link makes it true (``netlab.traces.horizon``). Where it was wrong, the next observation
puts the state right. Assuming instead that what left less than a typical round trip ago is missed was tried: it
never scored more, and much less with a pessimistic round trip.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netlab.control.agenda import make_agenda
from netlab.control.counters import RemoteCounters
from netlab.control.decided import Decided
from netlab.control.horizon import Horizon
from netlab.control.policy import Persistence, Predictor
from netlab.control.question import Question
from netlab.control.values import Value, ValueCodec
from netlab.errors import LocalProtocolError, RemoteProtocolError
from netlab.messages import Action, ActuatorName, Observation, TaskDescription

__all__ = ["Remote"]


class Remote:
    """Ask what to do at the ticks to come and put the answers into frames, for one session.

    Args:
        task: What is controlled, from the Hello.
        predictor: Says what follows an observation; persistence where None.
        horizon: D in ticks, ``ADAPTIVE_HORIZON``, or what says it, observation by observation.
        run: The session's run; observations of another are dropped. None takes the first one's.
        actuator: Name of the edge's actuator, from the Hello.

    Attributes:
        episode: Number of the episode of the newest observation; -1 before the first.
        question: What is to be decided next; None where all is decided.

    Raises:
        SpecError: A horizon out of range, or a space that contradicts itself.
    """

    def __init__(
        self,
        task: TaskDescription,
        predictor: Predictor | None = None,
        horizon: int | Horizon = 1,
        run: int | None = None,
        actuator: ActuatorName = "newest",
    ) -> None:
        self.task = task
        self.counters = RemoteCounters()
        self.episode = -1
        self.question: Question | None = None
        self._agenda = make_agenda(actuator, task, horizon)
        self._predictor = Persistence() if predictor is None else predictor
        self._run = run
        self._observations = ValueCodec(task.observation)
        self._actions = ValueCodec(task.action)
        self._observation: Observation | None = None
        self._tick = -1
        self._seen: NDArray[np.generic] = np.empty(0)

    @property
    def horizon_ticks(self) -> int:
        """Return D as it is now."""
        return self._agenda.horizon_ticks

    def receive(self, observation: Observation) -> bool:
        """Take in an observation; return whether it is of use: then it opens its questions and is to be answered.

        Questions on an older observation that are still open are asked anew, on this one.
        """
        self.counters.observations += 1
        seen = self._accept(observation)
        if seen is None:
            return False
        self._agenda.open(observation, begins_episode=observation.episode > self.episode)
        self.episode, self._tick = observation.episode, observation.tick
        self._observation, self._seen = observation, seen
        self.question = self._ask(self._tick, seen, ())
        return True

    def decide(self, action: Value) -> None:
        """Answer the open question, which opens the next one if there is one.

        Raises:
            LocalProtocolError: None is open, or the action is not of the task's space.
        """
        question = self.question
        if question is None:
            raise LocalProtocolError("a decision on no question: none is open until an observation comes")
        self._agenda.decide(question.target_tick, Decided(action, self._actions.encode(action)))
        self.question = self._ask(question.target_tick, question.state, question.pending)
        self.counters.decisions += 1
        self.counters.decided_by_prediction += self.question is not None

    def answer(self) -> Action:
        """Return the frame that answers the newest observation; to be called once for each that was of use.

        Raises:
            LocalProtocolError: A question is open, or there has been no observation.
        """
        observation = self._observation
        if observation is None or self.question is not None:
            raise LocalProtocolError("an answer before all questions of an observation are decided")
        first, decided = self._agenda.answer()
        encoded = b"".join([one.encoded for one in decided])
        self.counters.answered += 1
        return Action(
            observation.run, observation.episode, self._tick, first, len(decided), encoded, observation.turn
        )

    def _ask(self, tick: int, state: NDArray[np.generic], pending: tuple[Value | None, ...]) -> Question | None:
        """Return the question on the next target, if there is one.

        Args:
            tick: Where prediction stands.
            state: The state there, ``[*shape]``.
            pending: What is decided for the ticks from the observation's to the one before that.
        """
        target, observation = self._agenda.next_target(), self._observation
        if observation is None or target is None:
            return None
        passed = list(pending)
        for now in range(tick, target):
            due = self._agenda.due(now)
            action = None if due is None else due.action
            passed.append(action)
            state = self._predictor.predict(state, action)
        return Question(target, state, observation, self._seen, tuple(passed))

    def _accept(self, observation: Observation) -> NDArray[np.generic] | None:
        """Return the state that an observation holds if it is valid and newer than all before."""
        counters = self.counters
        if self._run is None:
            self._run = observation.run
        if observation.run != self._run:
            counters.dropped_other_run += 1
            return None
        if observation.episode < self.episode:
            counters.dropped_old_episode += 1
            return None
        if observation.tick <= self._tick:
            if observation.tick == self._tick:
                counters.dropped_duplicate += 1
            else:
                counters.dropped_overtaken += 1
            return None
        try:
            return np.asarray(self._observations.decode(observation.payload))
        except RemoteProtocolError:
            counters.dropped_invalid += 1
            return None
