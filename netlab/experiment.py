"""Experiment: policies over networks, each cell in labs of its own, several labs beside one another.

Roof. A lab starts the two services by the command lines that real hosts use::

    Cell (network, policy) --split--> Share, Share      a share = one lab = some of the cell's episodes
                                        | run_share: Lab up, agent serve, env run, read result, Lab down
    CellResult  <-------pool------------'
"""

from __future__ import annotations

import datetime
import hashlib
import math
import statistics
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path

import msgspec
from msgspec import Struct

import netlab
from netlab.engine import machine
from netlab.envs.result import RunResult
from netlab.envs.service import Progress
from netlab.errors import LabError
from netlab.lab import Lab
from netlab.namespaces.player import PlayerCounts
from netlab.report import CellResult, ChangeCounts, ExperimentResult, Milliseconds
from netlab.run_folder import run_folder
from netlab.traces.delivery import delivered_moments
from netlab.traces.horizon import horizon_ticks
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.wire.key import Key

__all__ = ["Cell", "Experiment", "run_experiment"]

_AGENT_PORT = 7447
_POLL_S = 0.1
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


class Experiment(Struct, frozen=True, kw_only=True):
    """What is to be found out.

    Attributes:
        name: Of the result.
        cells: What is compared.
        episodes: Episodes a cell.
        labs_at_once: How many labs run beside one another.
        seed: Of which all other seeds are made.
        task: What is controlled.
        rate_hz: Ticks a second.
        transport: ``datagram`` or ``stream``.
    """

    name: str
    cells: tuple[Cell, ...]
    episodes: int
    labs_at_once: int = 8
    seed: int = 1
    task: str = "CartPole-v1"
    rate_hz: float = 50.0
    transport: str = "datagram"


class Share(Struct, frozen=True, kw_only=True):
    """What one lab does: some of a cell's episodes."""

    cell: Cell
    cell_index: int
    pair: ProfilePair
    horizon_ticks: int
    episodes: int
    seed: int
    label: str
    start_delay_s: float = 0.0


class ShareResult(Struct, frozen=True, kw_only=True):
    """What one lab found."""

    share: Share
    run: RunResult
    changes: PlayerCounts | None


CLEAN = ProfilePair("clean", LinkProfile(), LinkProfile())
"""What a link without netem does."""

Watch = Callable[[Share, Progress], None]


def run_experiment(
    experiment: Experiment, engine: str, watch: Watch = lambda share, progress: None
) -> ExperimentResult:
    """Run all cells; an error in one lab ends the others and is raised.

    Args:
        experiment: What to find out.
        engine: Which kernel this is and why, for the result.
        watch: Told about each lab's progress about once a second, from several threads.

    Raises:
        LabError: A service died.
        ProfileError: A network is not one.
        KernelError: The kernel cannot do what a network asks for.
    """
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    shares = [share for index, cell in enumerate(experiment.cells) for share in _split(experiment, index, cell)]
    with run_folder(experiment.name) as folder:
        key_file = folder / "lab.key"
        Key.new().write(key_file)
        results = _run_all(experiment, shares, key_file, watch)
    return ExperimentResult(
        netlab=netlab.__version__,
        experiment=experiment.name,
        started=started,
        engine=engine,
        machine=machine(),
        task=experiment.task,
        rate_hz=experiment.rate_hz,
        transport=experiment.transport,
        seed=experiment.seed,
        labs_at_once=experiment.labs_at_once,
        cells=tuple(
            _pool([result for result in results if result.share.cell_index == index])
            for index in range(len(experiment.cells))
        ),
        warnings=tuple(
            f"{share.cell.network}: {text}"
            for share in {share.cell.network: share for share in shares}.values()
            for text in share.pair.warnings()
        ),
    )


def _split(experiment: Experiment, index: int, cell: Cell) -> Iterator[Share]:
    """Spread a cell's episodes over labs as evenly as they go."""
    pair = parse_preset(cell.network) if cell.network else CLEAN
    if cell.actuator == "newest":
        horizon = 1
    else:
        horizon = cell.horizon_ticks or horizon_ticks(pair, 1.0 / experiment.rate_hz)
    labs = min(cell.labs, experiment.episodes)
    for number in range(labs):
        # Policies over one network meet the same links and episodes: their difference is theirs alone.
        name = f"{experiment.seed} {cell.network} {number}"
        yield Share(
            cell=cell,
            cell_index=index,
            pair=pair,
            horizon_ticks=horizon,
            episodes=experiment.episodes // labs + (number < experiment.episodes % labs),
            seed=int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big"),
            label=f"{index}.{number}",
        )


