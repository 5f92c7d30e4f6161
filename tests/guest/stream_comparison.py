"""TCP in the guest beside the stream model: how old the newest message is at each tick, and how late messages are.

python tests/guest/stream_comparison.py SEEDS TICKS NETWORK...    prints the table of docs/stream-model.md
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netlab.namespaces.guest.installed import time_travel_kernel
from netlab.traces.model.link_model import LinkModel
from netlab.traces.model.stream.connection import StreamConnection
from netlab.traces.model.stream.message_stream import MessageStream
from netlab.traces.presets import parse_preset
from netlab.traces.profile import LinkProfile
from netlab.traces.seed import Direction, link_seed
from netlab.wire.sealed_stream import MAX_QUEUE_BYTES, UNSENT_BYTES

PROGRAM = Path(__file__).with_name("stream_program.py")
TICK_NS = 20_000_000
LENGTHS_BYTES = (85, 65)
"""Of an observation and an action of CartPole on a stream."""
MODEL_SEED = 1_000_000
"""Seeds of the model begin here: other draws than the guest's."""
WARM_TICKS = 100
PERCENTILES = (50, 90, 99)

Run = dict[str, list[list[int]]]
"""``observed`` and ``acted``: of each message its tick and when it arrived, in nanoseconds from the first tick."""


def in_guest(networks: Sequence[str], seeds: int, ticks: int) -> dict[str, list[Run]]:
    """Return what real TCP did, runs by network."""
    command = [sys.executable, "-P", "-m", "netlab", "guest", "run", "--virtual-time", "--",
               sys.executable, "-P", str(PROGRAM), "lab", str(ticks), str(seeds), *networks]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    runs: dict[str, list[Run]] = {network: [] for network in networks}
    for line in done.stdout.splitlines():
        told = json.loads(line)
        runs[told["network"]].append(told)
    return runs


def in_model(network: str, seed: int, ticks: int) -> Run:
    """Return what the model makes of the same conversation."""
    pair = parse_preset(network)
    assert isinstance(pair.forward, LinkProfile)
    assert isinstance(pair.back, LinkProfile)
    round_trip_s = pair.forward.delay_mean_s + pair.back.delay_mean_s
    connection = StreamConnection(
        _carry(pair.forward, seed, "forward"), _carry(pair.back, seed, "back"), round(round_trip_s * 1e9)
    )
    stream: MessageStream[int] = MessageStream(connection, UNSENT_BYTES, MAX_QUEUE_BYTES)
    arrived: tuple[list[list[int]], list[list[int]]] = ([], [])
    for tick in range(ticks + 1):
        while (arrival := stream.take(tick * TICK_NS)) is not None:
            now_ns, way, number = arrival
            arrived[way].append([number, now_ns])
            if way == 0:
                stream.send(now_ns, 1, LENGTHS_BYTES[1], number)
        if tick < ticks:
            stream.send(tick * TICK_NS, 0, LENGTHS_BYTES[0], tick)
    return {"observed": arrived[0], "acted": arrived[1]}


def ages_ms(run: Run, which: str, ticks: int) -> NDArray[np.float64]:
    """Return at each tick the age of the newest message there (``acted``: of what it answers), ``[ticks]``."""
    numbers, times_ns = np.array(run[which]).T
    now_ns = np.arange(WARM_TICKS, ticks) * TICK_NS
    last = np.searchsorted(times_ns, now_ns, side="right") - 1
    known = last >= 0
    return (now_ns[known] - np.maximum.accumulate(numbers)[last[known]] * TICK_NS) / 1e6


def delays_ms(run: Run) -> NDArray[np.float64]:
    """Return how long each observation was on its way that arrived, ``[messages]``."""
    numbers, times_ns = np.array(run["observed"]).T
    return (times_ns - numbers * TICK_NS) / 1e6


def figures(values: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the mean and the percentiles over all runs, ``[1 + percentiles]``."""
    together = np.concatenate(values)
    return np.array([together.mean(), *np.percentile(together, PERCENTILES)])


def compare(networks: Sequence[str], seeds: int, ticks: int) -> None:
    """Print the table."""
    kernel = time_travel_kernel()
    print(f"{kernel}; {seeds} seeds x {ticks} ticks, of the model twice as many")
    print("| network | what, ms | mean | p50 | p90 | p99 |\n|---|---|---|---|---|---|")
    runs = in_guest(networks, seeds, ticks)
    for network in networks:
        modelled = [in_model(network, MODEL_SEED + seed, ticks) for seed in range(2 * seeds)]
        _print_rows(network, "delay of an observation", delays_ms, runs[network], modelled)
        for which, words in (("observed", "age of the newest observation"), ("acted", "age of the newest action")):
            take = _ages_of(which, ticks)
            _print_rows(network, words, take, runs[network], modelled)


def _ages_of(which: str, ticks: int) -> Callable[[Run], NDArray[np.float64]]:
    return lambda run: ages_ms(run, which, ticks)


def _print_rows(
    network: str, words: str, take: Callable[[Run], NDArray[np.float64]], real: list[Run], modelled: list[Run]
) -> None:
    guest, model = figures([take(run) for run in real]), figures([take(run) for run in modelled])
    cells = [
        f"{here:.0f} / {there:.0f} ({there / here - 1:+.0%})" for here, there in zip(guest, model, strict=True)
    ]
    print(f"| `{network}` | {words} | {' | '.join(cells)} |", flush=True)


def _carry(profile: LinkProfile, seed: int, direction: Direction) -> Callable[[int, int], int | None]:
    model = LinkModel(profile.to_qdisc_state(link_seed(seed, "exec", direction, 0)))

    def carry(now_ns: int, length_bytes: int) -> int | None:
        copies = model.enqueue(now_ns, length_bytes).copies
        return min([copy.leave_ns for copy in copies if not copy.corrupted], default=None)

    return carry


if __name__ == "__main__":
    compare(sys.argv[3:], int(sys.argv[1]), int(sys.argv[2]))
