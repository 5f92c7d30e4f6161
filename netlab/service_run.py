"""run_services: both services of a control loop in two hosts of a lab, from their start to their result.

Roof::

    agent serve, env run --ready--> gate --> schedules play, episodes run --> ServiceResult
                 with `renew`: before each episode the links are put afresh, and it alone may begin

An experiment's labs, ``netlab lab run`` and the bench play by it; what they play is a ServicePlan.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.envs.result import RunResult
from netlab.envs.service import Progress
from netlab.errors import LabError
from netlab.lab import Lab
from netlab.messages import horizon_word
from netlab.namespaces.host import Host
from netlab.namespaces.link_plan import peer_variable
from netlab.namespaces.play_log import PlayerCounts
from netlab.namespaces.player import Player
from netlab.namespaces.process import HostProcess
from netlab.start_gate import StartGate

__all__ = ["POLL_S", "ServicePlan", "ServiceResult", "Stage", "netlab_command", "run_services"]

POLL_S = 0.1
_AGENT_PORT = 7447
_RESULT, _PROGRESS = "result.json", "progress.jsonl"
_START_BUDGET_S = 120
"""How long the services may take to start: on one busy CPU many interpreters start at once."""


class ServicePlan(Struct, frozen=True, kw_only=True):
    """What the two services do.

    Attributes:
        label: What messages call it.
        key_file: The key that both have.
        task: What is controlled.
        options: Numbers that change the task, by name.
        rate_hz: Ticks a second.
        transport: ``datagram`` or ``stream``.
        policy: What the agent serves.
        inference_s: What a decision is declared to cost in virtual time.
        actuator: ``newest``, ``scheduled``, ``planned`` or ``stop-and-wait``.
        horizon_ticks: D of ``scheduled`` or ``planned``; 0 leaves it to the agent.
        fallback: ``neutral`` or ``hold``.
        episodes: How many.
        seed: Of the episodes.
        start_delay_s: How long after the gate the ticks begin.
        tick_log: File for a line of JSON a tick; empty for none.
    """

    label: str
    key_file: Path
    task: str = "CartPole-v1"
    options: dict[str, float] = {}
    rate_hz: float = 50.0
    transport: str = "datagram"
    policy: str
    inference_s: float = 0.0
    actuator: str
    horizon_ticks: int
    fallback: str = "neutral"
    episodes: int
    seed: int
    start_delay_s: float = 0.0
    tick_log: str = ""


class Stage(NamedTuple):
    """Where the two services run.

    Attributes:
        lab: The lab, open.
        edge: The host of the environment.
        agent: The host of the policy, a neighbour of ``edge``.
        folder: Where they leave what they have to say.
    """

    lab: Lab
    edge: Host
    agent: Host
    folder: Path


class ServiceResult(NamedTuple):
    """What two services have done in a lab.

    Attributes:
        run: What the environment service reports.
        changes: How the lab's schedules were played; None without one.
    """

    run: RunResult
    changes: PlayerCounts | None


def run_services(
    stage: Stage,
    plan: ServicePlan,
    gate: StartGate,
    *,
    watch: Callable[[Progress], None] = lambda progress: None,
    renew: Callable[[int], None] | None = None,
    look_s: float = POLL_S,
) -> ServiceResult:
    """Start both services, let them play, and return what they report.

    Args:
        stage: Where.
        plan: What.
        gate: Told when they are ready; they begin when it opens.
        watch: Told of their progress.
        renew: Called before each episode, with its number, while the services wait; schedules begin again after
            it. None: episodes follow one another, and schedules go on.
        look_s: How often to look whether all is well; their end is seen at once.

    Raises:
        LabError: A program of the lab or what carries its packets died, or the gate was told to stop.
        KernelError: A step of a schedule was refused.
    """
    address = stage.edge.environment()[peer_variable(stage.agent.name)]
    stage.agent.start(_agent_command(plan, address))
    running = stage.edge.start(_env_command(plan, address, stage.folder, gate.path))
    start = _Start(stage.lab, gate, plan.episodes, renew)
    _watch_run(stage, plan, running, start, watch, look_s)
    stage.lab.check()
    run = msgspec.json.decode((stage.folder / _RESULT).read_bytes(), type=RunResult)
    return ServiceResult(run, None if start.player is None else start.player.counts)


def _watch_run(
    stage: Stage,
    plan: ServicePlan,
    running: HostProcess,
    start: _Start,
    watch: Callable[[Progress], None],
    look_s: float,
) -> None:
    """Wait for the end of a run."""
    tail = _ProgressTail(stage.folder / _PROGRESS)
    while running.poll() is None:
        stage.lab.check()
        if start.gate.stop.is_set():
            raise LabError(f"lab {plan.label} was stopped")
        news = tail.read()
        start.go_on(news)
        for progress in news:
            watch(progress)
        with contextlib.suppress(LabError):  # it still runs
            running.wait(look_s)


class _Start:
    """Lets the episodes of one lab begin, and its schedules with them.

    Args:
        lab: The lab.
        gate: Of its services.
        episodes: How many there are.
        renew: As ``run_services`` has it.

    Attributes:
        gate: The same.
        player: What plays the lab's schedules; None before, and where it has none.
    """

    def __init__(self, lab: Lab, gate: StartGate, episodes: int, renew: Callable[[int], None] | None) -> None:
        self.gate = gate
        self.player: Player | None = None
        self._lab = lab
        self._episodes = episodes
        self._renew = renew
        self._begun = 0
        self._is_ready = self._is_playing = False

    def go_on(self, news: Sequence[Progress]) -> None:
        """Let begin what can, by what the environment has said since it was last asked."""
        if news and self._renew is not None:
            self._begin_next(self._renew, len(news[-1].returns))
        elif news and not self._is_ready:
            self._is_ready = True
            self.gate.ready()
        if self.gate.is_open and not self._is_playing:
            # With the episodes, not with the lab: every lab is to meet the same part of the schedule.
            self._is_playing = True
            self.player = self._lab.play()

    def _begin_next(self, renew: Callable[[int], None], ended: int) -> None:
        """Let the next episode begin, if the one before has ended."""
        if ended < self._begun or self._begun == self._episodes:
            return
        renew(self._begun)
        self._begun += 1
        self._is_playing = False
        self.gate.let(self._begun)


def _agent_command(plan: ServicePlan, address: str) -> list[str]:
    return netlab_command(
        "agent", "serve",
        "--bind", f"{address}:{_AGENT_PORT}",
        "--key-file", plan.key_file,
        "--transport", plan.transport,
        "--policy", plan.policy,
        "--inference", f"{plan.inference_s:.9f}s",
    )  # fmt: skip


def _env_command(plan: ServicePlan, address: str, folder: Path, start_path: Path) -> list[str]:
    has_horizon = ACTUATOR_TRAITS[plan.actuator].has_horizon
    horizon = ["--horizon", horizon_word(plan.horizon_ticks)] if has_horizon else []
    tick_log = ["--tick-log", plan.tick_log] if plan.tick_log else []
    return netlab_command(
        "env", "run", plan.task,
        "--agent", f"{address}:{_AGENT_PORT}",
        "--key-file", plan.key_file,
        "--transport", plan.transport,
        "--actuator", plan.actuator,
        *horizon,
        *tick_log,
        "--fallback", plan.fallback,
        *(word for name, number in plan.options.items() for word in ("--option", f"{name}={number!r}")),
        "--rate", plan.rate_hz,
        "--episodes", plan.episodes,
        "--seed", plan.seed,
        "--wait", f"{_START_BUDGET_S}s",
        "--start-when", start_path,
        "--start-delay", f"{plan.start_delay_s}s",
        "--output", folder / _RESULT,
        "--progress-file", folder / _PROGRESS,
    )  # fmt: skip


def netlab_command(*words: object) -> list[str]:
    """Return the command line of one of our own commands."""
    # -P: a folder called netlab where we stand (a clone has that name) must not be taken for the package.
    return [sys.executable, "-P", "-m", "netlab", *(str(word) for word in words)]


class _ProgressTail:
    """Reads the lines that have been appended to a file since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_bytes = 0
        self._decode = msgspec.json.Decoder(Progress).decode

    def read(self) -> list[Progress]:
        """Return what is new; nothing while the file is not there yet."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read_bytes)
                new = file.read()
        except FileNotFoundError:
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        return [self._decode(line) for line in whole.splitlines()]