def _run_all(experiment: Experiment, shares: Sequence[Share], key_file: Path, watch: Watch) -> list[ShareResult]:
    """Run the labs in rounds: those of a round start together, so that no start disturbs another's ticks."""
    results: list[ShareResult] = []
    for first in range(0, len(shares), experiment.labs_at_once):
        results += _run_round(experiment, shares[first : first + experiment.labs_at_once], key_file, watch)
    return results


def _run_round(experiment: Experiment, shares: Sequence[Share], key_file: Path, watch: Watch) -> list[ShareResult]:
    # Spread over one tick: labs on one machine must not all want its CPU in the same instant.
    period_s = 1.0 / experiment.rate_hz
    shares = [
        msgspec.structs.replace(share, start_delay_s=period_s * number / len(shares))
        for number, share in enumerate(shares)
    ]
    gate = StartGate(key_file.parent / f"start-{shares[0].label}", len(shares))
    with ThreadPoolExecutor(max_workers=len(shares), thread_name_prefix="netlab-lab") as pool:
        futures = [pool.submit(_run_share, experiment, share, key_file, watch, gate) for share in shares]
        try:
            _wait_for(futures)
        finally:
            # On an error or Ctrl-C the other labs close by themselves at their next look.
            gate.stop.set()
    return [future.result() for future in futures]


def _wait_for(futures: Sequence[Future[ShareResult]]) -> None:
    """Wait in slices, so that Ctrl-C is seen; raise the first error."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=_POLL_S, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()


class StartGate:
    """Opens when all labs of a round are ready: a file that their services wait for.

    Args:
        path: The file.
        count: How many labs there are.

    Attributes:
        stop: Set when the round is to end early.
    """

    def __init__(self, path: Path, count: int) -> None:
        self.path = path
        self.stop = threading.Event()
        self._missing = count
        self._lock = threading.Lock()

    def ready(self) -> None:
        """Note that one more lab is ready; the last one opens the gate."""
        with self._lock:
            self._missing -= 1
            if self._missing == 0:
                self.path.touch()


def _run_share(experiment: Experiment, share: Share, key_file: Path, watch: Watch, gate: StartGate) -> ShareResult:
    folder = key_file.parent / share.label
    folder.mkdir()
    with Lab(f"{folder.parent.name[-12:]}-{share.label}".strip("-_."), seed=share.seed) as lab:
        edge, agent = lab.add_host("edge"), lab.add_host("agent")
        lab.add_link(edge, agent, share.pair if share.cell.network else None)
        serving = agent.start(_agent_command(experiment, share, key_file, agent.address))
        running = edge.start(_env_command(experiment, share, key_file, agent.address, folder, gate.path))
        tail = _ProgressTail(folder / _PROGRESS)
        player = None
        while running.poll() is None:
            serving.check()
            if gate.stop.wait(_POLL_S):
                raise LabError(f"lab {share.label} was stopped")
            for count, progress in enumerate(tail.read(), tail.lines_before):
                if count == 0:
                    gate.ready()
                    player = lab.play()
                watch(share, progress)
        running.check()
        if player is not None:
            player.check()
        run = msgspec.json.decode((folder / _RESULT).read_bytes(), type=RunResult)
        return ShareResult(share=share, run=run, changes=None if player is None else player.counts)


def _agent_command(experiment: Experiment, share: Share, key_file: Path, address: str) -> list[str]:
    return _netlab(
        "agent", "serve",
        "--bind", f"{address}:{_AGENT_PORT}",
        "--key-file", key_file,
        "--transport", experiment.transport,
        "--policy", share.cell.policy,
    )  # fmt: skip


def _env_command(
    experiment: Experiment, share: Share, key_file: Path, address: str, folder: Path, start_path: Path
) -> list[str]:
    return _netlab(
        "env", "run", experiment.task,
        "--agent", f"{address}:{_AGENT_PORT}",
        "--key-file", key_file,
        "--transport", experiment.transport,
        "--actuator", share.cell.actuator,
        "--horizon", share.horizon_ticks,
        "--fallback", share.cell.fallback,
        "--rate", experiment.rate_hz,
        "--episodes", share.episodes,
        "--seed", share.seed,
        "--wait", f"{_START_BUDGET_S}s",
        "--start-when", start_path,
        "--start-delay", f"{share.start_delay_s}s",
        "--output", folder / _RESULT,
        "--progress-file", folder / _PROGRESS,
    )  # fmt: skip


def _netlab(*words: object) -> list[str]:
    return [sys.executable, "-m", "netlab", *(str(word) for word in words)]


class _ProgressTail:
    """Reads the lines that have been appended to a file since the last look.

    Attributes:
        lines_before: How many lines had been read before the last look.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_bytes = 0
        self.lines_before = 0
        self._lines_new = 0
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
        self.lines_before += self._lines_new
        self._lines_new = whole.count(b"\n")
        return [self._decode(line) for line in whole.splitlines()]


