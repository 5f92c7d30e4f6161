"""RoundTrip: what a sender knows of the round trip, and how long it waits before it takes silence for a loss.

Source: RFC 6298, with what Linux has made of it: the deviation falls slowly where round trips get shorter, and
four times it counts as 200 ms at least, where the RFC has a least timeout of a second.
"""

from __future__ import annotations

__all__ = ["LEAST_DEVIATION_NS", "RoundTrip"]

LEAST_DEVIATION_NS = 200_000_000
"""Linux' TCP_RTO_MIN: what the timeout is longer than the smoothed round trip, at least."""
MAX_TIMEOUT_NS = 120_000_000_000


class RoundTrip:
    """The estimator of one sender.

    Args:
        first_ns: The first sample, from the handshake.

    Attributes:
        smoothed_ns: SRTT.
        least_ns: The shortest sample.
        timeout_ns: RTO, doubled by each ``back_off`` until the next sample.
    """

    __slots__ = (
        "_deviation4_ns",
        "_highest4_ns",
        "_smoothed8_ns",
        "_wait4_ns",
        "_window_end",
        "least_ns",
        "timeout_ns",
    )

    def __init__(self, first_ns: int) -> None:
        first_ns = max(first_ns, 1)
        self._smoothed8_ns = 8 * first_ns
        self._deviation4_ns = 2 * first_ns
        self._wait4_ns = self._highest4_ns = max(self._deviation4_ns, LEAST_DEVIATION_NS)
        self._window_end = 0
        self.least_ns = first_ns
        self.timeout_ns = first_ns + self._wait4_ns

    @property
    def smoothed_ns(self) -> int:
        """Return SRTT."""
        return self._smoothed8_ns >> 3

    def take(self, sample_ns: int, acknowledged: int, next_byte: int) -> None:
        """Take a sample.

        Args:
            sample_ns: From a sending to its acknowledgement.
            acknowledged: All bytes before this one have arrived; once in a window the deviation may fall.
            next_byte: The first that has never been sent.
        """
        error_ns = sample_ns - (self._smoothed8_ns >> 3)
        self._smoothed8_ns = max(self._smoothed8_ns + error_ns, 8)
        change_ns = abs(error_ns) - (self._deviation4_ns >> 2)
        if error_ns < 0 < change_ns:
            change_ns >>= 3  # a shorter round trip is no reason to wait longer
        self._deviation4_ns += change_ns
        if self._deviation4_ns > self._highest4_ns:
            self._highest4_ns = self._deviation4_ns
            self._wait4_ns = max(self._wait4_ns, self._highest4_ns)
        if acknowledged > self._window_end:
            self._wait4_ns -= max(self._wait4_ns - self._highest4_ns, 0) >> 2
            self._window_end = next_byte
            self._highest4_ns = LEAST_DEVIATION_NS
        self.timeout_ns = min(self.smoothed_ns + self._wait4_ns, MAX_TIMEOUT_NS)

    def back_off(self) -> None:
        """Double the timeout."""
        self.timeout_ns = min(2 * self.timeout_ns, MAX_TIMEOUT_NS)
