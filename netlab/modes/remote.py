"""RemoteMode: the environment here, its policy on another host that serves it; a real network between them.

::

    run_env_service  (as `netlab env run`) <====> `netlab agent serve --policy FILE`  there

The plan's policy says what to ask for: task, actuator, horizon. What decides is what the agent serves.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import structs

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.envs.config import EnvConfig
from netlab.envs.run import run_env_service
from netlab.envs.service import Progress
from netlab.errors import ConnectionLost
from netlab.machine import machine
from netlab.modes.mode import Played, Say
from netlab.modes.plan import RunPlan
from netlab.modes.request import Between

__all__ = ["RemoteMode"]

_NOBODY = "start `netlab agent serve` there, over datagrams as it does unless told; both need the same --key-file"


class RemoteMode:
    """An agent at an address.

    Args:
        address: Where ``netlab agent serve`` listens, ``host:port``.
        key_path: Key file; empty on loopback without a key.
        progress: Told about once a second and after each episode.
    """

    name = "remote"
    between: Between = "network"

    def __init__(self, address: str, key_path: str, progress: Callable[[Progress], None] | None = None) -> None:
        self._address = address
        self._key_path = key_path
        self._progress = progress

    def play(self, plan: RunPlan, ticks: Path | None, say: Say) -> Played:
        """Play over the real network; see ``Mode``."""
        config = EnvConfig(
            address=self._address,
            key_path=self._key_path,
            task=plan.task.name,
            options=plan.options,
            rate_hz=plan.task.rate_hz,
            episodes=plan.episodes,
            seed=plan.seed,
            actuator=plan.actuator,
            horizon_ticks=plan.horizon_ticks if ACTUATOR_TRAITS[plan.actuator].has_horizon else None,
            fallback=plan.fallback,
            tick_log="" if ticks is None else str(ticks),
        )
        config.check()
        try:
            run = run_env_service(config, progress=self._progress, say=say, machine=machine("network"))
        except ConnectionLost as error:  # its hint is for a command that has more options
            raise ConnectionLost(error.message, _NOBODY) from error
        if run.policy and _identity(run.policy, run.policy_sha256) != _identity(plan.name, plan.recipe.sha256):
            say(
                f"the agent serves {_words(run.policy, run.policy_sha256)}, and not "
                f"{_words(plan.name, plan.recipe.sha256)}: the result is that policy's"
            )
        return Played(run=structs.replace(run, spec=None))


def _identity(name: str, sha256: str) -> str:
    """Return what tells one policy from all others: of a file its bytes, as any file can have any name."""
    return sha256 or name


def _words(name: str, sha256: str) -> str:
    return f"{name!r} ({sha256[:12]})" if sha256 else f"{name!r}"
