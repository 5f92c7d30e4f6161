"""EnvConfig: what a run of an environment is asked for, with every default, in one place.

Loads msgspec alone: the command line takes its defaults from here before anything heavy is needed.
"""

from __future__ import annotations

import math
from typing import Literal

from msgspec import Struct, structs

from netlab.envs.clash import Clash, Combination, Words, refuse_clashes
from netlab.errors import SpecError
from netlab.messages import MAX_SEED, ActuatorName, FallbackName

__all__ = ["DEFAULT_HOLD_LIMIT_TICKS", "EnvConfig"]

DEFAULT_HOLD_LIMIT_TICKS = 10

_WORDS = {
    Clash.NO_HORIZON: Words(
        "horizon_ticks",
        "--horizon D; `netlab profile show PROFILE` prints the D of a link, docs/control.md says why",
    ),
    Clash.HORIZON: Words("horizon_ticks", "--actuator scheduled or planned, or no --horizon"),
    Clash.FALLBACK: Words("fallback", "--fallback neutral"),
    Clash.HOLD_LIMIT: Words("hold_limit_ticks", "--fallback hold, or no --hold-limit"),
}


class EnvConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``netlab env run`` is asked for.

    Attributes:
        address: The agent's, ``host:port``.
        key_path: Key file; empty on loopback without a key.
        transport: ``datagram`` or ``stream``.
        task: Name of the task.
        options: Numbers that change the task, by name (``netlab.envs.registry``).
        rate_hz: Ticks a second; None is the task's own rate.
        episodes: How many episodes.
        seed: Seed of the episodes' seeds.
        actuator: ``newest``, ``scheduled``, ``planned`` or ``stop-and-wait``.
        horizon_ticks: D of ``scheduled`` or ``planned``, which has no default since it follows from the link
            (``ADAPTIVE_HORIZON``: the agent chooses it); the others have none.
        fallback: ``neutral``, ``hold`` or ``local``.
        hold_limit_ticks: The most ticks in a row that ``hold`` holds; None is 10.
        local_policy: Name of the policy of ``local``, for the record: the object is handed in beside this.
        wait_s: How long to wait for the agent before the first episode.
        require_connection: Whether to give up then; else the run begins without it.
        start_path: Begin when this file appears, the agent being there; a number in it lets so many episodes begin
            (``StartFile``). Empty to begin at once.
        start_delay_s: Wait so long after that, so that several need not tick in the same instant.
        tick_log: File for one line of JSON a tick; empty for none.
    """

    address: str
    key_path: str = ""
    transport: Literal["datagram", "stream"] = "datagram"
    task: str = "CartPole-v1"
    options: dict[str, float] = {}
    rate_hz: float | None = None
    episodes: int = 1
    seed: int = 0
    actuator: ActuatorName = "newest"
    horizon_ticks: int | None = None
    fallback: FallbackName | Literal["local"] = "neutral"
    hold_limit_ticks: int | None = None
    local_policy: str = ""
    wait_s: float = 10.0
    require_connection: bool = True
    start_path: str = ""
    start_delay_s: float = 0.0
    tick_log: str = ""

    def check(self) -> None:
        """Refuse what contradicts itself or would have no effect.

        Raises:
            SpecError: Names the field, and in its hint the option.
        """
        if not 0 <= self.seed <= MAX_SEED:
            raise SpecError(f"{self.seed}: must be 0 .. 2^64 - 1", key="seed", hint="--seed")
        if self.episodes < 1:
            raise SpecError(f"{self.episodes}: must be at least 1", key="episodes")
        for name, duration_s in (("wait_s", self.wait_s), ("start_delay_s", self.start_delay_s)):
            if not 0.0 <= duration_s < math.inf:
                raise SpecError(f"{duration_s}: must be finite and not below 0", key=name)
        asked = Combination(
            actuator=self.actuator,
            fallback=self.fallback,
            horizon=self.horizon_ticks,
            hold_limit_ticks=self.hold_limit_ticks,
        )
        refuse_clashes(asked, _WORDS)
        if self.fallback != "local" and self.local_policy:
            raise SpecError(
                f"{self.local_policy!r}: the {self.fallback} fallback asks no policy",
                key="local_policy",
                hint="--fallback local, or no --local-policy",
            )

    def public(self) -> EnvConfig:
        """Return what a result may say: all but where the files of its lab were, the key and the start."""
        return structs.replace(self, key_path="", start_path="")
