"""Measured series: round trips of pings, one a line, and their replay as a schedule.

::

    ping_series.dat --read_series--> PingSeries --series_schedule--> (forward, back)
         211.6 ms                                    105.8 ms each way for 100 ms

Half of each round trip goes each way: a ping does not say where it waited. The link is ordered. What a ping
series shows is one path whose queue fills and drains; when a sample is lower than the one before, packets
did not overtake there, they met a shorter queue. Ordered, a packet that would overtake waits until those
before it have left: after a fall of d ms the delay slopes down over at most d ms instead of dropping.
Unordered, a fall delivers packets in reverse, which the measured path never did.
"""

from __future__ import annotations

import os
import re
from decimal import Decimal
from pathlib import Path

from msgspec import Struct

from netlab.errors import ProfileError, TraceError
from netlab.traces.bound import bounded_number
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step

__all__ = ["PingSeries", "read_series", "series_schedule"]

MAX_FILE_BYTES = 4 << 20
MAX_SAMPLES = 100_000
MAX_LINE = 1000
MAX_RTT_MS = 60_000

_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?\Z")


class PingSeries(Struct, frozen=True, kw_only=True):
    """Round trips in the order they were measured.

    Attributes:
        rtt_s: Round trip of each ping.
        comments: The file's ``#`` lines without the mark: where the samples come from.
    """

    rtt_s: tuple[float, ...]
    comments: tuple[str, ...] = ()


def read_series(path: str | os.PathLike[str]) -> PingSeries:
    """Return the series in a file: comment lines beginning with ``#``, then one round trip in ms a line.

    Raises:
        TraceError: The file cannot be read or is too large, or a line is not a round trip.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise TraceError(f"cannot be read: {error.strerror}", path, hint="check the path") from None
    if len(data) > MAX_FILE_BYTES:
        raise TraceError(f"is larger than {MAX_FILE_BYTES >> 20} MiB, the most a series may have", path)
    comments: list[str] = []
    rtt_s: list[float] = []
    for number, raw in enumerate(data.removesuffix(b"\n").split(b"\n") if data else (), start=1):
        line = _line(raw, path, number)
        if line.startswith("#"):
            if rtt_s:
                raise TraceError("a comment after the first sample: comments come first", path, number)
            comments.append(line[1:].strip())
            continue
        rtt_s.append(_rtt_s(line, path, number))
        if len(rtt_s) > MAX_SAMPLES:
            raise TraceError(f"more than {MAX_SAMPLES} samples", path, number)
    if not rtt_s:
        raise TraceError("holds no sample: one round trip in ms a line is needed", path)
    return PingSeries(rtt_s=tuple(rtt_s), comments=tuple(comments))


def series_schedule(
    series: PingSeries, step_s: float = 0.1, *, loop: bool = True, ordered: bool = True
) -> tuple[Schedule, Schedule]:
    """Return the series as schedules of the two directions: a sample a step, half of it each way.

    Args:
        series: What was measured.
        step_s: How long each sample holds. The time between the pings is not in the file.
        loop: Begin again after the last sample.
        ordered: Packets keep their order when the delay falls; see this module's text.

    Raises:
        ProfileError: The step is out of range.
    """
    bounded_number("step_s", step_s, 1e-3, 3600.0)
    if not series.rtt_s:
        raise ProfileError("the series is empty: a schedule needs a step")
    # Multiples in decimal: 3 * 0.1 in binary would make a start of 0.30000000000000004 s.
    length = Decimal(repr(float(step_s)))
    steps = tuple(
        Step(float(index * length), LinkProfile(delay_s=rtt_s / 2.0, ordered=ordered))
        for index, rtt_s in enumerate(series.rtt_s)
    )
    both = Schedule(steps, float(len(steps) * length), loop)
    return both, both


def _line(raw: bytes, path: str | os.PathLike[str], number: int) -> str:
    if len(raw) > MAX_LINE:
        raise TraceError(f"a line of {len(raw)} bytes: at most {MAX_LINE}", path, number)
    try:
        return raw.decode("ascii").removesuffix("\r")
    except UnicodeDecodeError:
        raise TraceError("is not ASCII text", path, number) from None


def _rtt_s(line: str, path: str | os.PathLike[str], number: int) -> float:
    if not _NUMBER.match(line):
        raise TraceError(
            f"{line[:40]!r} is not a round trip",
            path,
            number,
            hint="one number in ms a line, for example 211.6",
        )
    rtt_ms = Decimal(line)
    if not 0 < rtt_ms <= MAX_RTT_MS:
        raise TraceError(f"{line} ms: must be above 0 and at most {MAX_RTT_MS} ms", path, number)
    return float(rtt_ms.scaleb(-3))
