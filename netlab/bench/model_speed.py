"""How fast the link model is: one link packet by packet, and a thousand links at once."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from netlab.bench.figure import Figure, spread_text
from netlab.traces.model.link_model import LinkModel
from netlab.traces.model.link_models import LinkModels
from netlab.traces.presets import PRESETS
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import link_seed

__all__ = ["model_speed"]

NETWORK = "wifi-normal"
SCALAR_TARGET = 100e3
VECTOR_TARGET = 5e6
LINKS = 1000
ROUNDS = 9
SCALAR_PACKETS = 20_000
VECTOR_PACKETS = 300
TICK_NS = 20_000_000
PACKET_BYTES = 200

Put = Callable[[int], None]


class Way(NamedTuple):
    """One way through the model: ``put(turn)`` puts in so many packets, after those of the turn before."""

    name: str
    packets: int
    put: Put


class Speed(NamedTuple):
    """Packets a second of each round, by the clock on the wall and by this process's share of the processor."""

    name: str
    wall: list[float]
    processor: list[float]


def model_speed(say: Callable[[str], None]) -> Figure:
    """Put packets through ``wifi-normal``, each way in turn, with order kept and not."""
    speeds: list[Speed] = []
    for ordered in (True, False):
        order = "ordered" if ordered else "unordered"
        say(f"{NETWORK}, {order}")
        states = _states(ordered)
        speeds += [_speed(way, order) for way in (_scalar(states[0]), _calls(states), _batches(states))]
    scalar, calls = (min(speeds[place::3], key=lambda speed: statistics.median(speed.wall)) for place in (0, 1))
    value = statistics.median(calls.wall)
    return Figure(
        name="model-speed",
        value=value / 1e6,
        unit="million packets a second, 1,000 links",
        target=f"at least {VECTOR_TARGET / 1e6:g} million; one link at least {SCALAR_TARGET / 1e3:g} thousand",
        holds=value >= VECTOR_TARGET and statistics.median(scalar.wall) >= SCALAR_TARGET,
        n=ROUNDS * VECTOR_PACKETS * LINKS,
        spread=spread_text([rate / 1e6 for rate in calls.wall], "million/s"),
        note="; ".join(map(_text, speeds)) + " (medians, ranges; in brackets a second of processor time)",
    )


def _states(ordered: bool) -> list[QdiscState]:
    profile = PRESETS[NETWORK].forward
    assert isinstance(profile, LinkProfile)  # not a schedule
    profile = profile.replace(ordered=ordered)
    return [profile.to_qdisc_state(link_seed(0, f"link{link}", "forward", 0)) for link in range(LINKS)]


def _scalar(state: QdiscState) -> Way:
    model = LinkModel(state)

    def put(turn: int) -> None:
        for packet in range(turn * SCALAR_PACKETS, (turn + 1) * SCALAR_PACKETS):
            model.enqueue(packet * TICK_NS, PACKET_BYTES)

    return Way("one link", SCALAR_PACKETS, put)


def _calls(states: list[QdiscState]) -> Way:
    models = LinkModels(states)

    def put(turn: int) -> None:
        for packet in range(turn * VECTOR_PACKETS, (turn + 1) * VECTOR_PACKETS):
            models.enqueue(packet * TICK_NS, PACKET_BYTES)

    return Way(f"{LINKS} links", VECTOR_PACKETS * LINKS, put)


def _batches(states: list[QdiscState]) -> Way:
    models = LinkModels(states)

    def put(turn: int) -> None:
        clock = (turn * VECTOR_PACKETS + np.arange(VECTOR_PACKETS)) * TICK_NS
        models.enqueue_batch(clock, PACKET_BYTES)

    return Way(f"{LINKS} links in batches", VECTOR_PACKETS * LINKS, put)


def _speed(way: Way, order: str) -> Speed:
    speed = Speed(f"{way.name}, {order}", [], [])
    for turn in range(ROUNDS):
        wall, processor = time.perf_counter(), time.process_time()
        way.put(turn)
        speed.wall.append(way.packets / (time.perf_counter() - wall))
        speed.processor.append(way.packets / max(time.process_time() - processor, 1e-9))
    return speed


def _text(speed: Speed) -> str:
    middle = statistics.median(speed.wall)
    scale, unit = (1e6, "M") if middle >= 1e6 else (1e3, "k")
    least, greatest = min(speed.wall) / scale, max(speed.wall) / scale
    processor = statistics.median(speed.processor) / scale
    return f"{speed.name} {middle / scale:.3g} {unit} ({least:.3g}..{greatest:.3g}) [{processor:.3g} {unit}]"
