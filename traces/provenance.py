"""Provenance: where the figures of a profile come from, and how near what it delivers comes to the data.

Words and numbers beside a profile. They change nothing that a link does; whoever finds the file can see what
was measured, by which method and under which assumptions, and what was lost on the way.

::

    trace(s) --fit | schedule--> ProfilePair + Provenance      seed --generator--> ProfilePair + Provenance
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

import netlab
from netlab.errors import ProfileError
from netlab.traces.bound import bounded_count, bounded_number, bounded_ratio
from netlab.traces.trace import MAX_TIME_S, ClockVerdict, Trace, TracedPath

__all__ = ["PACKET_RATES_HZ", "Origin", "Provenance"]

MAX_WORDS = 300
MAX_ORIGINS = 16
MAX_ASSUMPTIONS = 32
PACKET_RATES_HZ = 1e-3, 1e6

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


class Origin(Struct, frozen=True, kw_only=True):
    """One trace that a profile was made from.

    Attributes:
        source: Where the trace came from, for a person.
        sha256: Of the file it was read from, in hex; empty where it was no file.
        path: What its samples are of: ``round-trip``, ``forward`` or ``back``.
        clocks: What was known of the clocks (``ClockVerdict``).
        n: How many samples it has.
        predicted_ks: Kolmogorov-Smirnov distance from its delays, the very ones that the link was made of, to
            what the link is predicted to deliver; None where it has no delays. To another measurement of the
            same path it is larger: the law is the trace's, chance included.
        predicted_w1_s: Wasserstein distance of the same, in seconds; None likewise.
    """

    source: str
    sha256: str = ""
    path: str = TracedPath.ROUND_TRIP.value
    clocks: str = ClockVerdict.UNKNOWN.value
    n: int = 0
    predicted_ks: float | None = None
    predicted_w1_s: float | None = None

    def __post_init__(self) -> None:
        _one_line("source", self.source)
        if self.sha256 and not _SHA256.match(self.sha256):
            raise ProfileError(f"sha256 = {self.sha256[:80]!r}: must be 64 digits of hex, or be left out")
        for name, known in (("path", TracedPath), ("clocks", ClockVerdict)):
            if getattr(self, name) not in {kind.value for kind in known}:
                words = ", ".join(kind.value for kind in known)
                raise ProfileError(f"{name} = {getattr(self, name)!r}: must be one of {words}")
        bounded_count("n", self.n, 0, 2**53)
        if self.predicted_ks is not None:
            bounded_ratio("predicted_ks", self.predicted_ks)
        if self.predicted_w1_s is not None:
            bounded_number("predicted_w1_s", self.predicted_w1_s, 0.0, MAX_TIME_S)

    @classmethod
    def of(cls, trace: Trace, *, predicted_ks: float | None = None, predicted_w1_s: float | None = None) -> Origin:
        """Return what is to be remembered of a trace; distances to three digits, as they deserve."""
        printable = "".join(letter if letter.isprintable() else "?" for letter in trace.source)
        return cls(
            source=printable[:MAX_WORDS] or "a trace",
            sha256=trace.source_sha256,
            path=trace.path.value,
            clocks=trace.clocks.value,
            n=trace.n,
            predicted_ks=None if predicted_ks is None else float(f"{predicted_ks:.3g}"),
            predicted_w1_s=None if predicted_w1_s is None else float(f"{predicted_w1_s:.3g}"),
        )


class Provenance(Struct, frozen=True, kw_only=True):
    """Where a pair of profiles comes from.

    Attributes:
        method: How it was made of that.
        origins: The traces it was made from; none where a generator made it.
        assumptions: What was taken for granted because no data says it, a sentence each.
        seed: Seed of the generator that made it; None where none did.
        packet_rate_hz: Packets a second of the flow that it was fitted for, and that its predictions hold for:
            what order adds, and how many packets an outage takes, hang on it; None where it is for none.
        netlab: Version of netlab that made it.

    Raises:
        ProfileError: Words that are not one line each, or too many of them; a number out of range.
    """

    method: str
    origins: tuple[Origin, ...] = ()
    assumptions: tuple[str, ...] = ()
    seed: int | None = None
    packet_rate_hz: float | None = None
    netlab: str = netlab.__version__

    def __post_init__(self) -> None:
        for name in ("origins", "assumptions"):
            if isinstance(getattr(self, name), list):
                msgspec.structs.force_setattr(self, name, tuple(getattr(self, name)))
        _one_line("method", self.method)
        _one_line("netlab", self.netlab)
        for name, most in (("origins", MAX_ORIGINS), ("assumptions", MAX_ASSUMPTIONS)):
            if len(getattr(self, name)) > most:
                raise ProfileError(f"{name}: has {len(getattr(self, name))} entries: at most {most}")
        for index, text in enumerate(self.assumptions):
            _one_line(f"assumptions[{index + 1}]", text)
        for index, origin in enumerate(self.origins):
            if not isinstance(origin, Origin):
                raise ProfileError(f"origins[{index + 1}] = {origin!r}: must be an Origin")
        if self.seed is not None:
            bounded_count("seed", self.seed, 0, 2**64 - 1)
        if self.packet_rate_hz is not None:
            bounded_number("packet_rate_hz", self.packet_rate_hz, *PACKET_RATES_HZ)

    @property
    def n(self) -> int:
        """Return how many samples all traces have."""
        return sum(origin.n for origin in self.origins)

    @property
    def predicted_ks(self) -> float | None:
        """Return the greatest of the origins' distances; None where none has one."""
        return max((one.predicted_ks for one in self.origins if one.predicted_ks is not None), default=None)

    @property
    def predicted_w1_s(self) -> float | None:
        """Return the greatest of the origins' distances, in seconds; None where none has one."""
        return max((one.predicted_w1_s for one in self.origins if one.predicted_w1_s is not None), default=None)


def _one_line(name: str, value: object) -> None:
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= MAX_WORDS:
        raise ProfileError(f"{name} = {str(value)[:80]!r}: must be one line of 1 .. {MAX_WORDS} characters")
