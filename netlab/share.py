"""Share: what one lab does of an experiment: some episodes of one policy over one network.

::

    Lab up --> agent serve, env run --ready--> gate --> schedules play, episodes run --> result --> Lab down
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from netlab.envs.result import RunResult
from netlab.envs.service import Progress
from netlab.errors import LabError
from netlab.lab import Lab
from netlab.namespaces.host import Host
from netlab.namespaces.link_plan import peer_variable
from netlab.namespaces.play_log import PlayerCounts
from netlab.namespaces.player import Player
from netlab.namespaces.process import HostProcess
from netlab.namespaces.wire import Wiring
from netlab.start_gate import StartGate
from netlab.traces.pair import ProfilePair

__all__ = [
    "POLL_S",
    "Cell",
    "Played",
    "Share",
    "ShareResult",
    "Stage",
    "Surroundings",
    "run_services",
    "run_share",
]

POLL_S = 0.1
_AGENT_PORT = 7447
_RESULT, _PROGRESS = "result.json", "progress.jsonl"
_START_BUDGET_S = 120
"""How long the services may take to start: on one busy CPU many interpreters start at once."""


class Cell(Struct, frozen=True, kw_only=True):
    """One policy over one network.

    Attributes:
        network: A preset, file or inline profile; empty for a clean link, which needs no netem.
        policy: What the agent serves.
        actuator: ``newest`` or ``scheduled``.
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
        tick_log: File for a line of JSON a tick; empty for none.
    """

    cell: Cell
    cell_index: int
    pair: ProfilePair
    horizon_ticks: int
    episodes: int
    seed: int
    label: str
    start_delay_s: float = 0.0
    tick_log: str = ""


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
        LabError: A service died, or the gate was told to stop.
        KernelError: The kernel cannot do what the network asks for.
    """
    folder = surroundings.key_file.parent / share.label
    folder.mkdir()
    name = f"{folder.parent.name[-12:]}-{share.label}".strip("-_.")
    with Lab(name, seed=share.seed, wiring=surroundings.wiring) as lab:
        stage = Stage(lab, lab.add_host("edge"), lab.add_host("agent"), folder)
        link = lab.add_link(stage.edge, stage.agent, share.pair if share.cell.network else None)
        shown = link.read().forward
        played = run_services(stage, share, surroundings, gate, watch)
        return ShareResult(
            share=share,
            run=played.run,
            link_seed=shown.seed if shown is not None else None,
            seeded=lab.seeded,
            changes=played.changes,
        )


class Stage(NamedTuple):
    """Where the two services of a share run.

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


class Played(NamedTuple):
    """What two services have done in a lab.

    Attributes:
        run: What the environment service reports.
        changes: How the lab's schedules were played; None without one.
    """

    run: RunResult
    changes: PlayerCounts | None


def run_services(
    stage: Stage,
    share: Share,
    surroundings: Surroundings,
    gate: StartGate,
    watch: Callable[[Share, Progress], None],
    before_start: Callable[[], None] = lambda: None,
) -> Played:
    """Start both services, let them play, and return what they report.

    Args:
        stage: Where.
        share: What.
        surroundings: And what all shares of an experiment have in common.
        gate: Told when they are ready; they begin when it opens.
        watch: Told of their progress.
        before_start: Called when they are ready, right before the gate is told.

    Raises:
        LabError: A service died, or the gate was told to stop.
        KernelError: A step of a schedule was refused.
    """
    address = stage.edge.environment()[peer_variable(stage.agent.name)]
    serving = stage.agent.start(_agent_command(share, surroundings, address))
    running = stage.edge.start(_env_command(share, surroundings, address, stage.folder, gate.path))
    player = _watch_run(stage, share, running, serving, gate, watch, before_start)
    running.check()
    if player is not None:
        player.check()
    run = msgspec.json.decode((stage.folder / _RESULT).read_bytes(), type=RunResult)
    return Played(run, None if player is None else player.counts)


def _watch_run(
    stage: Stage,
    share: Share,
    running: HostProcess,
    serving: HostProcess,
    gate: StartGate,
    watch: Callable[[Share, Progress], None],
    before_start: Callable[[], None],
) -> Player | None:
    """Wait for the end of a run; return what played the lab's schedules."""
    tail = _ProgressTail(stage.folder / _PROGRESS)
    player: Player | None = None
    is_ready = is_begun = False
    while running.poll() is None:
        serving.check()
        if gate.stop.wait(POLL_S):
            raise LabError(f"lab {share.label} was stopped")
        news = tail.read()
        if news and not is_ready:
            is_ready = True
            before_start()
            gate.ready()
        if gate.is_open and not is_begun:
            # With the episodes, not with the lab: every lab is to meet the same part of the schedule.
            is_begun = True
            player = stage.lab.play()
        for progress in news:
            watch(share, progress)
    return player


def _agent_command(share: Share, surroundings: Surroundings, address: str) -> list[str]:
    return _netlab(
        "agent", "serve",
        "--bind", f"{address}:{_AGENT_PORT}",
        "--key-file", surroundings.key_file,
        "--transport", surroundings.transport,
        "--policy", share.cell.policy,
        "--inference", f"{share.cell.inference_s:.9f}s",
    )  # fmt: skip


def _env_command(
    share: Share, surroundings: Surroundings, address: str, folder: Path, start_path: Path
) -> list[str]:
    horizon = ["--horizon", share.horizon_ticks] if share.cell.actuator == "scheduled" else []
    tick_log = ["--tick-log", share.tick_log] if share.tick_log else []
    return _netlab(
        "env", "run", surroundings.task,
        "--agent", f"{address}:{_AGENT_PORT}",
        "--key-file", surroundings.key_file,
        "--transport", surroundings.transport,
        "--actuator", share.cell.actuator,
        *horizon,
        *tick_log,
        "--fallback", share.cell.fallback,
        "--rate", surroundings.rate_hz,
        "--episodes", share.episodes,
        "--seed", share.seed,
        "--wait", f"{_START_BUDGET_S}s",
        "--start-when", start_path,
        "--start-delay", f"{share.start_delay_s}s",
        "--output", folder / _RESULT,
        "--progress-file", folder / _PROGRESS,
    )  # fmt: skip


def _netlab(*words: object) -> list[str]:
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
