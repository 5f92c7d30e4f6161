"""Listing: the labs of this user as rows of a table. What there is inside them: netlab/holder/report.py."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec import Struct

from netlab.holder.directory import LabDirectory, LabEntry

__all__ = ["LabRow", "list_labs", "row_lines"]


class LabRow(Struct, frozen=True, kw_only=True):
    """A lab that stays, or what is left of one; None for what is not known.

    Attributes:
        name: What its user calls it.
        id: Its own.
        state: ``up``, ``starting``, ``unreadable`` or ``dead``.
        engine: What carries its packets.
        holder_pid: The process that holds it.
        age_s: How long ago it was made.
        spec: The file it was made from.
        problem: Why its record cannot be read; empty where it can.
    """

    name: str
    id: str
    state: str
    engine: str | None
    holder_pid: int | None
    age_s: float | None
    spec: str | None
    problem: str


def list_labs(directory: LabDirectory) -> list[LabRow]:
    """Return the labs of a directory, the dead ones too.

    Raises:
        LabError: Somebody else could write in the runtime folder.
    """
    now_s = time.time()
    return [_row(entry, now_s) for entry in directory.entries()]


def row_lines(rows: Sequence[LabRow]) -> list[str]:
    """Return them as the lines of a table, its head first."""
    lines = [f"{'NAME':<20} {'ID':<6} {'STATE':<10} {'ON':<5} {'HOLDER':>7} {'AGE':>8}  SPEC"]
    for row in rows:
        age = "-" if row.age_s is None else _age(row.age_s)
        lines.append(
            f"{row.name or '?':<20} {row.id:<6} {row.state:<10} {row.engine or '?':<5} "
            f"{row.holder_pid or '?':>7} {age:>8}  {row.spec or row.problem}"
        )
    return lines


def _row(entry: LabEntry, now_s: float) -> LabRow:
    record = entry.record
    return LabRow(
        name=entry.name,
        id=entry.id,
        state=entry.state,
        engine=record.engine if record else None,
        holder_pid=record.holder.pid if record else None,
        age_s=now_s - record.made_s if record else None,
        spec=record.spec if record else None,
        problem=entry.problem,
    )


def _age(age_s: float) -> str:
    minutes, seconds = divmod(int(max(0.0, age_s)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{seconds:02}s"
