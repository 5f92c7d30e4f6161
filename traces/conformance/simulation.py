"""What the exact model delivers of what was asked, over and over with other seeds: the flows that could have been.

::

    Asked, sent_s --LinkModels, a link a seed--> delays, copies [seeds, n] --> Flow, Flow, Flow ...

The packets are those that were measured: same times, same length. So whatever a flow does (bursts, gaps, a rate
that it exceeds), the simulated ones do as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from netlab.traces.conformance.asked import Asked
from netlab.traces.conformance.flow import Flow
from netlab.traces.model.fate import Copies, Fates
from netlab.traces.model.link_models import LinkModels
from netlab.traces.model.qdisc_change import QdiscChange

__all__ = ["Late", "Moments", "Run", "go_on", "link_runs", "simulate"]

_CELLS = 10_000_000
"""Packets times seeds held at a time: about 100 MB."""
_CHUNK_PACKETS = 2048
_PAUSE_PACKETS = 256
_SOURCE_ADDRESS_BYTES = 6
_NOT_YET = np.iinfo(np.int64).max

Moments = NDArray[np.int64]
Late = Callable[[int], tuple[Moments, Moments]]
"""How much later so many packets enter, and still are there after they were due, in ns, ``[packets, seeds]``."""


class Run(NamedTuple):
    """Some packets that went through the links.

    Attributes:
        here: Which packets.
        entered_ns: When each entered, ``[packets, 1]`` or ``[packets, seeds]``.
        fates: What became of them, ``[packets, seeds]``.
        unharmed: Which of those that are corrupted arrive all the same; None where none is corrupted.
    """

    here: slice
    entered_ns: Moments
    fates: Fates
    unharmed: NDArray[np.bool_] | None


def go_on() -> None:
    """Make no pause."""


def simulate(
    asked: Asked,
    sent_s: NDArray[np.float64],
    length_bytes: int,
    seeds: Sequence[int],
    pause: Callable[[], None] = go_on,
    late: Late | None = None,
) -> Iterator[Flow]:
    """Yield one flow a seed.

    A corrupted copy counts as arrived only where the flipped bit is one that no checksum covers and nobody
    looks at: in the Ethernet source address.

    Args:
        asked: What the link does.
        sent_s: When each packet is sent; never decreasing, ``[n]``.
        length_bytes: Of each frame.
        seeds: Hashed ones (``link_seed``).
        pause: Called every now and then, some tenths of a second of computing apart.
        late: How late packets are, beside the delays, of all seeds at once; nobody is unless given.
    """
    links = max(1, min(len(seeds), _CELLS // max(sent_s.size, 1))) if late is None else len(seeds)
    sent_ns = np.round(sent_s * 1e9).astype(np.int64)
    for begin in range(0, len(seeds), links):
        some = seeds[begin : begin + links]
        delay_s, copies, entered_s = _run(asked, sent_s, sent_ns, length_bytes, some, pause, late)
        for link in range(len(some)):
            pause()
            yield Flow(entered_s[link % len(entered_s)], delay_s[link], copies[link], length_bytes)


def _run(
    asked: Asked,
    sent_s: NDArray[np.float64],
    sent_ns: Moments,
    length_bytes: int,
    seeds: Sequence[int],
    pause: Callable[[], None],
    late: Late | None,
) -> tuple[NDArray[np.float64], NDArray[np.int8], NDArray[np.float64]]:
    """Return delays, copies and when each entered, one simulation a seed, ``[seeds, n]`` each.

    All entered alike, ``[1, n]``, unless they are late; and the first, from which a flow is timed, as it was sent.
    """
    entered_s = sent_s[np.newaxis] if late is None else np.empty((len(seeds), sent_s.size))
    delay_s = np.empty((len(seeds), sent_s.size))
    copies = np.empty((len(seeds), sent_s.size), dtype=np.int8)
    for run in link_runs(asked, sent_s, sent_ns, length_bytes, seeds, pause, late):
        leave_ns, arrived = _arrivals(run.fates, run.unharmed)
        delay_s[:, run.here] = np.where(arrived > 0, (leave_ns - run.entered_ns) / 1e9, np.nan).T
        copies[:, run.here] = arrived.T
        if late is not None:
            entered_s[:, run.here] = run.entered_ns.T / 1e9
            entered_s[:, 0] = sent_s[0]
    return delay_s, copies, entered_s


def link_runs(
    asked: Asked,
    sent_s: NDArray[np.float64],
    sent_ns: Moments,
    length_bytes: int,
    seeds: Sequence[int],
    pause: Callable[[], None] = go_on,
    late: Late | None = None,
) -> Iterator[Run]:
    """Put the packets through one link a seed, and yield what becomes of them, part by part.

    Arguments as for ``simulate``; ``sent_ns`` are the times in nanoseconds.
    """
    rng = np.random.default_rng(list(seeds))
    models: LinkModels | None = None
    before_ns: Moments = np.zeros(1, dtype=np.int64)
    for stretch in asked.stretches(sent_s):
        if models is None:
            models = LinkModels([stretch.state.replace(seed=seed) for seed in seeds])
        else:
            models.change_all(QdiscChange.in_full(stretch.state))  # without a seed: the generators go on
        for first in range(stretch.first, stretch.end, _CHUNK_PACKETS):
            pause()
            here = slice(first, min(first + _CHUNK_PACKETS, stretch.end))
            entered_ns = sent_ns[here, np.newaxis]
            if late is None:
                fates = models.enqueue_batch(sent_ns[here], length_bytes)
            else:
                enters_ns, leaves_ns = late(here.stop - here.start)
                # Nobody overtakes before the link.
                entered_ns = np.maximum.accumulate(np.maximum(entered_ns + enters_ns, before_ns), axis=0)
                before_ns = entered_ns[-1]
                fates = _enter_late(models, entered_ns, leaves_ns, length_bytes, pause)
            unharmed = None
            if stretch.state.corrupt:
                unharmed = rng.random(fates.entered.shape) < _SOURCE_ADDRESS_BYTES / length_bytes
            yield Run(here, entered_ns, fates, unharmed)


def _enter_late(
    models: LinkModels, entered_ns: Moments, leaves_ns: Moments, length_bytes: int, pause: Callable[[], None]
) -> Fates:
    """Put packets in while those that left shortly before are still there, ``[packets, links]``."""
    fates = []
    for packet, (now_ns, late_ns) in enumerate(zip(entered_ns, leaves_ns, strict=True)):
        if packet % _PAUSE_PACKETS == 0:
            pause()
        # The queue is looked at as it was some time ago. Duplicates are put in by the same clock, hence early.
        fate = models.enqueue(now_ns, length_bytes, copy_now_ns=now_ns - late_ns)
        if fate.duplicate is not None:
            early_ns = np.where(fate.duplicate.queued, late_ns, 0)
            duplicate = msgspec.structs.replace(fate.duplicate, leave_ns=fate.duplicate.leave_ns + early_ns)
            fate = msgspec.structs.replace(fate, duplicate=duplicate)
        fates.append(fate)
    return Fates.stacked(fates)


def _arrivals(fates: Fates, unharmed: NDArray[np.bool_] | None) -> tuple[Moments, NDArray[np.int8]]:
    """Return when the first copy of each packet leaves and how many do, ``[packets, links]`` each."""
    there = _whole(fates.original, unharmed)
    leave_ns = np.where(there, fates.original.leave_ns, _NOT_YET)
    arrived = there.astype(np.int8)
    if fates.duplicate is not None:
        there = _whole(fates.duplicate, unharmed)
        leave_ns = np.minimum(leave_ns, np.where(there, fates.duplicate.leave_ns, _NOT_YET))
        arrived += there
    return leave_ns, arrived


def _whole(copies: Copies, unharmed: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    if unharmed is None:
        return copies.queued
    return copies.queued & (~copies.corrupted | unharmed)
