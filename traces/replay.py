"""Replay: a link that does over time what a trace saw: from an offset, looped, faster or slower.

::

    trace      |a b c d e f g h|
    offset         |c d e f g h|           played from there on; what is before it is not played
    loop           |c d e f g h|a b c d e f g h c ...   a pass is the whole trace, from the offset on
    time_scale 2   |cdefgh|                twice as fast: half the times, the same delays

A trace on disk becomes a ProfilePair of two schedules, and is a link like any other from there on: any engine,
any clock. Knows files and traces; knows no lab.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import Struct

from netlab.errors import ProfileError
from netlab.traces.bound import bounded_number
from netlab.traces.fit.schedule_fit import fit_schedule
from netlab.traces.importers.catalogue import import_trace
from netlab.traces.pair import ProfilePair
from netlab.traces.provenance import Provenance
from netlab.traces.quantity import DURATION, NUMBER, SWITCH, shown
from netlab.traces.trace import Trace
from netlab.units import format_duration

__all__ = ["OPTIONS", "Replay", "parse_replay", "replay_pair"]

MAX_FILES = 3
LEAST_STEP_S = 0.01
"""The shortest step that is taken unasked: the kernel keeps up with less, and a person need not know."""

_DEFAULT_STEP_S = 0.1
_LEAST_SCALE, _GREATEST_SCALE = 1e-3, 1e3


class Replay(Struct, frozen=True, kw_only=True):
    """What is played, and how.

    Attributes:
        files: Traces in any format that can be imported: a round trip, or forward and back.
        offset_s: Where in each trace it begins. Looped, one that ends before holds its last level until the
            longest is over; else it is refused.
        loop: Begin again for ever; else the last step stays.
        time_scale: 2 plays twice as fast. Delays and rates stay as they are.
        step_s: Length of a step, as it is played; None for the trace's own interval, at least 10 ms.

    Raises:
        ProfileError: A value is out of range.
    """

    files: tuple[str, ...]
    offset_s: float = 0.0
    loop: bool = True
    time_scale: float = 1.0
    step_s: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.files, list):
            msgspec.structs.force_setattr(self, "files", tuple(self.files))
        if not 1 <= len(self.files) <= MAX_FILES or not all(self.files):
            raise ProfileError(
                f"trace: {len(self.files)} files: must be 1 .. {MAX_FILES}, none without a name",
                hint='one round trip, or forward and back: ["forward.csv", "back.csv"]',
            )
        bounded_number("offset", self.offset_s, 0.0, 1e9)
        bounded_number("time_scale", self.time_scale, _LEAST_SCALE, _GREATEST_SCALE)
        if self.step_s is not None:
            bounded_number("step", self.step_s, 1e-3, 3600.0)


class _Option(NamedTuple):
    """An option as a person writes it."""

    field: str
    read: Callable[[object], object]


OPTIONS = {
    "offset": _Option("offset_s", DURATION.read),
    "loop": _Option("loop", SWITCH.read),
    "time_scale": _Option("time_scale", NUMBER.read),
    "step": _Option("step_s", DURATION.read),
}
"""By the key that stands behind ``trace=FILE,``; with ``trace_`` before it in a lab's file."""


def parse_replay(files: Sequence[str], options: Mapping[str, object]) -> Replay:
    """Return the replay that options mean.

    Args:
        files: The traces.
        options: Values as written, by the keys of ``OPTIONS``.

    Raises:
        ProfileError: An unknown key, or a value that is none.
    """
    fields: dict[str, object] = {}
    for key, value in options.items():
        if key not in OPTIONS:
            raise ProfileError(f"{shown(key)}: no option of a trace", hint=f"there are {', '.join(OPTIONS)}")
        try:
            fields[OPTIONS[key].field] = OPTIONS[key].read(value)
        except ValueError as error:
            raise ProfileError(f"{key}: {error}") from None
    return msgspec.convert({"files": tuple(files), **fields}, Replay)


def replay_pair(replay: Replay, folder: str | os.PathLike[str] = "") -> ProfilePair:
    """Read the traces and return both directions as schedules, with their provenance.

    Args:
        replay: What is played.
        folder: What the files' names are relative to.

    Raises:
        TraceError: A file is no trace.
        ProfileError: The offset lies past a trace's end, or it would be more steps than a schedule has.
    """
    named = [_Named(name, trace) for name in replay.files for trace in import_trace(Path(folder) / name)]
    lasts_s = max(one.trace.duration_s for one in named)
    _require_offset_within(replay, named, lasts_s)
    step_s = replay.step_s or _own_step_s([one.trace for one in named], replay.time_scale)
    played = [_scaled(_from_offset(one.trace, replay, lasts_s), replay.time_scale) for one in named]
    # Turned, its first row may have been cut: the rows' own length would make passes of two links drift apart.
    turned_s = lasts_s / replay.time_scale if replay.loop and replay.offset_s else None
    pair = fit_schedule(played, step_s, loop=replay.loop, name=_name(replay), lasts_s=turned_s).pair
    return msgspec.structs.replace(pair, provenance=_provenance(replay, pair, named, lasts_s))


