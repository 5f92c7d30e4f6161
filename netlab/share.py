"""Share: what one lab does of an experiment: some episodes of one policy over one network.

::

    Lab up --> agent serve, env run --ready--> gate --> schedules play, episodes run --> result --> Lab down
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from netlab.envs.result import RunResult
from netlab.envs.service import Progress
from netlab.errors import LabError
from netlab.lab import Lab
from netlab.namespaces.play_log import PlayerCounts
from netlab.namespaces.player import Player
from netlab.namespaces.process import HostProcess
from netlab.start_gate import StartGate
from netlab.traces.pair import ProfilePair

__all__ = ["POLL_S", "Cell", "Share", "ShareResult", "Surroundings", "run_share"]

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
    """

    network: str
    policy: str
    actuator: str
    fallback: str = "neutral"
    horizon_ticks: int | None = None
    labs: int = 1


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


class Surroundings(Struct, frozen=True, kw_only=True):
    """What all labs of an experiment have in common."""

    task: str
    rate_hz: float
    transport: str
    key_file: Path


class ShareResult(Struct, frozen=True, kw_only=True):
    """What one lab found.

    Attributes:
        share: What it was to do.
        run: What the environment service reports.
        link_seed: Seed of the forward direction, as the kernel showed it when the link was made.
        changes: How its schedules were played; None without one.
    """

    share: Share
    run: RunResult
    link_seed: int | None
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
    with Lab(f"{folder.parent.name[-12:]}-{share.label}".strip("-_."), seed=share.seed) as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        shown = lab.add_link(edge, agent, share.pair if share.cell.network else None).read().forward
        serving = agent.start(_agent_command(share, surroundings, agent.address))
        running = edge.start(_env_command(share, surroundings, agent.address, folder, gate.path))
        tail = _ProgressTail(folder / _PROGRESS)
        player = _watch_run(share, lab, running, serving, gate, tail, watch)
        running.check()
        if player is not None:
            player.check()
        run = msgspec.json.decode((folder / _RESULT).read_bytes(), type=RunResult)
        return ShareResult(
            share=share,
            run=run,
            link_seed=shown.seed if shown is not None else None,
            changes=None if player is None else player.counts,
        )


def _watch_run(
    share: Share,
    lab: Lab,
    running: HostProcess,
    serving: HostProcess,
    gate: StartGate,
    tail: _ProgressTail,
    watch: Callable[[Share, Progress], None],
) -> Player | None:
    """Wait for the end of a run; return what played the lab's schedules."""
    player: Player | None = None
    is_ready = is_begun = False
    while running.poll() is None:
        serving.check()
        if gate.stop.wait(POLL_S):
            raise LabError(f"lab {share.label} was stopped")
        news = tail.read()
        if news and not is_ready:
            is_ready = True
            gate.ready()
        if gate.is_open and not is_begun:
            # With the episodes, not with the lab: every lab is to meet the same part of the schedule.
            is_begun = True
            player = lab.play()
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
    )  # fmt: skip


def _env_command(
    share: Share, surroundings: Surroundings, address: str, folder: Path, start_path: Path
) -> list[str]:
    horizon = ["--horizon", share.horizon_ticks] if share.cell.actuator == "scheduled" else []
    return _netlab(
        "env", "run", surroundings.task,
        "--agent", f"{address}:{_AGENT_PORT}",
        "--key-file", surroundings.key_file,
        "--transport", surroundings.transport,
        "--actuator", share.cell.actuator,
        *horizon,
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
