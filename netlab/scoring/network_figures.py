"""NetworkFigures: what is asked of a network, and what it delivers to one packet a tick."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from netlab.errors import ProfileError
from netlab.traces.delivery import DelayMoments
from netlab.traces.network_distribution import NetworkDistribution

__all__ = ["NetworkFigures"]


class NetworkFigures(Struct, frozen=True, kw_only=True):
    """What is known of a network before anything is played.

    Attributes:
        kind: ``none``; ``fixed``, the same in each episode; or ``drawn`` for each.
        name: What its file or preset calls it; empty for none.
        asked_round_trip_ms: Mean and deviation as written; None unless fixed.
        delivered_round_trip_ms: What it delivers of that to one packet a tick: delays clipped at zero and, on an
            ordered link, waits for the packet before; None where it delivers nothing, and unless fixed.
        loss_ratio: Share lost forward and back; None unless fixed.
        warnings: What there is to know of it.
    """

    kind: Literal["none", "fixed", "drawn"]
    name: str = ""
    asked_round_trip_ms: tuple[float, float] | None = None
    delivered_round_trip_ms: tuple[float, float] | None = None
    loss_ratio: tuple[float, float] | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, network: NetworkDistribution | None, rate_hz: float) -> NetworkFigures:
        """Return the figures of a network for a task with so many ticks a second."""
        if network is None:
            return cls(kind="none")
        pair = network.fixed
        if pair is None:
            return cls(kind="drawn", name=network.name)
        try:
            delivered = _milliseconds(pair.delivered_round_trip(rate_hz))
        except ProfileError:  # it loses every packet, or is too slow for them
            delivered = None
        return cls(
            kind="fixed",
            name=pair.name,
            asked_round_trip_ms=_milliseconds(pair.asked_round_trip),
            delivered_round_trip_ms=delivered,
            loss_ratio=(pair.forward.loss_ratio_mean, pair.back.loss_ratio_mean),
            warnings=tuple(pair.warnings()),
        )


def _milliseconds(moments: DelayMoments) -> tuple[float, float]:
    return 1e3 * moments.mean_s, 1e3 * moments.sd_s
