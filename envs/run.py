"""run_env_service: from what a person asks for to a running EnvService; what ``netlab env run`` calls.

Names become objects here, once; beyond this file nobody asks which actuator or fallback it is.
"""

from __future__ import annotations

import contextlib
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Literal

from msgspec import Struct

import netlab
from netlab.control.actuator import Actuator, Newest, Scheduled
from netlab.control.edge import Edge
from netlab.control.fallback import Fallback, Hold, Local, Neutral
from netlab.control.policy import Policy
from netlab.envs.loop import RealTimeLoop
from netlab.envs.registry import DEFAULT_RATE_HZ, make_task
from netlab.envs.result import RunResult
from netlab.envs.service import EnvService, Progress
from netlab.envs.task import Task
from netlab.envs.tick_log import TickLog
from netlab.envs.uplink import Uplink
from netlab.errors import SpecError
from netlab.messages import PROTOCOL_VERSION, Hello, TaskDescription
from netlab.wire.address import Address
from netlab.wire.dialer import Dialer
from netlab.wire.key import Key

__all__ = ["EnvConfig", "run_env_service"]


class EnvConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``netlab env run`` is asked for.

    Attributes:
        address: The agent's, ``host:port``.
        key_path: Key file; empty on loopback without a key.
        transport: ``datagram`` or ``stream``.
        task: Name of the task.
        rate_hz: Ticks a second.
        episodes: How many episodes.
        seed: Seed of the episodes' seeds.
        actuator: ``newest`` or ``scheduled``.
        horizon_ticks: D of ``scheduled``.
        fallback: ``neutral``, ``hold`` or ``local``.
        hold_limit_ticks: The most ticks in a row that ``hold`` holds.
        wait_s: How long to wait for the agent before the first episode.
        require_connection: Whether to give up then; else the run begins without it.
        start_path: Begin when this file appears, the agent being there; empty to begin at once.
        start_delay_s: Wait so long after that, so that several need not tick in the same instant.
        tick_log: File for one line of JSON a tick; empty for none.
    """

    address: str
    key_path: str = ""
    transport: Literal["datagram", "stream"] = "datagram"
    task: str = "CartPole-v1"
    rate_hz: float = DEFAULT_RATE_HZ
    episodes: int = 1
    seed: int = 0
    actuator: Literal["newest", "scheduled"] = "scheduled"
    horizon_ticks: int = 10
    fallback: Literal["neutral", "hold", "local"] = "neutral"
    hold_limit_ticks: int = 10
    wait_s: float = 10.0
    require_connection: bool = True
    start_path: str = ""
    start_delay_s: float = 0.0
    tick_log: str = ""


def run_env_service(
    config: EnvConfig,
    *,
    make_local_policy: Callable[[TaskDescription], Policy] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> RunResult:
    """Run an EnvService to its end, or until SIGTERM or Ctrl-C, which end it in order.

    Args:
        config: What is asked for.
        make_local_policy: Makes the policy of the ``local`` fallback; injected by the roof.
        progress: Told about once a second and after each episode; must return at once.

    Raises:
        SpecError: Something asked for does not exist or contradicts itself.
        AuthError: The key is missing or unsafe, or the agent does not share it.
        ConnectionLost: Nobody answered in time and a connection is required.
        RemoteProtocolError: The agent speaks another version, or does not serve this task.
    """
    if config.episodes < 1:
        raise SpecError(f"{config.episodes}: must be at least 1", key="episodes")
    with contextlib.ExitStack() as stack:
        task = make_task(config.task, config.rate_hz)
        stack.callback(task.close)
        edge = Edge(
            task.description,
            _make_actuator(config),
            _make_fallback(config, task.description, make_local_policy),
            run=secrets.randbits(64),
        )
        service = _make_service(config, task, edge, progress)
        stack.enter_context(_stop_on_signals(service))
        return service.run()


def _make_service(
    config: EnvConfig, task: Task, edge: Edge, progress: Callable[[Progress], None] | None
) -> EnvService:
    key = Key.read(config.key_path) if config.key_path else None
    dialer = Dialer(Address.parse(config.address), key, _say_hello(task, edge), config.transport)
    return EnvService(
        task,
        Uplink(dialer),
        edge,
        RealTimeLoop(config.rate_hz),
        episodes=config.episodes,
        seed=config.seed,
        wait_s=config.wait_s,
        require_connection=config.require_connection,
        may_start=Path(config.start_path).exists if config.start_path else lambda: True,
        start_delay_s=config.start_delay_s,
        progress=progress,
        tick_log=TickLog(config.tick_log) if config.tick_log else None,
    )


def _say_hello(task: Task, edge: Edge) -> Hello:
    return Hello(
        protocol=PROTOCOL_VERSION,
        version=netlab.__version__,
        run=edge.run,
        task=task.description,
        horizon_ticks=edge.actuator.horizon_ticks,
    )


def _make_actuator(config: EnvConfig) -> Actuator:
    return Newest() if config.actuator == "newest" else Scheduled(config.horizon_ticks)


def _make_fallback(
    config: EnvConfig,
    task: TaskDescription,
    make_local_policy: Callable[[TaskDescription], Policy] | None,
) -> Fallback:
    if config.fallback == "neutral":
        return Neutral()
    if config.fallback == "hold":
        return Hold(config.hold_limit_ticks)
    if make_local_policy is None:
        raise SpecError("the local fallback has no policy", key="fallback", hint="name one: --local-policy")
    return Local(make_local_policy(task))


@contextlib.contextmanager
def _stop_on_signals(service: EnvService) -> Iterator[None]:
    """Let SIGTERM and Ctrl-C end the run in order; only the main thread may ask for signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        service.stop(signal.Signals(number).name)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
