"""CornerMode: the modes ``model`` and ``lab``: a link of netem's, as a model or with packets through it.

::

    RunPlan --two hosts and a link, in memory--> EpisodePlan --> ModelCorner | LabCorner

The lab is that of a spec file with one link from ``edge`` to ``agent``: the same seed meets the same draws there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.clock_name import VIRTUAL
from netlab.documents import write_document
from netlab.envs.result import RunResult
from netlab.episode.corner import Corner
from netlab.episode.report import WaySummary
from netlab.episode.run import EpisodePlan
from netlab.episode.spec import EpisodeSpec
from netlab.lab_spec import HostSpec, LabSpec, LinkSpec
from netlab.messages import horizon_word
from netlab.modes.mode import Played, Say
from netlab.modes.plan import RunPlan
from netlab.modes.request import Between
from netlab.traces.seed import DIRECTIONS

__all__ = ["CornerMode", "episode_plan"]

_EDGE, _AGENT = "edge", "agent"


class CornerMode:
    """A link between environment and policy, on the model or in a lab.

    Args:
        name: ``model`` or ``lab``.
        corner: What plays it.
    """

    between: Between = "link"

    def __init__(self, name: Literal["model", "lab"], corner: Corner) -> None:
        self.name: str = name
        self._corner = corner

    def play(self, plan: RunPlan, ticks: Path | None, say: Say) -> Played:
        """Play over a link; see ``Mode``."""
        played = self._corner.play(episode_plan(plan), say)
        early = played.packets.header.get("early", "")
        if early:
            say(f"{early}: they took draws that were meant for others; modes will not agree")
        if ticks is not None:
            write_document(ticks, msgspec.json.Encoder().encode_lines(played.ticks))
        ways = tuple(
            WaySummary.of(way, [record for record in played.packets.records if record.direction == way])
            for way in DIRECTIONS
        )
        return Played(run=_claimed(played.result), ways=ways, early=early)


def episode_plan(plan: RunPlan) -> EpisodePlan:
    """Return a plan as the episodes of a lab with two hosts and what lies between them.

    Raises:
        SpecError: No lab can be so.
    """
    lab = _lab(plan)
    lab.check()
    return EpisodePlan.of(lab, "", plan.seed, plan.recipe)


def _lab(plan: RunPlan) -> LabSpec:
    has_horizon = ACTUATOR_TRAITS[plan.actuator].has_horizon
    episode = EpisodeSpec(
        edge=_EDGE,
        agent=_AGENT,
        task=plan.task.name,
        options=plan.options,
        policy=plan.policy,
        actuator=plan.actuator,
        fallback=plan.fallback,
        horizon=horizon_word(plan.horizon_ticks) if has_horizon else None,
        rate_hz=plan.task.rate_hz,
        episodes=plan.episodes,
    )
    return LabSpec(
        seed=plan.seed,
        hosts={_EDGE: HostSpec(), _AGENT: HostSpec()},
        link=[LinkSpec(ends=(_EDGE, _AGENT), profile=plan.network)],
        episode=episode,
    )


def _claimed(run: RunResult) -> RunResult:
    """Return a result without what its clock does not let it claim; its spec names files that are gone."""
    run = msgspec.structs.replace(run, spec=None)
    why = run.machine.get("not_claimable")
    return run.without_deadlines(str(why)) if run.machine.get("clock") == VIRTUAL else run
