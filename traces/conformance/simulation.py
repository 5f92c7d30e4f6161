"""What the exact model delivers of what was asked, over and over with other seeds: the flows that could have been.

::

    Asked, sent_s --LinkModels, a link a seed--> delays, copies [seeds, n] --> Flow, Flow, Flow ...

The packets are those that were measured: same times, same length. So whatever a flow does (bursts, gaps, a rate
that it exceeds), the simulated ones do as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from netlab.traces.conformance.asked import Asked
from netlab.traces.conformance.flow import Flow
from netlab.traces.model.fate import Copies, Fates
from netlab.traces.model.link_models import LinkModels
from netlab.traces.model.qdisc_change import QdiscChange

__all__ = ["go_on", "simulate"]

_CELLS = 10_000_000
"""Packets times seeds held at a time: about 100 MB."""
_CHUNK_PACKETS = 2048
_SOURCE_ADDRESS_BYTES = 6
_NOT_YET = np.iinfo(np.int64).max

Moments = NDArray[np.int64]


def go_on() -> None:
    """Make no pause."""


def simulate(
    asked: Asked,
    sent_s: NDArray[np.float64],
    length_bytes: int,
    seeds: Sequence[int],
    pause: Callable[[], None] = go_on,
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
    """
    links = max(1, min(len(seeds), _CELLS // max(sent_s.size, 1)))
    sent_ns = np.round(sent_s * 1e9).astype(np.int64)
    for begin in range(0, len(seeds), links):
        some = seeds[begin : begin + links]
        delay_s, copies = _run(asked, sent_s, sent_ns, length_bytes, some, pause)
        for link in range(len(some)):
            pause()
            yield Flow(sent_s, delay_s[link], copies[link], length_bytes)


def _run(
    asked: Asked,
    sent_s: NDArray[np.float64],
    sent_ns: Moments,
    length_bytes: int,
    seeds: Sequence[int],
    pause: Callable[[], None],
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Return delays and copies of one simulation a seed, ``[seeds, n]`` each."""
    delay_s = np.empty((len(seeds), sent_s.size))
    copies = np.empty((len(seeds), sent_s.size), dtype=np.int8)
    rng = np.random.default_rng(list(seeds))
    models: LinkModels | None = None
    for stretch in asked.stretches(sent_s):
        if models is None:
            models = LinkModels([stretch.state.replace(seed=seed) for seed in seeds])
        else:
            models.change_all(QdiscChange.in_full(stretch.state))  # without a seed: the generators go on
        for first in range(stretch.first, stretch.end, _CHUNK_PACKETS):
            pause()
            here = slice(first, min(first + _CHUNK_PACKETS, stretch.end))
            fates = models.enqueue_batch(sent_ns[here], length_bytes)
            unharmed = None
            if stretch.state.corrupt:
                unharmed = rng.random(fates.entered.shape) < _SOURCE_ADDRESS_BYTES / length_bytes
            leave_ns, arrived = _arrivals(fates, unharmed)
            waited = leave_ns - sent_ns[here, np.newaxis]
            delay_s[:, here] = np.where(arrived > 0, waited / 1e9, np.nan).T
            copies[:, here] = arrived.T
    return delay_s, copies


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