def _pool(results: Sequence[ShareResult]) -> CellResult:
    """Pool the labs of one cell."""
    share = results[0].share
    runs = [result.run for result in results]
    returns = tuple(value for run in runs for value in run.returns)
    ticks = sum(run.counters.ticks for run in runs)
    latency_pairs: dict[int, int] = {}
    for run in runs:
        for value, count in run.latency.histogram_us or ():
            latency_pairs[value] = latency_pairs.get(value, 0) + count
    latency = Milliseconds.of_pairs(latency_pairs.items())
    ages = [run.ages for run in runs if run.ages.count]
    changes = [result.changes for result in results if result.changes is not None]
    return CellResult(
        network=share.cell.network,
        policy=share.cell.policy,
        actuator=share.cell.actuator,
        horizon_ticks=share.horizon_ticks,
        fallback=share.cell.fallback,
        seeds=tuple(result.share.seed for result in results),
        returns=returns,
        return_mean=statistics.fmean(returns) if returns else None,
        return_se=statistics.stdev(returns) / math.sqrt(len(returns)) if len(returns) > 1 else None,
        asked_round_trip_ms=_asked_ms(share.pair),
        expected_round_trip_ms=_expected_ms(share.pair, runs[0].rate_hz),
        latency_ms=latency,
        answered_ratio=latency.n / ticks if ticks else 0.0,
        age_p50_ticks=statistics.median(age.p50 for age in ages) if ages else None,
        age_p99_ticks=max(age.p99 for age in ages) if ages else None,
        ticks=ticks,
        action_miss_ratio=sum(run.counters.missed for run in runs) / ticks if ticks else 0.0,
        deadline_miss_ratio=sum(run.deadline_misses for run in runs) / ticks if ticks else 0.0,
        skipped_ticks=sum(run.skipped_ticks for run in runs),
        changes=_pool_changes(changes) if changes else None,
    )


def _asked_ms(pair: ProfilePair) -> tuple[float, float]:
    """Return mean and deviation of the round trip as the person wrote them, before any clipping at zero."""
    directions = (pair.forward, pair.back)
    if not all(isinstance(one, LinkProfile) and one.law == "normal" for one in directions):
        return 1e3 * pair.round_trip_mean_s, 1e3 * pair.round_trip_sd_s
    profiles = [one for one in directions if isinstance(one, LinkProfile)]
    return (
        1e3 * sum(one.delay_s for one in profiles),
        1e3 * math.hypot(*(one.jitter_s for one in profiles)),
    )


def _expected_ms(pair: ProfilePair, rate_hz: float) -> tuple[float, float]:
    """Return what the link is to deliver to one packet a tick: clipped, and queued where it is ordered."""
    moments = [delivered_moments(one, rate_hz) for one in (pair.forward, pair.back)]
    return 1e3 * sum(one.mean_s for one in moments), 1e3 * math.hypot(*(one.sd_s for one in moments))


def _pool_changes(counts: Sequence[PlayerCounts]) -> ChangeCounts:
    applied = sum(one.applied for one in counts)
    return ChangeCounts(
        applied=applied,
        superseded=sum(one.superseded for one in counts),
        late_mean_ms=1e3 * sum(one.late_mean_s * one.applied for one in counts) / max(applied, 1),
        late_max_ms=1e3 * max(one.late_max_s for one in counts),
    )
