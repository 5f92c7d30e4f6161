"""ProfilePair: both directions of a link, and what a round trip over them takes.

Each direction is a profile or a schedule. Knows delays as segments (a profile and how long it holds), so it
need not know which of the two it has.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_ratio
from netlab.traces.delivery import MAX_PACKETS, DelayMoments, delivered_delays_s, sent_delays_s
from netlab.traces.provenance import Provenance
from netlab.traces.rate_caution import rate_cautions

if TYPE_CHECKING:
    from netlab.traces.profile import LinkProfile, Segment
    from netlab.traces.schedule import Schedule

__all__ = ["READINGS", "DeliveredFlow", "ProfilePair", "Reading"]

Reading = Literal["rtt", "oneway"]
READINGS = ("rtt", "oneway")

MAX_NAME = 200
MAX_DESCRIPTION = 1000
_GRID_VALUES = 2_000_000
_MAX_GRID = 1024
_SIMULATED_PACKETS = 20_000


class _Weighted(NamedTuple):
    """Values in ns and their weights, ``[n]`` each."""

    values_ns: NDArray[np.float64]
    weights: NDArray[np.float64]


class DeliveredFlow(NamedTuple):
    """Delays in s of the packets that arrive each way, and of both ways together where steps belong together."""

    forward: NDArray[np.float64]
    back: NDArray[np.float64]
    together: NDArray[np.float64] | None

    @property
    def round_trip(self) -> DelayMoments:
        """Return mean and deviation of the round trip."""
        mean_s = float(self.forward.mean() + self.back.mean())
        if self.together is not None:
            return DelayMoments(mean_s, float(self.together.std()))
        return DelayMoments(mean_s, math.hypot(float(self.forward.std()), float(self.back.std())))

    def quantile_s(self, q: float) -> float:
        """Return the round trip that a share ``q`` of the packets does not exceed."""
        bounded_ratio("q", q)
        together = self.together
        if together is None:
            points = (np.arange(_MAX_GRID) + 0.5) / _MAX_GRID
            together = np.add.outer(np.quantile(self.forward, points), np.quantile(self.back, points)).ravel()
        return float(np.quantile(together, q, method="inverted_cdf"))


class ProfilePair(Struct, frozen=True):
    """What a link does in each direction.

    Attributes:
        name: What a person calls it.
        forward: From the link's first host to its second: a LinkProfile or a Schedule.
        back: From the second host to the first.
        reading: How the figures people know it by were read: ``rtt`` (halved over the directions) or
            ``oneway`` (each direction has them in full).
        description: A sentence for a person.
        provenance: Where the figures come from; None where nobody says. It changes nothing.
    """

    name: str
    forward: LinkProfile | Schedule
    back: LinkProfile | Schedule
    reading: Reading = "oneway"
    description: str = ""
    provenance: Provenance | None = None

    def __post_init__(self) -> None:
        for field, value, longest in (
            ("name", self.name, MAX_NAME),
            ("description", self.description, MAX_DESCRIPTION),
        ):
            if not isinstance(value, str) or not value.isprintable() or len(value) > longest:
                raise ProfileError(
                    f"{field} = {str(value)[:80]!r}: must be one line of at most {longest} characters"
                )
        for field in ("forward", "back"):
            if not hasattr(getattr(self, field), "segments"):
                raise ProfileError(f"{field} = {getattr(self, field)!r}: must be a LinkProfile or a Schedule")
        if not self.name:
            raise ProfileError("name is empty: a pair of profiles needs a name")
        if self.reading not in READINGS:
            raise ProfileError(f"reading = {self.reading!r}: must be one of {', '.join(READINGS)}")
        if self.provenance is not None and not isinstance(self.provenance, Provenance):
            raise ProfileError(f"provenance = {self.provenance!r}: must be a Provenance")

    @property
    def loss_ratio_mean(self) -> float:
        """Return the mean loss ratio of the worse direction."""
        return max(self.forward.loss_ratio_mean, self.back.loss_ratio_mean)

    @property
    def asked_round_trip(self) -> DelayMoments:
        """Return the round trip as a person wrote it, where the law says ``delay +- jitter`` and clips.

        That is a normal law's. Any other is asked for as its quantiles are.
        """
        profiles = [segment.profile for one in (self.forward, self.back) for segment in one.segments()]
        if len(profiles) > 2 or any(profile.law != "normal" for profile in profiles):
            return DelayMoments(self.round_trip_mean_s, self.round_trip_sd_s)
        return DelayMoments(sum(one.delay_s for one in profiles), math.hypot(*(one.jitter_s for one in profiles)))

    def delivered_round_trip(self, packet_rate_hz: float) -> DelayMoments:
        """Return what the link is to deliver of that to a flow; arguments and errors as for ``delivered_flow``."""
        return self.delivered_flow(packet_rate_hz).round_trip

    def delivered_flow(self, packet_rate_hz: float) -> DeliveredFlow:
        """Return what the link delivers to a flow, simulated: clipped at zero, queued where ordered.

        Steps of two schedules in step belong together, as in ``round_trip_sd_s``.

        Args:
            packet_rate_hz: Packets a second, evenly spaced; about 20,000 of them are simulated, and of a
                schedule whole passes. A long one takes seconds: ask once for several figures.

        Raises:
            ProfileError: The rate is out of range, or a direction loses every packet.
        """
        packets = [_flow_packets(one, packet_rate_hz) for one in (self.forward, self.back)]
        there = sent_delays_s(self.forward, packet_rate_hz, n=packets[0])
        forward = there[~np.isnan(there)]
        # A long schedule takes seconds: one that is both directions' is simulated once.
        alike = self.back is self.forward
        back = forward if alike else delivered_delays_s(self.back, packet_rate_hz, n=packets[1])
        together = None
        if self._in_step and len(self.forward.segments()) > 1:
            # Packet by packet, so that steps belong together; another seed, so that nothing else does.
            sums = there + sent_delays_s(self.back, packet_rate_hz, seed=1, n=packets[1])
            together = sums[~np.isnan(sums)]
        if not forward.size or not back.size or (together is not None and not together.size):
            raise ProfileError(f"{self.name}: the link delivers nothing")
        return DeliveredFlow(forward, back, together)

    @property
    def round_trip_mean_s(self) -> float:
        """Return the mean round trip that the laws ask for (waits of ordered packets left out)."""
        return self.forward.delay_mean_s + self.back.delay_mean_s

    @property
    def round_trip_sd_s(self) -> float:
        """Return the deviation of that round trip.

        Steps of two schedules in step with each other belong together (the halves of one measured sample);
        else the directions are independent.
        """
        if not self._in_step:
            return math.hypot(self.forward.delay_sd_s, self.back.delay_sd_s)
        weights = _weights(self.forward.segments())
        pairs = [
            (f.profile, b.profile) for f, b in zip(self.forward.segments(), self.back.segments(), strict=True)
        ]
        means = np.array([f.delay_mean_s + b.delay_mean_s for f, b in pairs])
        within = np.array([f.delay_sd_s**2 + b.delay_sd_s**2 for f, b in pairs])
        between = (means - np.dot(weights, means)) ** 2
        return math.sqrt(float(np.dot(weights, within + between)))

    def round_trip_quantile_s(self, q: float) -> float:
        """Return the round trip that a share ``q`` of the packets does not exceed.

        Raises:
            ProfileError: ``q`` is not within 0 .. 1.
        """
        bounded_ratio("q", q)
        if self._in_step:
            parts = list(zip(self.forward.segments(), self.back.segments(), strict=True))
            points = _grid_points(len(parts))
            sums = [_sum_of(f.profile, b.profile, points) for f, b in parts]
            total = _joined(sums, _weights(self.forward.segments()))
        else:
            total = _sum(_direction(self.forward.segments()), _direction(self.back.segments()))
        order = np.argsort(total.values_ns, kind="stable")
        reached = np.cumsum(total.weights[order])
        index = int(np.searchsorted(reached, q * reached[-1] * (1.0 - 1e-12)))
        return float(total.values_ns[order][min(index, order.size - 1)]) / 1e9

    def warnings(self) -> list[str]:
        """Return the warnings of both directions, each named unless they say the same, and of a fit its flow."""
        forward, back = self.forward.warnings(), self.back.warnings()
        both = [text for text in forward if text in back]
        return [
            *rate_cautions(self),
            *both,
            *(f"forward: {text}" for text in forward if text not in both),
            *(f"back: {text}" for text in back if text not in both),
        ]

    @property
    def _in_step(self) -> bool:
        """Tell whether both directions change at the same moments."""
        if self.back is self.forward:
            return True
        forward, back = self.forward.segments(), self.back.segments()
        return len(forward) == len(back) and all(
            f.length_s == b.length_s for f, b in zip(forward, back, strict=True)
        )


def _flow_packets(direction: LinkProfile | Schedule, packet_rate_hz: float) -> int:
    """Return how many packets of a flow to simulate: about 20,000, but whole passes of a schedule."""
    pass_s = sum(segment.length_s for segment in direction.segments())
    if not math.isfinite(pass_s) or not 0.0 < packet_rate_hz <= MAX_PACKETS / pass_s:
        return _SIMULATED_PACKETS
    a_pass = pass_s * packet_rate_hz
    return min(max(math.ceil(max(round(_SIMULATED_PACKETS / a_pass), 1) * a_pass), 1), MAX_PACKETS)


def _weights(segments: tuple[Segment, ...]) -> NDArray[np.float64]:
    """Return each segment's share of the time, ``[segments]``."""
    if len(segments) == 1:
        return np.ones(1)
    lengths_s = np.array([segment.length_s for segment in segments])
    shares: NDArray[np.float64] = lengths_s / lengths_s.sum()
    return shares


