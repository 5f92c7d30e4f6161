"""play_on_model: a plan's episodes in one process and no time at all: netem's model instead of netem.

::

    EnvService, Edge  (of `netlab env run`) <-- ModelChannel, EventClock --> Remote  (of `netlab agent serve`)
                                                netlab/episode/network.py

What is missing here is what a kernel adds: the microseconds of sockets and processes, and the handshake.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

import netlab
from netlab.agents.policy import find_policy, make_policy
from netlab.clock_name import VIRTUAL
from netlab.control.actuators import make_actuator
from netlab.control.edge import Edge
from netlab.control.fallback import Fallback, Hold, Neutral
from netlab.control.remote import Remote
from netlab.control.responder import Responder
from netlab.envs.config import DEFAULT_HOLD_LIMIT_TICKS
from netlab.envs.loop import RealTimeLoop
from netlab.envs.registry import make_task
from netlab.envs.result import RunResult
from netlab.envs.service import EnvService
from netlab.envs.task import Task
from netlab.envs.tick_log import TickLog
from netlab.envs.uplink import Uplink
from netlab.episode.network import EventClock, ModelAgent, ModelChannel, ModelDialer, ModelDirection
from netlab.episode.run import EpisodePlan, EpisodeRun, read_ticks, until_goodbye
from netlab.errors import SpecError
from netlab.lab_impairment import DirectionPlan, plan_directions
from netlab.lab_recording import log_header
from netlab.machine import machine
from netlab.messages import PROTOCOL_VERSION, Message, Welcome
from netlab.namespaces.timeline import Track
from netlab.run_folder import run_folder
from netlab.traces.model.link_model import LinkModel
from netlab.traces.packets.packet_log import PacketLog
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import U32_MAX, QdiscState
from netlab.traces.seed import Direction, link_seed

__all__ = ["play_on_model"]

_RUN = 1 << 63
"""Identity of the run: like nearly all random ones as long as a 64-bit number can be on the wire."""
_FIRST_CHANGE = 1
"""Links are made with their change number 0, and begin the episode with number 1."""


def play_on_model(plan: EpisodePlan) -> EpisodeRun:
    """Play on the model.

    Raises:
        SpecError: The plan needs something that only a kernel has.
        ProfileError: A link does what the model cannot do.
    """
    _require_modelled(plan)
    with run_folder("model") as folder:
        ticks_file = folder / "ticks.jsonl"
        task = make_task(plan.episode.task, plan.rate_hz, plan.episode.options)
        try:
            model = _Model(plan, task)
            result = model.play(ticks_file)
        finally:
            task.close()
        ticks = read_ticks(ticks_file)
    records = [record for one in model.directions.values() for record in one.records]
    log = PacketLog.of(log_header(_machine()), records)
    packets = until_goodbye(log, plan, len(ticks))
    return EpisodeRun(result=result, ticks=ticks, packets=packets)


def _require_modelled(plan: EpisodePlan) -> None:
    hint = "run it on a kernel: --on guest, or --virtual-time"
    if plan.episode.transport != "datagram":
        problem = f"{plan.episode.transport!r}: the model has no TCP"
        raise SpecError(problem, plan.path, "episode.transport", hint)
    for name in plan.lab.media:
        raise SpecError("the model has no media that links share", plan.path, f"media.{name}", hint)
    for name, host in plan.lab.hosts.items():
        if host.command:
            raise SpecError("the model runs no programs", plan.path, f"hosts.{name}.command", hint)


class _Model:
    """Everything that plays, put together."""

    def __init__(self, plan: EpisodePlan, task: Task) -> None:
        episode, description = plan.episode, task.description
        self._plan = plan
        self._task = task
        self._clock = EventClock()
        self.directions = self._make_directions()
        inward: Direction = "back" if plan.outward == "forward" else "forward"
        policy, predictor = make_policy(plan.policy, description)
        remote = Remote(description, predictor, plan.horizon_ticks, _RUN, episode.actuator)
        responder = Responder(remote, policy)
        self._agent = ModelAgent(
            self._clock, responder, self.directions[inward], episode.inference_s, self._take_at_edge
        )
        self._channel = ModelChannel(self._clock, self.directions[plan.outward], self._agent.receive)

    def _take_at_edge(self, message: Message) -> None:
        self._channel.take(message)

    def _make_directions(self) -> dict[Direction, ModelDirection]:
        plan = self._plan
        planned = plan_directions(plan.pair, plan.link.full_name)
        return {one.direction: self._make_direction(one) for one in planned}

    def _make_direction(self, planned: DirectionPlan) -> ModelDirection:
        name, direction = self._plan.link.full_name, planned.direction

        def seed_of(step: int) -> int:
            return link_seed(self._plan.seed, name, direction, _FIRST_CHANGE + step)

        if planned.track is not None:
            track = msgspec.structs.replace(planned.track, seed_of=seed_of)
            made = ModelDirection(self._clock, name, direction, LinkModel(track.state(0)))
            self._play(track, 1, made.model)
            return made
        state = planned.first
        if isinstance(state, LinkProfile):
            state = state.to_qdisc_state(seed_of(0))
        # A direction without netem keeps nothing: whatever comes leaves at once.
        nothing = QdiscState(limit_packets=U32_MAX, seed=0)
        return ModelDirection(self._clock, name, direction, LinkModel(state or nothing))

    def _play(self, track: Track, step: int, model: LinkModel) -> None:
        """Have the next step of a schedule happen, which then asks for the one after it."""
        cue = track.cue(step)
        if cue is None:
            return

        def change() -> None:
            model.apply(track.state(step))
            self._play(track, step + 1, model)

        self._clock.at(round(cue.asked_s * 1e9), change)

    def play(self, ticks_file: Path) -> RunResult:
        """Play all episodes."""
        episode, description = self._plan.episode, self._task.description
        recipe = find_policy(self._plan.policy)
        welcome = Welcome(protocol=PROTOCOL_VERSION, version=netlab.__version__, policy=recipe.name)
        service = EnvService(
            self._task,
            Uplink(ModelDialer(self._channel, welcome), self._clock.now_s),
            Edge(
                description, make_actuator(episode.actuator, self._plan.horizon_ticks), _fallback(self._plan), _RUN
            ),
            RealTimeLoop(description.rate_hz, self._clock),
            episodes=episode.episodes,
            seed=self._plan.seed,
            tick_log=TickLog(str(ticks_file)),
        )
        return msgspec.structs.replace(service.run(), transport=episode.transport, machine=_machine())


def _machine() -> dict[str, object]:
    """Return what results of the model say of where they were computed."""
    return machine("model", VIRTUAL)


def _fallback(plan: EpisodePlan) -> Fallback:
    return Hold(DEFAULT_HOLD_LIMIT_TICKS) if plan.episode.fallback == "hold" else Neutral()
