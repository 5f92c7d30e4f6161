"""Experiment: policies over networks, each cell in labs of its own, several labs beside one another.

Roof::

    Cell (network, policy) --split--> Share, Share      a share = one lab = some of the cell's episodes
                                        | run_share: Lab up, agent serve, env run, read result, Lab down
    CellResult  <----- pool_cell -------'
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path

import msgspec
from msgspec import Struct

import netlab
from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.envs.service import Progress
from netlab.errors import ProfileError
from netlab.lab_impairment import CLEAN
from netlab.lab_key import lab_key
from netlab.machine import machine
from netlab.namespaces.kernel_wire import KernelWiring
from netlab.namespaces.wire import Wiring
from netlab.pool import pool_cell
from netlab.report import ExperimentResult
from netlab.run_folder import run_folder
from netlab.service_run import POLL_S
from netlab.settled_horizon import settled_horizon
from netlab.share import Cell, Share, ShareResult, Surroundings, run_share
from netlab.start_gate import StartGate
from netlab.traces.presets import parse_preset

__all__ = ["Cell", "Experiment", "Share", "run_experiment"]

Watch = Callable[[Share, Progress], None]


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


def run_experiment(
    experiment: Experiment,
    engine: str,
    watch: Watch = lambda share, progress: None,
    wiring: Wiring | None = None,
) -> ExperimentResult:
    """Run all cells; an error in one lab ends the others and is raised.

    Args:
        experiment: What to find out.
        engine: Which kernel this is and why, for the result.
        watch: Told about each lab's progress about once a second, from several threads.
        wiring: What carries the packets of all labs; this kernel's netem unless given.

    Raises:
        LabError: A service died.
        ProfileError: A network is not one.
        KernelError: The kernel cannot do what a network asks for.
    """
    wiring = wiring or KernelWiring()
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    shares = [share for index, cell in enumerate(experiment.cells) for share in _split(experiment, index, cell)]
    with run_folder(experiment.name) as folder:
        key_file = folder / "lab.key"
        lab_key().write(key_file)
        results = _run_all(experiment, shares, key_file, watch, wiring)
    return ExperimentResult(
        netlab=netlab.__version__,
        experiment=experiment.name,
        started=started,
        engine=engine,
        machine=machine(wiring.name),
        task=experiment.task,
        rate_hz=experiment.rate_hz,
        transport=experiment.transport,
        seed=experiment.seed,
        seeded=all(result.seeded for result in results),
        labs_at_once=experiment.labs_at_once,
        cells=tuple(
            pool_cell([result for result in results if result.share.cell_index == index])
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
    if pair.loss_ratio_mean >= 1.0:
        raise ProfileError(
            f"network {cell.network}: one direction loses everything: no agent could ever be reached",
            hint="for outages use a schedule with steps of loss = 100%",
        )
    if not ACTUATOR_TRAITS[cell.actuator].has_horizon:
        horizon = 1
    else:
        horizon = settled_horizon(cell.horizon_ticks, None, pair, experiment.rate_hz)
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


def _run_all(
    experiment: Experiment, shares: Sequence[Share], key_file: Path, watch: Watch, wiring: Wiring
) -> list[ShareResult]:
    """Run the labs in rounds: those of a round start together, so that no start disturbs another's ticks."""
    results: list[ShareResult] = []
    for first in range(0, len(shares), experiment.labs_at_once):
        at_once = shares[first : first + experiment.labs_at_once]
        results += _run_round(experiment, at_once, key_file, watch, wiring)
    return results


def _run_round(
    experiment: Experiment, shares: Sequence[Share], key_file: Path, watch: Watch, wiring: Wiring
) -> list[ShareResult]:
    # Spread over one tick: labs on one machine must not all want its CPU in the same instant.
    delay_s = 1.0 / experiment.rate_hz / len(shares)
    shares = [
        msgspec.structs.replace(share, start_delay_s=delay_s * number) for number, share in enumerate(shares)
    ]
    gate = StartGate(key_file.parent / f"start-{shares[0].label}", len(shares))
    surroundings = Surroundings(
        task=experiment.task,
        rate_hz=experiment.rate_hz,
        transport=experiment.transport,
        key_file=key_file,
        wiring=wiring,
    )
    with ThreadPoolExecutor(max_workers=len(shares), thread_name_prefix="netlab-lab") as pool:
        futures = [pool.submit(run_share, share, surroundings, gate, watch) for share in shares]
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
        done, pending = wait(pending, timeout=POLL_S, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
