"""Figure: one measured number beside its target, and how it was spread."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from msgspec import Struct

__all__ = ["Figure", "spread_text"]


class Figure(Struct, frozen=True, kw_only=True):
    """One line of ``netlab bench``.

    Attributes:
        name: Its name on the command line.
        value: What was measured; None where it could not be.
        unit: Of the value.
        target: The least (or most) that is asked, in words.
        holds: Whether the value meets the target.
        n: How many measurements it rests on.
        spread: How they were spread, in words.
        note: What else a reader must know.
        engine: What it was measured on: ``host``, ``relay``, ``guest`` or ``model``.
        clock: By which clock: ``real`` or ``virtual``.
    """

    name: str
    value: float | None
    unit: str
    target: str
    holds: bool
    n: int
    spread: str = ""
    note: str = ""
    engine: str = ""
    clock: str = ""


def spread_text(values: Sequence[float], unit: str) -> str:
    """Say where the middle half of the values lies, and how far the ends reach."""
    quarter, _, three_quarters = statistics.quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
    return f"quartiles {quarter:.3g}..{three_quarters:.3g}, range {min(values):.3g}..{max(values):.3g} {unit}"
