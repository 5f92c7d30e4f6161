"""Agreement: what a link is predicted to deliver beside what a trace measured, in a few figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.traces.autocorrelation import lag_1
from netlab.traces.distance import ks_distance, wasserstein_1
from netlab.traces.provenance import Origin
from netlab.traces.trace import Trace, TracedPath

__all__ = ["Agreement", "origins_of"]

FAR = 0.2
"""From so large a Wasserstein distance on, in deviations of the data, a link is no picture of its trace."""

OFF = 0.1
"""Nor is it where its mean, or what 99 % of the packets do not exceed, is another one by more than this share."""

LEAST_TAIL = 100
"""Of fewer delays nobody knows what 99 % of them do not exceed."""


class Agreement(Struct, frozen=True, kw_only=True):
    """Delays measured on a path and predicted for it.

    Attributes:
        path: Which.
        measured_mean_s: Mean of the trace's delays.
        measured_sd_s: Their deviation.
        measured_p99_s: What 99 % of them do not exceed.
        predicted_mean_s: The same of what the link delivers.
        predicted_sd_s: Likewise.
        predicted_p99_s: Likewise.
        ks: Kolmogorov-Smirnov distance of both.
        w1_s: Wasserstein distance of both.
        measured_n: How many delays were measured.
        measured_lag_1: Correlation of each delay in the trace with the next; None where that says nothing. Both
            distances are blind to the order of delays: what has the law and no memory has both at zero.
        predicted_lag_1: The same of what the link delivers to the flow that is predicted for.
    """

    path: TracedPath
    measured_mean_s: float
    measured_sd_s: float
    measured_p99_s: float
    predicted_mean_s: float
    predicted_sd_s: float
    predicted_p99_s: float
    ks: float
    w1_s: float
    measured_n: int
    measured_lag_1: float | None = None
    predicted_lag_1: float | None = None

    @classmethod
    def of(cls, path: TracedPath, measured_s: NDArray[np.float64], predicted_s: NDArray[np.float64]) -> Agreement:
        """Return the agreement of two samples of delays, to the kernel's nanosecond.

        Args:
            path: Of which path.
            measured_s: Delays in the order of sending; NaN where there is none, but not everywhere, ``[n]``.
            predicted_s: The same of what the link delivers, ``[m]``.
        """
        memory = lag_1(measured_s), lag_1(predicted_s)
        measured_s, predicted_s = (
            np.round(delay_s[~np.isnan(delay_s)], 9) for delay_s in (measured_s, predicted_s)
        )
        return cls(
            path=path,
            measured_mean_s=float(measured_s.mean()),
            measured_sd_s=float(measured_s.std()),
            measured_p99_s=float(np.quantile(measured_s, 0.99)),
            predicted_mean_s=float(predicted_s.mean()),
            predicted_sd_s=float(predicted_s.std()),
            predicted_p99_s=float(np.quantile(predicted_s, 0.99)),
            ks=ks_distance(measured_s, predicted_s),
            w1_s=wasserstein_1(measured_s, predicted_s),
            measured_n=int(measured_s.size),
            measured_lag_1=memory[0],
            predicted_lag_1=memory[1],
        )

    @property
    def is_far(self) -> bool:
        """Tell whether what is predicted is no picture of what was measured, by the distance or a figure."""
        return self.is_distant or self.has_other_mean or self.has_other_tail

    @property
    def is_distant(self) -> bool:
        """Tell whether the delays lie far from those measured, by their deviation."""
        return self.w1_s > max(FAR * self.measured_sd_s, 1e-6)

    @property
    def has_other_mean(self) -> bool:
        """Tell whether the mean is another one: a few very long delays move it, and next to no distance."""
        return _is_off(self.measured_mean_s, self.predicted_mean_s)

    @property
    def has_other_tail(self) -> bool:
        """Tell whether what 99 % do not exceed is another, where so many were measured that this is known."""
        return self.measured_n >= LEAST_TAIL and _is_off(self.measured_p99_s, self.predicted_p99_s)


def _is_off(measured_s: float, predicted_s: float) -> bool:
    return abs(predicted_s - measured_s) > max(OFF * measured_s, 1e-6)


def origins_of(traces: Sequence[Trace], agreements: Sequence[Agreement]) -> tuple[Origin, ...]:
    """Return the origins of a profile, with the distances where there are any."""
    found = {agreement.path: agreement for agreement in agreements}
    origins = []
    for trace in traces:
        one = found.get(trace.path)
        distances = {} if one is None else {"predicted_ks": one.ks, "predicted_w1_s": one.w1_s}
        origins.append(Origin.of(trace, **distances))
    return tuple(origins)