class _Named(NamedTuple):
    """A trace and the file it is from, as it was written."""

    file: str
    trace: Trace


def _require_offset_within(replay: Replay, named: Sequence[_Named], lasts_s: float) -> None:
    """Refuse an offset past the end of a trace; looped, a shorter one may hold its last level there."""
    for file, trace in named:
        if not 0.0 < trace.duration_s <= replay.offset_s:
            continue
        if replay.loop and replay.offset_s < lasts_s:
            continue
        hint = "begin before its end"
        if replay.offset_s < lasts_s:
            hint += ", or loop: then it holds its last level until the longer one is over"
        raise ProfileError(
            f"offset = {replay.offset_s:g} s: {shown(file)[1:-1]} lasts {trace.duration_s:g} s", hint=hint
        )


def _own_step_s(traces: Sequence[Trace], time_scale: float) -> float:
    """Return the traces' interval as it is played, to the microsecond: their median is a sum of halves."""
    intervals_s = [trace.bin_s or trace.interval_s for trace in traces]
    known_s = [interval_s for interval_s in intervals_s if interval_s > 0.0]
    own_s = round(max(known_s, default=_DEFAULT_STEP_S) / time_scale, 6)
    return min(max(own_s, LEAST_STEP_S), 3600.0)


def _from_offset(trace: Trace, replay: Replay, lasts_s: float) -> Trace:
    """Return a trace that begins at the offset: turned where it loops, else without what is before it.

    Where nothing was sent at the offset, it begins with what was in force there: the last packet that arrived.
    """
    if not replay.offset_s:
        return trace
    first = int(np.searchsorted(trace.t_s, replay.offset_s - 1e-9))
    rows = np.arange(first, trace.n)
    t_s = np.maximum(trace.t_s[first:] - replay.offset_s, 0.0)
    if replay.loop:
        rows = np.concatenate([rows, np.arange(first)])
        t_s = np.concatenate([t_s, trace.t_s[:first] + (lasts_s - replay.offset_s)])
    arrived = np.flatnonzero(~np.isnan(trace.delay_s[:first]))
    if arrived.size and (not t_s.size or t_s[0] > (trace.bin_s or trace.interval_s)):
        rows, t_s = np.concatenate([arrived[-1:], rows]), np.concatenate([[0.0], t_s])
    return _with_rows(trace, rows, t_s)


def _provenance(replay: Replay, pair: ProfilePair, named: Sequence[_Named], lasts_s: float) -> Provenance:
    """Return what the fit says, and before it what of the traces is played, and how fast."""
    assert pair.provenance is not None  # a fit has one
    begins = f"{format_duration(replay.offset_s)}" if replay.offset_s else "the beginning"
    fast = "" if replay.time_scale == 1.0 else f", {replay.time_scale:g} times as fast"
    method = f"replay from {begins} on, {'looped' if replay.loop else 'once'}{fast}: {pair.provenance.method}"
    assumptions = [*pair.provenance.assumptions]
    for file, trace in named:
        if lasts_s - trace.duration_s > 1e-6 and trace.duration_s > 0.0:
            assumptions.append(
                f"{_printable(Path(file).name)[:120]} lasts {trace.duration_s:g} s: it holds its last level until "
                f"the {lasts_s:g} s of the longest are over"
            )
    return msgspec.structs.replace(pair.provenance, method=method, assumptions=tuple(assumptions))


def _scaled(trace: Trace, time_scale: float) -> Trace:
    """Return a trace whose times go by so much faster."""
    if time_scale == 1.0:
        return trace
    bin_s = None if trace.bin_s is None else trace.bin_s / time_scale
    return msgspec.structs.replace(trace, t_s=trace.t_s / time_scale, bin_s=bin_s)


def _with_rows(trace: Trace, rows: np.ndarray, t_s: np.ndarray) -> Trace:
    return msgspec.structs.replace(
        trace,
        t_s=t_s,
        delay_s=trace.delay_s[rows],
        lost=trace.lost[rows],
        copies=trace.copies[rows],
        rate_bps=trace.rate_bps[rows],
    )


def _name(replay: Replay) -> str:
    stem = Path(replay.files[0]).name
    return _printable(stem)[:200] or "trace"


def _printable(text: str) -> str:
    """Return a text of one line, whatever a file may be called."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
