"""Share: what one lab does of an experiment: some episodes of one policy over one network.

::

    Lab up --> run_services --> Lab down --> ShareResult
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from netlab.envs.result import RunResult
from netlab.envs.service import Progress
from netlab.lab import Lab
from netlab.namespaces.play_log import PlayerCounts
from netlab.namespaces.wire import Wiring
from netlab.service_run import ServicePlan, Stage, run_services
from netlab.start_gate import StartGate
from netlab.traces.pair import ProfilePair

__all__ = ["Cell", "Share", "ShareResult", "Surroundings", "run_share"]


class Cell(Struct, frozen=True, kw_only=True):
    """One policy over one network.

    Attributes:
        network: A preset, file or inline profile; empty for a clean link, which needs no netem.
        policy: What the agent serves.
        actuator: ``newest``, ``scheduled``, ``planned`` or ``stop-and-wait``.
        fallback: ``neutral`` or ``hold``.
        horizon_ticks: D; None fits it to the network.
        labs: Over how many labs its episodes are spread.
        inference_s: What a decision is declared to cost in virtual time.
    """

    network: str
    policy: str
    actuator: str
    fallback: str = "neutral"
    horizon_ticks: int | None = None
    labs: int = 1
    inference_s: float = 0.0


class Share(Struct, frozen=True, kw_only=True):
    """What one lab does.

    Attributes:
        cell: Of which cell.
        cell_index: Its number in the experiment.
        pair: Its network.
        horizon_ticks: D.
        episodes: How many this lab plays.
        seed: Of its link and episodes.
        label: Cell and lab number, for messages and folders.
        start_delay_s: How long after the gate its ticks begin.
    """

    cell: Cell
    cell_index: int
    pair: ProfilePair
    horizon_ticks: int
    episodes: int
    seed: int
    label: str
    start_delay_s: float = 0.0


class Surroundings(NamedTuple):
    """What all labs of an experiment have in common."""

    task: str
    rate_hz: float
    transport: str
    key_file: Path
    wiring: Wiring


class ShareResult(Struct, frozen=True, kw_only=True):
    """What one lab found.

    Attributes:
        share: What it was to do.
        run: What the environment service reports.
        link_seed: Seed of the forward direction, as the kernel showed it when the link was made.
        seeded: Whether seeds decided what its links did.
        changes: How its schedules were played; None without one.
    """

    share: Share
    run: RunResult
    link_seed: int | None
    seeded: bool
    changes: PlayerCounts | None


def run_share(
    share: Share, surroundings: Surroundings, gate: StartGate, watch: Callable[[Share, Progress], None]
) -> ShareResult:
    """Make the lab, run both services in it, take it down.

    Raises:
        LabError: A service or what carries the packets died, or the gate was told to stop.
        KernelError: The kernel cannot do what the network asks for.
    """
    folder = surroundings.key_file.parent / share.label
    folder.mkdir()
    name = f"{folder.parent.name[-12:]}-{share.label}".strip("-_.")
    with Lab(name, seed=share.seed, wiring=surroundings.wiring) as lab:
        stage = Stage(lab, lab.add_host("edge"), lab.add_host("agent"), folder)
        link = lab.add_link(stage.edge, stage.agent, share.pair if share.cell.network else None)
        shown = link.read().forward
        plan = _service_plan(share, surroundings)
        played = run_services(stage, plan, gate, watch=functools.partial(watch, share))
        return ShareResult(
            share=share,
            run=played.run,
            link_seed=shown.seed if shown is not None else None,
            seeded=lab.seeded,
            changes=played.changes,
        )


def _service_plan(share: Share, surroundings: Surroundings) -> ServicePlan:
    cell = share.cell
    return ServicePlan(
        label=share.label,
        key_file=surroundings.key_file,
        task=surroundings.task,
        rate_hz=surroundings.rate_hz,
        transport=surroundings.transport,
        policy=cell.policy,
        inference_s=cell.inference_s,
        actuator=cell.actuator,
        horizon_ticks=share.horizon_ticks,
        fallback=cell.fallback,
        episodes=share.episodes,
        seed=share.seed,
        start_delay_s=share.start_delay_s,
    )
