"""LocalMode: no network: what is asked about a tick is answered before that tick is played.

::

    EnvService, Edge --observation--> DirectChannel --> Responder(Remote, policy)
                     <---- action ----'    in the same call

The services' own state machines in a time that only passes: by turns, which is Gymnasium's lock step; at the
task's own pace where actions are scheduled.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import structs
from numpy.typing import NDArray

import netlab
from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.clock_name import VIRTUAL
from netlab.control.actuators import make_actuator
from netlab.control.edge import Edge
from netlab.control.remote import Remote
from netlab.control.responder import Responder
from netlab.control.values import Value
from netlab.envs.loop import RealTimeLoop
from netlab.envs.make_fallback import make_fallback
from netlab.envs.registry import make_task
from netlab.envs.service import EnvService
from netlab.envs.task import Step, Task
from netlab.envs.tick_log import TickLog
from netlab.envs.uplink import Uplink
from netlab.envs.virtual.seeds import RUN
from netlab.episode.network import EventClock, ModelDialer
from netlab.errors import LocalProtocolError
from netlab.machine import machine
from netlab.messages import PROTOCOL_VERSION, Message, Observation, Welcome
from netlab.modes.mode import Played, Say
from netlab.modes.plan import RunPlan
from netlab.modes.request import Between
from netlab.wire.channel import Received
from netlab.wire.statistics import Statistics

__all__ = ["DirectChannel", "LocalMode"]

_ANY_FD = 0
"""Stands for a descriptor: who waits for it asks the clock."""
_NO_DEADLINES = "deadline misses and lateness: this time passes while nothing is computed, so no tick can be late"


class LocalMode:
    """One process and no network: CALF's Mode 1."""

    name = "local"
    between: Between = "nothing"

    def play(self, plan: RunPlan, ticks: Path | None, say: Say) -> Played:
        """Play at once; see ``Mode``."""
        task = make_task(plan.task.name, plan.task.rate_hz, plan.options)
        if not ACTUATOR_TRAITS[plan.actuator].has_horizon:  # what is scheduled waits for its tick anyway
            task = _InTurns(task)
        clock = EventClock()
        policy, predictor = plan.recipe.make(task.description, plan.seed)
        remote = Remote(task.description, predictor, plan.horizon_ticks, RUN, plan.actuator)
        channel = DirectChannel(clock, Responder(remote, policy))
        welcome = Welcome(
            protocol=PROTOCOL_VERSION,
            version=netlab.__version__,
            policy=plan.name,
            policy_sha256=plan.recipe.sha256,
        )
        fallback = make_fallback(plan.fallback)
        try:
            service = EnvService(
                task,
                Uplink(ModelDialer(channel, welcome), clock.now_s),
                Edge(task.description, make_actuator(plan.actuator, plan.horizon_ticks), fallback, RUN),
                RealTimeLoop(plan.task.rate_hz, clock),
                episodes=plan.episodes,
                seed=plan.seed,
                tick_log=None if ticks is None else TickLog(str(ticks)),
            )
            result = service.run()
        finally:
            task.close()
        run = structs.replace(result.without_deadlines(_NO_DEADLINES), machine=machine("none", VIRTUAL))
        return Played(run=run)


class DirectChannel:
    """A ``netlab.wire.channel.Channel`` that has the answer when a message has been sent.

    Args:
        clock: Its time.
        responder: Answers.
    """

    peer = "the policy in this process"

    def __init__(self, clock: EventClock, responder: Responder) -> None:
        self.statistics = Statistics()
        self._clock = clock
        self._responder = responder
        self._answers: list[Received] = []
        self._is_closed = False
        clock.is_readable = lambda: bool(self._answers)

    def send(self, message: Message) -> bool:
        """Have an observation answered; see ``Channel.send``."""
        if self._is_closed:
            raise LocalProtocolError("the channel to the policy in this process is closed")
        self.statistics.frames_sent += 1
        if isinstance(message, Observation):
            action = self._responder.receive(message)
            if action is not None:
                self._answers.append(Received(action, self._clock.now_s()))
        return True

    def receive(self, timeout_s: float = 0.0) -> list[Received]:
        """Take the answers; see ``Channel.receive``."""
        answers, self._answers = self._answers, []
        return answers

    def fileno(self) -> int:
        """Return a stand-in: the clock knows whether there is an answer."""
        return -1 if self._is_closed else _ANY_FD

    def close(self, reason: str = "closed") -> None:
        """Take no more."""
        self._is_closed = True


class _InTurns:
    """A task each of whose ticks waits for what is decided about it, whatever its own pace."""

    def __init__(self, task: Task) -> None:
        self.description = structs.replace(task.description, pace="turn-based")
        self._task = task

    def reset(self, seed: int) -> NDArray[Any]:
        return self._task.reset(seed)

    def step(self, action: Value | None) -> Step:
        return self._task.step(action)

    def close(self) -> None:
        self._task.close()
