"""What a link delivers, as against what was asked: the wait of packets that may not overtake.

An ordered link holds a packet until those before it have left, so jitter adds delay: 40 +- 28 ms asked at 50
packets a second become 49 +- 23 ms. Pure: a short simulation in numpy, the same numbers for the same seed.

::

    sent      0    20    40    60          drawn delay   35  60  10  40
    drawn    35    80    50   100
    leaves   35    80    80   100          the running maximum; the third packet waited 30 ms
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_count, bounded_number
from netlab.traces.fifo import leave_s

if TYPE_CHECKING:
    from netlab.traces.profile import LinkProfile
    from netlab.traces.schedule import Schedule

__all__ = ["DelayMoments", "delivered_delays_s", "delivered_moments", "sent_delays_s"]

MAX_PACKETS = 10_000_000


class DelayMoments(NamedTuple):
    """Mean and standard deviation of a delay, in seconds."""

    mean_s: float
    sd_s: float


def delivered_moments(
    link: LinkProfile | Schedule,
    packet_rate_hz: float,
    seed: int = 0,
    n: int = 20_000,
    *,
    packet_bytes: int = 200,
) -> DelayMoments:
    """Return mean and deviation of the delay that a steady flow sees.

    Args:
        link: One direction of a link, a profile or a schedule from its beginning.
        packet_rate_hz: Packets a second, evenly spaced.
        seed: Seed of the simulation.
        n: Packets sent.
        packet_bytes: Length of each packet, MAC header included; matters where there is a rate.

    Raises:
        ProfileError: A number is out of range, or the link loses every packet.
    """
    delays_s = delivered_delays_s(link, packet_rate_hz, seed, n, packet_bytes=packet_bytes)
    if not delays_s.size:
        raise ProfileError(f"of {n} packets none is delivered: the link loses all of them")
    return DelayMoments(float(delays_s.mean()), float(delays_s.std()))


def delivered_delays_s(
    link: LinkProfile | Schedule,
    packet_rate_hz: float,
    seed: int = 0,
    n: int = 20_000,
    *,
    packet_bytes: int = 200,
) -> NDArray[np.float64]:
    """Return the delay of each packet that is delivered, in the order of sending.

    Arguments and what is left out as for ``sent_delays_s``.

    Returns:
        Delays in seconds, ``[delivered]``.

    Raises:
        ProfileError: A number is out of range.
    """
    delays_s = sent_delays_s(link, packet_rate_hz, seed, n, packet_bytes=packet_bytes)
    return delays_s[~np.isnan(delays_s)]


def sent_delays_s(
    link: LinkProfile | Schedule,
    packet_rate_hz: float,
    seed: int = 0,
    n: int = 20_000,
    *,
    packet_bytes: int = 200,
) -> NDArray[np.float64]:
    """Return the delay of each packet that is sent, in the order of sending.

    Losses are drawn independently at the link's mean ratio, a chain's too; duplicates, slots and the queue
    limit are left out. A schedule that does not loop is cut at its end.

    Args:
        link: As for ``delivered_moments``.
        packet_rate_hz: As for ``delivered_moments``.
        seed: As for ``delivered_moments``.
        n: As for ``delivered_moments``.
        packet_bytes: As for ``delivered_moments``.

    Returns:
        Delays in seconds, ``[sent]``; not a number for a packet that is lost.

    Raises:
        ProfileError: A number is out of range.
    """
    bounded_number("packet_rate_hz", packet_rate_hz, 1e-6, 1e9)
    bounded_count("n", n, 1, MAX_PACKETS)
    bounded_count("packet_bytes", packet_bytes, 1, 2**16)
    rng = np.random.default_rng(seed)
    segments = link.segments()
    sent_s, step = _sending(link, packet_rate_hz, n)
    delay_s, transmit_s = np.zeros(sent_s.size), np.zeros(sent_s.size)
    ordered, skips, lost = (np.zeros(sent_s.size, dtype=bool) for _ in range(3))
    by_step = np.argsort(step, kind="stable")
    bounds = np.flatnonzero(np.diff(step[by_step])) + 1
    for packets in np.split(by_step, bounds):
        profile = segments[int(step[packets[0]])].profile
        delay_s[packets] = profile.delay_law.drawn_ns(rng, packets.size) / 1e9
        transmit_s[packets] = _transmit_s(profile, packet_bytes)
        ordered[packets] = profile.ordered
        lost[packets] = rng.random(packets.size) < profile.loss_ratio_mean
        skips[packets] = rng.random(packets.size) < profile.reordered_ratio
    delay_s, transmit_s = np.where(skips, 0.0, delay_s), np.where(skips | lost, 0.0, transmit_s)
    # What skips the delay or is lost holds nobody up.
    waiting = leave_s(np.where(skips | lost, -math.inf, sent_s + delay_s), transmit_s) - sent_s
    return np.where(lost, np.nan, np.where(ordered & ~skips, waiting, delay_s))


def _sending(
    link: LinkProfile | Schedule, packet_rate_hz: float, n: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return when each packet is sent and which step holds then, ``[sent]`` each."""
    sent_s = np.arange(n) / packet_rate_hz
    ends_s = np.cumsum([segment.length_s for segment in link.segments()])
    if not math.isfinite(ends_s[-1]):
        return sent_s, np.zeros(n, dtype=np.int64)
    sent_s = sent_s if link.loops else sent_s[sent_s < ends_s[-1]]
    # A packet sent on the stroke belongs to the step that begins: search from the right.
    return sent_s, np.searchsorted(ends_s[:-1], sent_s % ends_s[-1], side="right")


def _transmit_s(profile: LinkProfile, packet_bytes: int) -> float:
    """Return the time a packet occupies a link with a rate, overhead and cells included."""
    if profile.rate_bps is None:
        return 0.0
    length_bytes = packet_bytes + profile.overhead_bytes
    if profile.cell_bytes:
        length_bytes = math.ceil(length_bytes / profile.cell_bytes) * (
            profile.cell_bytes + profile.cell_overhead_bytes
        )
    return max(length_bytes, 0) * 8 / profile.rate_bps
