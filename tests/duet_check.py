"""What tests ask of a NetemDuet, by either clock."""

from __future__ import annotations

from netlab.bench.netem_duet import Comparison
from netlab.clock_name import in_virtual_time

CLOCK_NS = 1_000
"""Four steps of the virtual clock: before the packet, in netem, in its timer, in the stamp."""


def pace_s() -> float:
    """Pause after each packet: in virtual time for nothing; in real time all go before the first arrives."""
    return 0.001 if in_virtual_time() else 0.0


def check(compared: Comparison) -> None:
    """The same fates in the same order; nothing early, and in virtual time nothing late."""
    assert compared.differing == []
    assert compared.misplaced == []
    if compared.late_ns:
        assert min(compared.late_ns) >= 0
        assert not in_virtual_time() or max(compared.late_ns) <= CLOCK_NS