def _grid_points(segments: int) -> int:
    """Return how finely each of that many segments may be resolved, two directions multiplied."""
    return max(8, min(_MAX_GRID, math.isqrt(_GRID_VALUES // segments)))


def _grid(profile: LinkProfile, points: int) -> _Weighted:
    """Return a profile's delays as at most ``points`` equally likely quantiles."""
    values_ns = profile.delay_law.grid_ns(points)
    if values_ns[0] == values_ns[-1]:
        return _Weighted(values_ns[:1], np.ones(1))
    return _Weighted(values_ns, np.full(values_ns.size, 1.0 / values_ns.size))


def _sum_of(forward: LinkProfile, back: LinkProfile, points: int) -> _Weighted:
    there = _grid(forward, points)
    return _sum(there, there if back is forward else _grid(back, points))


def _sum(first: _Weighted, second: _Weighted) -> _Weighted:
    """Return the sum of two independent delays."""
    return _Weighted(
        np.add.outer(first.values_ns, second.values_ns).ravel(),
        np.multiply.outer(first.weights, second.weights).ravel(),
    )


def _joined(parts: list[_Weighted], weights: NDArray[np.float64]) -> _Weighted:
    """Return the mixture of delays that hold one after another."""
    return _Weighted(
        np.concatenate([part.values_ns for part in parts]),
        np.concatenate([part.weights * weight for part, weight in zip(parts, weights, strict=True)]),
    )


def _direction(segments: tuple[Segment, ...]) -> _Weighted:
    """Return the delays of one direction over time as at most 1024 equally likely quantiles."""
    points = _grid_points(len(segments))
    mixture = _joined([_grid(segment.profile, points) for segment in segments], _weights(segments))
    if mixture.values_ns.size <= _MAX_GRID:
        return mixture
    order = np.argsort(mixture.values_ns, kind="stable")
    reached = np.cumsum(mixture.weights[order])
    wanted = (np.arange(_MAX_GRID) + 0.5) / _MAX_GRID * reached[-1]
    return _Weighted(
        mixture.values_ns[order][np.searchsorted(reached, wanted)], np.full(_MAX_GRID, 1.0 / _MAX_GRID)
    )
