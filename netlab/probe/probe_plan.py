"""ProbePlan: what to send: how many probes, how large, when. Pure.

::

    even       |    |    |    |    |        on absolute deadlines, 1 / rate apart
    poisson    | |     ||       |    |      exponential gaps of the same mean, by a seed
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from netlab.errors import SpecError
from netlab.probe.probe_frame import LEAST_BYTES

__all__ = ["MAX_BYTES", "MAX_COUNT", "MAX_RATE_HZ", "ProbePlan"]

MAX_COUNT = 1_000_000
MIN_RATE_HZ, MAX_RATE_HZ = 0.1, 10_000.0
MAX_BYTES = 1472
"""What one Ethernet frame carries over IPv4; over IPv6 it is 20 less. What a path carries, its socket says."""
MAX_WAIT_S = 60.0
UDP_IP_BYTES = 28
NANOSECONDS = 1_000_000_000

_RATE_HINT = "a rate at which one process can send, and the reflector does not think that nobody is there any more"
_RUNS_HINT = "measure in several runs"


class ProbePlan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a prober sends.

    Attributes:
        rate_hz: Probes a second.
        size_bytes: UDP payload of each, seal included; an IPv4 packet is 28 bytes larger.
        count: How many.
        wait_s: How long after the last to wait for what is still on its way; what comes then is late.
        one_way: Ask for no replies: only the way forward is loaded and measured.
        poisson_seed: Exponential gaps by this seed instead of even ones; None for even ones.

    Raises:
        SpecError: A value outside its bounds.
    """

    rate_hz: float = 100.0
    size_bytes: int = 200
    count: int = 1000
    wait_s: float = 2.0
    one_way: bool = False
    poisson_seed: int | None = None

    def __post_init__(self) -> None:
        _check("rate_hz", self.rate_hz, MIN_RATE_HZ, MAX_RATE_HZ, _RATE_HINT)
        _check("size_bytes", self.size_bytes, LEAST_BYTES, MAX_BYTES, "a probe is one packet that a reply fits")
        _check(
            "count", self.count, 1, MAX_COUNT, _RUNS_HINT if self.count > 1 else "one probe is the least there is"
        )
        _check("wait_s", self.wait_s, 0.0, MAX_WAIT_S, "what is later than that counts as lost")
        if self.poisson_seed is not None:
            _check("poisson_seed", self.poisson_seed, 0, 2**63 - 1, "any number in these bounds will do")

    @classmethod
    def lasting(cls, duration_s: float, rate_hz: float = 100.0, **rest: object) -> ProbePlan:
        """Return the plan of a flow that lasts so long.

        Raises:
            SpecError: A value outside its bounds.
        """
        _check("rate_hz", rate_hz, MIN_RATE_HZ, MAX_RATE_HZ, _RATE_HINT)
        if not (math.isfinite(duration_s) and duration_s > 0.0):
            raise SpecError(f"{duration_s!r}: must be finite and above 0", key="duration_s")
        if duration_s * rate_hz >= MAX_COUNT + 0.5:
            words = f"{duration_s:g} s at {rate_hz:g} probes a second: must be at most {MAX_COUNT:,} probes"
            raise SpecError(words, key="duration_s", hint=_RUNS_HINT)
        count = max(1, round(duration_s * rate_hz))
        return cls(count=count, rate_hz=rate_hz, **rest)  # type: ignore[arg-type]

    def __str__(self) -> str:
        gaps = "even" if self.poisson_seed is None else f"exponential by seed {self.poisson_seed}"
        return f"{self.size_bytes} bytes, {self.rate_hz:g} a second, gaps {gaps}"

    @property
    def duration_s(self) -> float:
        """Return about how long the sending takes."""
        return self.count / self.rate_hz

    @property
    def packet_bytes(self) -> int:
        """Return the size of each IPv4 packet."""
        return self.size_bytes + UDP_IP_BYTES

    def offsets_ns(self) -> NDArray[np.int64]:
        """Return when each probe is due, from the first one's moment; never decreasing, ``[count]``."""
        if self.poisson_seed is None:
            exact_ns = np.arange(self.count) * (NANOSECONDS / self.rate_hz)
        else:
            gaps = np.random.default_rng(self.poisson_seed).exponential(NANOSECONDS / self.rate_hz, self.count)
            gaps[0] = 0.0
            exact_ns = np.cumsum(gaps)
        offsets_ns: NDArray[np.int64] = np.rint(exact_ns).astype(np.int64)
        return offsets_ns


def _check(key: str, value: float, least: float, most: float, hint: str) -> None:
    if not least <= value <= most:  # NaN as well
        raise SpecError(f"{value!r}: must be {_plain(least)} .. {_plain(most)}", key=key, hint=hint)


def _plain(bound: float) -> str:
    """Return a bound with all its digits."""
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:,.10g}"
