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
from netlab.traces.quantity import DURATION, NUMBER, SWITCH, shown
from netlab.traces.trace import Trace

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
        offset_s: Where in the trace it begins.
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
        ProfileError: The offset lies past the end, or it would be more steps than a schedule has.
    """
    traces = [trace for name in replay.files for trace in import_trace(Path(folder) / name)]
    lasts_s = max(trace.duration_s for trace in traces)
    if replay.offset_s >= lasts_s > 0.0:
        raise ProfileError(
            f"offset = {replay.offset_s:g} s: the trace lasts {lasts_s:g} s", hint="begin before its end"
        )
    step_s = replay.step_s or _own_step_s(traces, replay.time_scale)
    played = [_scaled(_from_offset(trace, replay, lasts_s), replay.time_scale) for trace in traces]
    return fit_schedule(played, step_s, loop=replay.loop, name=_name(replay))


def _own_step_s(traces: Sequence[Trace], time_scale: float) -> float:
    intervals_s = [trace.bin_s or trace.interval_s for trace in traces]
    known_s = [interval_s for interval_s in intervals_s if interval_s > 0.0]
    return min(max(max(known_s, default=_DEFAULT_STEP_S) / time_scale, LEAST_STEP_S), 3600.0)


def _from_offset(trace: Trace, replay: Replay, lasts_s: float) -> Trace:
    """Return a trace that begins at the offset: turned where it loops, else without what is before it."""
    if not replay.offset_s:
        return trace
    first = int(np.searchsorted(trace.t_s, replay.offset_s))
    rows = np.arange(first, trace.n)
    t_s = trace.t_s[first:] - replay.offset_s
    if replay.loop:
        rows = np.concatenate([rows, np.arange(first)])
        t_s = np.concatenate([t_s, trace.t_s[:first] + (lasts_s - replay.offset_s)])
    return _with_rows(trace, rows, t_s)


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
    return "".join(letter if letter.isprintable() else "?" for letter in stem)[:200] or "trace"
