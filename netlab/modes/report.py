"""RunReport: the document of ``netlab run``, the same in every mode.

Holds nothing that a second run in virtual time would say otherwise: no wall time, no name of a temporary file.
"""

from __future__ import annotations

from msgspec import Struct

import netlab
from netlab.agents.policy_card import PolicyCard
from netlab.envs.result import RunResult
from netlab.episode.report import WaySummary
from netlab.modes.mode import Mode, Played
from netlab.modes.plan import RunPlan
from netlab.traces.seed import DIRECTIONS, Direction

__all__ = ["RunReport", "WayAsked"]


class WayAsked(Struct, frozen=True, kw_only=True):
    """What one direction of the link was asked to do.

    Attributes:
        direction: ``forward``, which observations travel, or ``back``.
        delay_mean_ms: Mean delay of its law; of a schedule over its length.
        delay_sd_ms: Standard deviation of that.
        loss_ratio: Share of the packets it is to lose.
    """

    direction: Direction
    delay_mean_ms: float
    delay_sd_ms: float
    loss_ratio: float


class RunReport(Struct, frozen=True, kw_only=True):
    """What one mode has played.

    Attributes:
        netlab: Version of netlab.
        mode: ``local``, ``model``, ``lab`` or ``remote``.
        engine: What carried the packets: ``none``, ``model``, ``host``, ``guest``, ``relay``, or the ``network``
            between two hosts.
        clock: ``real`` or ``virtual``.
        policy: What the policy is called; what an agent said it serves is in ``run``.
        policy_sha256: Of its file, as it was when it was read; empty of one that is code.
        card: What its file says of it; null of one that is code.
        options: Numbers that changed the task, by name.
        network: The network as it was asked for; empty for a clean link, or where there was none to ask for.
        asked: What that is, forward and back; empty without one.
        delivered: What became of the packets, forward and back; empty where nobody could see.
        early: Which packets took draws that were meant for an episode's, in words; empty where none did.
        seed: Of the links and of the episodes' seeds.
        run: What the environment's service reports: episodes, counters, ages, machine.
    """

    netlab: str
    mode: str
    engine: str
    clock: str
    policy: str
    policy_sha256: str
    card: PolicyCard | None
    options: dict[str, float]
    network: str
    asked: tuple[WayAsked, ...]
    delivered: tuple[WaySummary, ...]
    early: str
    seed: int
    run: RunResult

    @classmethod
    def of(cls, mode: Mode, plan: RunPlan, played: Played) -> RunReport:
        """Return the report of a run."""
        return cls(
            netlab=netlab.__version__,
            mode=mode.name,
            engine=str(played.run.machine["engine"]),
            clock=str(played.run.machine["clock"]),
            policy=plan.name,
            policy_sha256=plan.recipe.sha256,
            card=plan.card,
            options=plan.options,
            network=plan.network,
            asked=_asked(plan),
            delivered=played.ways,
            early=played.early,
            seed=plan.seed,
            run=played.run,
        )


def _asked(plan: RunPlan) -> tuple[WayAsked, ...]:
    if plan.pair is None:
        return ()
    return tuple(
        WayAsked(
            direction=direction,
            delay_mean_ms=way.delay_mean_s * 1e3,
            delay_sd_ms=way.delay_sd_s * 1e3,
            loss_ratio=way.loss_ratio_mean,
        )
        for direction, way in zip(DIRECTIONS, (plan.pair.forward, plan.pair.back), strict=True)
    )
