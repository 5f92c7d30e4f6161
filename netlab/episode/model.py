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
from netlab.clock_name import VIRTUAL
from netlab.control.actuators import make_actuator
from netlab.control.edge import Edge
from netlab.control.remote import Remote
from netlab.control.responder import Responder
from netlab.envs.loop import RealTimeLoop
from netlab.envs.make_fallback import make_fallback
from netlab.envs.registry import make_task
from netlab.envs.result import RunResult
from netlab.envs.service import EnvService
from netlab.envs.task import Task
from netlab.envs.tick_log import TickLog
from netlab.envs.uplink import Uplink
from netlab.envs.virtual.seeds import RUN, change_seed
from netlab.episode.network import EventClock, ModelAgent, ModelChannel, ModelDialer, ModelDirection
from netlab.episode.played_packets import of_episodes, ticks_of_episodes
from netlab.episode.run import EpisodePlan, EpisodeRun, read_ticks
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
from netlab.traces.seed import Direction

__all__ = ["play_on_model"]

_NOTHING = QdiscState(limit_packets=U32_MAX, seed=0)
"""What a direction without netem does: it keeps nothing, whatever comes leaves at once."""


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
    records = [record for one in model.directions for record in one.records]
    log = PacketLog.of(log_header(_machine()), records)
    packets = of_episodes(log, plan, ticks_of_episodes(ticks), model.begun_ns)
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
    """Everything that plays, put together.

    Attributes:
        directions: Both ways of the link.
        begun_ns: When they were put afresh for each episode.
    """

    def __init__(self, plan: EpisodePlan, task: Task) -> None:
        episode, description = plan.episode, task.description
        self._plan = plan
        self._task = task
        self._clock = EventClock()
        self._planned = plan_directions(plan.pair, plan.link.full_name)
        self.directions = [
            ModelDirection(self._clock, plan.link.full_name, one.direction, LinkModel(_NOTHING))
            for one in self._planned
        ]
        self.begun_ns: list[int] = []
        self._settled_ns: int | None = None
        ways = {way.direction: way for way in self.directions}
        inward: Direction = "back" if plan.outward == "forward" else "forward"
        policy, predictor = plan.recipe.serve(description, plan.seed)
        remote = Remote(description, predictor, plan.horizon_ticks, RUN, episode.actuator)
        responder = Responder(remote, policy)
        self._agent = ModelAgent(self._clock, responder, ways[inward], episode.inference_s, self._take_at_edge)
        self._channel = ModelChannel(self._clock, ways[plan.outward], self._agent.receive)

    def _take_at_edge(self, message: Message) -> None:
        self._channel.take(message)

    def _may_start(self, episode: int) -> bool:
        """Tell whether nothing is under way any more; the links are then put afresh."""
        now_ns = self._clock.now_ns()
        if self._settled_ns is None:
            self._settled_ns = now_ns + (round(self._plan.settling_s * 1e9) if episode else 0)
        if now_ns < self._settled_ns:
            return False
        self._settled_ns = None
        self.begun_ns.append(now_ns)
        for planned, way in zip(self._planned, self.directions, strict=True):
            self._begin_anew(planned, way, episode)
        return True

    def _begin_anew(self, planned: DirectionPlan, way: ModelDirection, episode: int) -> None:
        name, direction = self._plan.link.full_name, planned.direction

        def seed_of(step: int) -> int:
            return change_seed(self._plan.seed, name, direction, episode, step)

        if planned.track is not None:
            track = msgspec.structs.replace(planned.track, seed_of=seed_of)
            way.model = LinkModel(track.state(0))
            self._play(track, 1, way.model, way)
            return
        state = planned.first
        if isinstance(state, LinkProfile):
            state = state.to_qdisc_state(seed_of(0))
        elif state is not None and state.seed is not None:
            state = state.replace(seed=seed_of(0))
        way.model = LinkModel(state or _NOTHING)

    def _play(self, track: Track, step: int, model: LinkModel, way: ModelDirection) -> None:
        """Have the next step of a schedule happen, which then asks for the one after it."""
        cue = track.cue(step)
        if cue is None:
            return

        def change() -> None:
            if way.model is model:  # the episode has not ended
                model.apply(track.state(step))
                self._play(track, step + 1, model, way)

        self._clock.at(self.begun_ns[-1] + round(cue.asked_s * 1e9), change)

    def play(self, ticks_file: Path) -> RunResult:
        """Play all episodes."""
        episode, description = self._plan.episode, self._task.description
        recipe = self._plan.recipe
        welcome = Welcome(
            protocol=PROTOCOL_VERSION, version=netlab.__version__, policy=recipe.name, policy_sha256=recipe.sha256
        )
        service = EnvService(
            self._task,
            Uplink(ModelDialer(self._channel, welcome), self._clock.now_s),
            Edge(
                description,
                make_actuator(episode.actuator, self._plan.horizon_ticks),
                make_fallback(episode.fallback),
                RUN,
            ),
            RealTimeLoop(description.rate_hz, self._clock),
            episodes=episode.episodes,
            seed=self._plan.seed,
            may_start=self._may_start,
            tick_log=TickLog(str(ticks_file)),
        )
        return msgspec.structs.replace(service.run(), transport=episode.transport, machine=_machine())


def _machine() -> dict[str, object]:
    """Return what results of the model say of where they were computed."""
    return machine("model", VIRTUAL)
