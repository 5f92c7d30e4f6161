"""Likeness: how far what a link delivered is from the network that was measured, beside how far it should be.

::

    data ----------------------------------------------.
    delivered, forward + back where data is round trips +--> Kolmogorov-Smirnov, Wasserstein     is it further
    simulated as asked, likewise, over and over --------'--> what a link as asked shows, and most    than this?

Conformance says that a link does what was asked; this, how like what was measured that is. A link may be as asked
and a poor picture: then the distances are large, delivered and expected alike. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.traces.conformance.allowance import EXACT, Allowance
from netlab.traces.conformance.asked import Asked
from netlab.traces.conformance.flow import Flow
from netlab.traces.conformance.reference import Reference
from netlab.traces.conformance.simulation import go_on, simulate
from netlab.traces.provenance import Origin, Provenance
from netlab.traces.seed import DIRECTIONS, Direction, link_seed
from netlab.traces.trace import ClockVerdict, Trace, TracedPath

__all__ = ["AskedFlow", "Likeness", "compare_with_data"]

FLOWS = 99
"""The furthest of so many: one link as asked in a hundred is further."""
_VALUES = 20_000
"""Delays kept of the data: of more, evenly spaced order statistics."""
_PURPOSE = "what a link as asked shows of the data"
_FLOATS = 1e-9
_SOURCE_LETTERS = 80

_WAYS: dict[TracedPath, tuple[Direction, ...]] = {
    TracedPath.FORWARD: ("forward",),
    TracedPath.BACK: ("back",),
    TracedPath.ROUND_TRIP: DIRECTIONS,
}


class AskedFlow(NamedTuple):
    """What one direction delivered, and what was asked of it, in step with it."""

    asked: Asked
    flow: Flow


class Likeness(Struct, frozen=True, kw_only=True):
    """What was delivered beside data of one path.

    Attributes:
        source: Where the data came from.
        path: What it is of: ``round-trip``, ``forward`` or ``back``.
        measured: Delays in the data.
        delivered: Delays delivered; of round trips, pairs of packets both of which arrived.
        median_s: Of the delays measured.
        allowed_s: How much later each delay may be beside chance.
        ks: Kolmogorov-Smirnov distance of the two.
        ks_beyond: That which is left of it where each delay is taken to be as late as is allowed.
        w1_s: Wasserstein distance of the two; without the latest packets where stragglers are allowed.
        expected_ks: The median over links that do exactly what was asked, for these very packets.
        expected_w1_s: Likewise.
        most_ks: What the furthest of 99 such links shows: the most for ``ks_beyond``.
        most_w1_s: Likewise, and what is allowed beside chance.
        predicted_ks: What the fit predicted of its own flow; None where it says nothing.
        predicted_w1_s: Likewise.
        holds: Whether ``ks_beyond`` and ``w1_s`` are at most those.
    """

    source: str
    path: str
    measured: int
    delivered: int
    median_s: float
    allowed_s: float
    ks: float
    ks_beyond: float
    w1_s: float
    expected_ks: float
    expected_w1_s: float
    most_ks: float
    most_w1_s: float
    predicted_ks: float | None
    predicted_w1_s: float | None
    holds: bool


def compare_with_data(
    data: Sequence[Trace],
    delivered: Mapping[Direction, AskedFlow],
    allowance: Allowance,
    *,
    provenance: Provenance | None = None,
    seed: int = 0,
    pause: Callable[[], None] = go_on,
) -> list[Likeness]:
    """Compare what was delivered with the traces that a profile was made from.

    Args:
        data: What was measured; traces without absolute delays are passed over.
        delivered: What each direction delivered.
        allowance: What is allowed beside chance, each way.
        provenance: Of the profile, for what its fit predicted.
        seed: Of the simulations.
        pause: As for ``simulate``.
    """
    found = []
    for trace in data:
        ways = _WAYS[trace.path]
        if not _says_delays(trace) or any(way not in delivered for way in ways):
            continue
        one = _compare(trace, [delivered[way] for way in ways], ways, allowance, seed, pause)
        if one is not None:
            origin = _origin(trace, provenance)
            predicted = (None, None) if origin is None else (origin.predicted_ks, origin.predicted_w1_s)
            found.append(msgspec.structs.replace(one, predicted_ks=predicted[0], predicted_w1_s=predicted[1]))
    return found


def _says_delays(trace: Trace) -> bool:
    is_absolute = trace.clocks not in (ClockVerdict.VARIATION_ONLY, ClockVerdict.UNKNOWN)
    return bool(trace.delays_s.size) and (is_absolute or trace.path is TracedPath.ROUND_TRIP)


def _compare(
    trace: Trace,
    flows: Sequence[AskedFlow],
    ways: Sequence[Direction],
    allowance: Allowance,
    seed: int,
    pause: Callable[[], None],
) -> Likeness | None:
    """Return how like the data it is; None where nothing arrived."""
    allowed = Allowance(
        later_s=min(len(ways) * allowance.later_s, 10.0), stragglers=min(len(ways) * allowance.stragglers, 0.5)
    )
    reference = Reference(_some(np.sort(trace.delays_s)), np.zeros(1), np.zeros(1), allowed.stragglers)
    flow = _composed([one.flow for one in flows])
    if not flow.delays_s.size:
        return None
    distances = [
        (reference.kolmogorov_smirnov(other, EXACT), reference.wasserstein_1(other))
        for other in _simulated(flows, ways, seed, pause)
        if other.delays_s.size
    ]
    expected, most = np.median(distances, axis=0), np.max(distances, axis=0)
    ks_beyond, w1_s = reference.kolmogorov_smirnov(flow, allowed), reference.wasserstein_1(flow)
    most_ks = float(most[0]) + _FLOATS
    most_w1_s = float(most[1]) + allowed.later_s + reference.straggling.mean_up_s + _FLOATS
    return Likeness(
        source=_printable(trace.source) or "data",
        path=trace.path.value,
        measured=int(trace.delays_s.size),
        delivered=int(flow.delays_s.size),
        median_s=float(np.median(trace.delays_s)),
        allowed_s=allowed.later_s,
        ks=reference.kolmogorov_smirnov(flow, EXACT),
        ks_beyond=ks_beyond,
        w1_s=w1_s,
        expected_ks=float(expected[0]),
        expected_w1_s=float(expected[1]),
        most_ks=most_ks,
        most_w1_s=most_w1_s,
        predicted_ks=None,
        predicted_w1_s=None,
        holds=ks_beyond <= most_ks and w1_s <= most_w1_s,
    )


def _composed(flows: Sequence[Flow]) -> Flow:
    """Return one flow of the sums of the delays of packets of the same number; NaN where one did not arrive."""
    n = min(flow.n for flow in flows)
    first = flows[0]
    delay_s = sum((flow.delay_s[:n] for flow in flows[1:]), first.delay_s[:n])
    return Flow(first.sent_s[:n], delay_s, first.copies[:n], first.length_bytes)


def _simulated(
    flows: Sequence[AskedFlow], ways: Sequence[Direction], seed: int, pause: Callable[[], None]
) -> list[Flow]:
    runs = []
    for one, way in zip(flows, ways, strict=True):
        seeds = [link_seed(seed, _PURPOSE, way, number) for number in range(FLOWS)]
        runs.append(simulate(one.asked, one.flow.sent_s, one.flow.length_bytes, seeds, pause))
    return [_composed(pair) for pair in zip(*runs, strict=True)]


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:_SOURCE_LETTERS]


def _some(delays_s: NDArray[np.float64]) -> NDArray[np.float64]:
    if delays_s.size <= _VALUES:
        return delays_s
    return delays_s[((np.arange(_VALUES) + 0.5) / _VALUES * delays_s.size).astype(np.int64)]


def _origin(trace: Trace, provenance: Provenance | None) -> Origin | None:
    """Return what a provenance says of a trace: of the same file, or else of the same path."""
    origins = [one for one in (provenance.origins if provenance else ()) if one.path == trace.path.value]
    same = [one for one in origins if one.sha256 and one.sha256 == trace.source_sha256]
    return next(iter([*same, *origins]), None)
