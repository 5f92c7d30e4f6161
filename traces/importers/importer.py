"""Importer: one format: how it is recognised, and how it is read as traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec import Struct, field

from netlab.errors import TraceError
from netlab.traces.trace import Trace
from netlab.traces.trace_source import TraceSource

__all__ = ["DEFAULT_BIN_S", "DEFAULT_INTERVAL_S", "ImportOptions", "Importer"]

DEFAULT_INTERVAL_S = 1.0
"""Between two samples of a file without times, unless told: as ``ping`` sends."""

DEFAULT_BIN_S = 0.1
"""Over which packets are counted for a rate, unless told."""

MIN_INTERVAL_S, MAX_INTERVAL_S = 1e-6, 86_400.0


def _silent(progress: str) -> None:
    """Say nothing."""


class ImportOptions(Struct, frozen=True, kw_only=True):
    """What a person may say of a file that does not say it itself.

    Attributes:
        interval_s: Between two samples, where the file has no times; None for the format's own or 1 s.
        bin_s: Over which packets are counted for a rate; None for 0.1 s.
        columns: Of a CSV, which of its columns is what: ``{"rtt": "delay_ms"}``.
        kind: Of a packet capture, what to take: ``tcp``, ``icmp``, ``wifi``; empty for what it has most of.
        progress: Is told now and then how far a long file is.

    Raises:
        TraceError: An interval out of range.
    """

    interval_s: float | None = None
    bin_s: float | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""
    progress: Callable[[str], None] = _silent

    def __post_init__(self) -> None:
        for name in ("interval_s", "bin_s"):
            value = getattr(self, name)
            if value is not None and not MIN_INTERVAL_S <= value <= MAX_INTERVAL_S:
                rule = f"must be within {MIN_INTERVAL_S:g} .. {MAX_INTERVAL_S:g} s"
                raise TraceError(f"{name} = {value!r}: {rule}", "import options")

    @property
    def given(self) -> frozenset[str]:
        """Return the names of what was said: an importer that does not use it must not pass it over in silence."""
        return frozenset(name for name in ("interval_s", "bin_s", "columns", "kind") if getattr(self, name))

    @property
    def interval_or_default_s(self) -> float:
        """Return the interval, 1 s unless told."""
        return DEFAULT_INTERVAL_S if self.interval_s is None else self.interval_s

    @property
    def bin_or_default_s(self) -> float:
        """Return the bin, 0.1 s unless told."""
        return DEFAULT_BIN_S if self.bin_s is None else self.bin_s


class Importer(NamedTuple):
    """One format.

    Attributes:
        name: As ``--format`` has it.
        about: The format in a line.
        recognises: Whether a file is of this format, by its first bytes; raises nothing.
        read: Its traces, one to three: round trip, forward, back; raises nothing but TraceError.
        options: The fields of ``ImportOptions`` that it uses; others are refused before it is asked.
    """

    name: str
    about: str
    recognises: Callable[[TraceSource], bool]
    read: Callable[[TraceSource, ImportOptions], list[Trace]]
    options: frozenset[str] = frozenset()
