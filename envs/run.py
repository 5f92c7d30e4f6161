"""run_env_service: from what a person asks for to a running EnvService; what ``netlab env run`` calls.

Names become objects here, once; beyond this file nobody asks which actuator or fallback it is.
"""

from __future__ import annotations

import contextlib
import functools
import secrets
from collections.abc import Callable, Mapping

from msgspec import structs

import netlab
from netlab.clock_name import in_virtual_time
from netlab.control.actuators import make_actuator
from netlab.control.edge import Edge
from netlab.control.policy import Policy
from netlab.envs.agent_watch import AgentWatch
from netlab.envs.config import EnvConfig
from netlab.envs.loop import RealTimeLoop
from netlab.envs.make_fallback import make_fallback
from netlab.envs.registry import make_task
from netlab.envs.result import RunResult
from netlab.envs.service import EnvService, Progress
from netlab.envs.start_file import StartFile
from netlab.envs.task import Task
from netlab.envs.tick_log import TickLog
from netlab.envs.uplink import Uplink
from netlab.messages import PROTOCOL_VERSION, Hello, TaskDescription
from netlab.stop_signals import stop_on_signals
from netlab.wire.address import Address
from netlab.wire.dialer import Dialer
from netlab.wire.key import Key

__all__ = ["EnvConfig", "run_env_service"]

_NO_DEADLINES = "deadline misses and lateness: in virtual time computing is free, so no tick can be late"


def run_env_service(
    config: EnvConfig,
    *,
    make_local_policy: Callable[[TaskDescription], Policy] | None = None,
    progress: Callable[[Progress], None] | None = None,
    say: Callable[[str], None] = lambda line: None,
    machine: Mapping[str, object] | None = None,
) -> RunResult:
    """Run an EnvService to its end, or until SIGTERM or Ctrl-C, which end it in order.

    Args:
        config: What is asked for.
        make_local_policy: Makes the policy of the ``local`` fallback; injected by the roof.
        progress: Told about once a second and after each episode; must return at once.
        say: Takes a line for a person when the agent is waited for, lost or back; must return at once.
        machine: What the result says of this machine; from the roof, which knows the kernel.

    Raises:
        SpecError: Something asked for does not exist or contradicts itself.
        AuthError: The key is missing or unsafe, or the agent does not share it.
        ConnectionLost: Nobody answered in time and a connection is required.
        RemoteProtocolError: The agent speaks another version, or does not serve this task.
    """
    config.check()
    with contextlib.ExitStack() as stack:
        task = make_task(config.task, config.rate_hz, config.options)
        stack.callback(task.close)
        make_policy = None if make_local_policy is None else functools.partial(make_local_policy, task.description)
        edge = Edge(
            task.description,
            make_actuator(config.actuator, 1 if config.horizon_ticks is None else config.horizon_ticks),
            make_fallback(config.fallback, config.hold_limit_ticks, make_policy),
            run=secrets.randbits(64),
        )
        service = _make_service(config, task, edge, progress, say)
        stack.enter_context(stop_on_signals(service.stop))
        result = service.run()
    if in_virtual_time():
        result = result.without_deadlines(_NO_DEADLINES)
    return structs.replace(result, spec=config.public(), transport=config.transport, machine=dict(machine or {}))


def _make_service(
    config: EnvConfig,
    task: Task,
    edge: Edge,
    progress: Callable[[Progress], None] | None,
    say: Callable[[str], None],
) -> EnvService:
    key = Key.read(config.key_path) if config.key_path else None
    dialer = Dialer(Address.parse(config.address), key, _say_hello(task, edge, config.seed), config.transport)
    return EnvService(
        task,
        Uplink(dialer),
        edge,
        RealTimeLoop(task.description.rate_hz),
        episodes=config.episodes,
        seed=config.seed,
        wait_s=config.wait_s,
        require_connection=config.require_connection,
        may_start=StartFile(config.start_path).may_start if config.start_path else lambda episode: True,
        start_delay_s=config.start_delay_s,
        progress=progress,
        watch=AgentWatch(say, config.address, edge.fallback.name),
        tick_log=TickLog(config.tick_log) if config.tick_log else None,
    )


def _say_hello(task: Task, edge: Edge, seed: int) -> Hello:
    return Hello(
        protocol=PROTOCOL_VERSION,
        version=netlab.__version__,
        run=edge.run,
        seed=seed,
        task=task.description,
        horizon_ticks=edge.actuator.horizon_ticks,
        actuator=edge.actuator.name,
    )
