"""Output of ``ping`` as a trace: what was not answered is a gap in the numbers, and becomes a lost packet.

::

    numbers printed     1   2   5   4   4 (DUP!)   7      "8 packets transmitted"
    rows                1   2   3   4   5   6   7   8
    lost                .   .   x   .   .   x   .   x
    copies              1   1   0   2   1   0   1   0

Rows are in the order of sending. With ``-D`` a packet was sent when its answer was printed less its round trip;
without, they are spread evenly. iputils prints three digits: from 100 ms on whole milliseconds.

Ping that is broken off does not wait: what was sent within the longest round trip of the log's end and was not
answered may have been on its way. Of that it is not known whether it was lost. ``ping -c`` waits, for as long as
two round trips, so that what it did not answer is lost. A log that went to a file has no ``^C`` in it, and its
summary looks the same either way. Then packets may have been on their way only where answers usually take longer
than from one packet to the next: there, some always are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.traces.importers.importer import DEFAULT_INTERVAL_S, Importer, ImportOptions
from netlab.traces.importers.ping_log import PingRun, looks_like_ping, read_runs
from netlab.traces.trace import MAX_ROWS, UNKNOWN, ClockVerdict, Trace, TracedPath
from netlab.traces.trace_source import TraceSource

__all__ = ["IMPORTER"]

MAX_RTT_MS = 3_600_000.0
MAX_BACK_S = 1.0
"""So much a stamp may be before the one above: a busy machine prints late. More is a clock that was set."""

UNANSWERED_WAIT_S = 1.0
"""How long an answer is awaited at the end of a log in which no answer tells how long they take."""

BELOW_A_MS_S = 0.25e-3
"""What a time of 0 ms is taken for: it was rounded from less than a half."""

_WHOLE_MS_FROM = 100.0
_HINT = "a log of ping, in English, with its lines as they were printed (not -q)"


class _Rows(NamedTuple):
    """One ping, a row a packet sent: ``[n]`` each.

    Attributes:
        sent_s: By the clock of the stamps; NaN where not known.
        rtt_s: NaN where not answered.
        copies: How many answers came.
        interval_s: From one packet to the next, as far as the log says it.
    """

    sent_s: NDArray[np.float64]
    rtt_s: NDArray[np.float64]
    copies: NDArray[np.int32]
    interval_s: float | None


def _recognises(source: TraceSource) -> bool:
    return looks_like_ping(source.head)


def _read(source: TraceSource, options: ImportOptions) -> list[Trace]:
    runs = read_runs(source)
    if not runs:
        raise source.refuse("holds no answer and no summary of a ping", hint=_HINT)
    _refuse_other_hosts(source, runs)
    # Before any is allocated: a few bytes can speak of billions of packets.
    spans = [_span(run) for run in runs]
    if (total := sum(last - first + 1 for first, last in spans)) > MAX_ROWS:
        hint = "cut the log into parts; if its numbers jump, it is not whole"
        raise source.refuse(f"speaks of {total} packets: at most {MAX_ROWS}", hint=hint)
    parts = [_rows(source, run, *span) for run, span in zip(runs, spans, strict=True)]
    t_s = _times(source, parts, options)
    sizes = np.cumsum([part.copies.size for part in parts])[:-1]
    on_its_way = np.concatenate(
        [
            _on_its_way(run, part, sent_s, run.number - first)
            for run, part, sent_s, (first, _) in zip(runs, parts, np.split(t_s, sizes), spans, strict=True)
        ]
    )
    copies = np.concatenate([part.copies for part in parts])
    delay_s = np.concatenate([part.rtt_s for part in parts])
    trace = Trace.of(
        t_s,
        path=TracedPath.ROUND_TRIP,
        clocks=ClockVerdict.ONE_CLOCK,
        delay_s=delay_s,
        lost=np.where(on_its_way, UNKNOWN, copies == 0).astype(np.int8),
        copies=np.where(on_its_way, UNKNOWN, copies).astype(np.int32),
        source=f"{source.name}, ping{_steps(delay_s)}",
        source_sha256=source.sha256,
    )
    return [trace]


def _refuse_other_hosts(source: TraceSource, runs: list[PingRun]) -> None:
    targets = {run.target: run for run in runs if run.target}
    if len(targets) > 1:
        one, other, *_ = (target[:60].decode("ascii", "backslashreplace") for target in targets)
        problem = f"pings of {one} and {other}: a trace is of one path"
        raise source.refuse(
            problem, list(targets.values())[1].line, "put each host's pings into a file of its own"
        )


def _span(run: PingRun) -> tuple[int, int]:
    """Return the numbers of the first and the last packet sent, as far as the log says it."""
    seen = run.number.size > 0
    # Where the beginning is cut off: iputils, which says how long it took, counts from 1.
    begins = run.first if run.first is not None else int(run.took_s is not None)
    first = int(run.number.min()) if seen else begins
    last = int(run.number.max()) if seen else begins - 1
    if _is_whole(run):
        first = min(first, begins)
    if run.sent is not None:
        return first, max(last, begins + run.sent - 1)
    return first, last + run.unsent


def _is_whole(run: PingRun) -> bool:
    """Tell whether the log has its beginning: ping's first line, or all the answers that the summary counts."""
    return run.first is not None or 0 < run.received == np.unique(run.number[run.answered]).size


def _rows(source: TraceSource, run: PingRun, first: int, last: int) -> _Rows:
    n = last - first + 1
    places = (run.number - first)[run.answered]
    rtt_ms, stamp_s = run.rtt_ms[run.answered], run.stamp_s[run.answered]
    if (rtt_ms > MAX_RTT_MS).any():
        raise source.refuse(f"a round trip of {np.nanmax(rtt_ms):g} ms: at most {MAX_RTT_MS:g} ms", hint=_HINT)
    copies = np.bincount(places, minlength=n).astype(np.int32)
    _refuse_incomplete(source, run, first, copies)
    rtt_s, sent_s = np.full(n, np.nan), np.full(n, np.nan)
    # Backwards, so that of several copies the first one stays.
    rtt_s[places[::-1]] = np.round(rtt_ms[::-1] / 1e3, 12)  # 2.93 ms is 0.00293 s
    sent_s[places[::-1]] = (stamp_s - rtt_ms / 1e3)[::-1]
    interval_s = None
    if run.took_s is not None and _is_whole(run) and n > 1:
        # From the first sending to the last, in whole ms; ping -A may need less than half of one.
        interval_s = (run.took_s or BELOW_A_MS_S) / (n - 1)
    return _Rows(sent_s, rtt_s, copies, interval_s)


def _refuse_incomplete(source: TraceSource, run: PingRun, first: int, copies: NDArray[np.int32]) -> None:
    """Refuse a log that would come out wrong: with other lines missing than those of lost packets."""
    answered = int(np.count_nonzero(copies))
    whole = run.first is not None or not run.number.size
    if whole and run.received > answered:
        problem = f"the summary says {run.received} received, {answered} are in the log: answers are missing"
        raise source.refuse(problem, run.line, "log ping without -q, every line")
    if int(copies.sum()) - answered > run.copies_marked:
        number = first + int(np.argmax(copies > 1))
        problem = (
            f"icmp_seq {number} is answered again, without (DUP!): another ping begins without its first line"
        )
        raise source.refuse(problem, run.line, "keep ping's first line of each run, or import each on its own")


def _on_its_way(run: PingRun, part: _Rows, t_s: NDArray[np.float64], row: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which packets may have been answered yet when the log ended, ``[n]``.

    Args:
        run: The log.
        part: Its rows.
        t_s: When each was sent, ``[n]``.
        row: The row of each of the log's events.
    """
    waited_s = part.rtt_s[~np.isnan(part.rtt_s)]
    usual_s = float(np.median(np.diff(t_s))) if t_s.size > 1 else DEFAULT_INTERVAL_S
    if not run.broken_off and (not waited_s.size or float(np.median(waited_s)) <= usual_s):
        return np.zeros(t_s.size, dtype=np.bool_)
    end_s = float(np.fmax(t_s, t_s + part.rtt_s).max())
    if (said := row[~run.answered]).size:
        # "no answer yet" is printed when the next one is due.
        end_s = max(end_s, float(t_s[said.max()]) + usual_s)
    wait_s = float(waited_s.max()) if waited_s.size else UNANSWERED_WAIT_S
    open_still: NDArray[np.bool_] = (part.copies == 0) & (t_s > end_s - wait_s)
    if run.unsent:
        open_still[-run.unsent :] = False  # what the kernel refused is not on its way
    return open_still


def _times(source: TraceSource, parts: list[_Rows], options: ImportOptions) -> NDArray[np.float64]:
    """Return when each packet was sent, from the first on, ``[n]``."""
    stamped = all(np.isfinite(part.sent_s).any() for part in parts if part.copies.any())
    if options.interval_s is None and stamped and any(part.copies.any() for part in parts):
        return _stamped_times(source, parts)
    times: list[NDArray[np.float64]] = []
    begin_s = 0.0
    for part in parts:
        interval_s = options.interval_s or part.interval_s or DEFAULT_INTERVAL_S
        times.append(begin_s + np.arange(part.copies.size, dtype=np.float64) * interval_s)
        begin_s += part.copies.size * interval_s
    return _to_ns(np.concatenate(times))


def _stamped_times(source: TraceSource, parts: list[_Rows]) -> NDArray[np.float64]:
    """Return the times of the stamps; between them, and before and after, packets are spread evenly."""
    times: list[NDArray[np.float64]] = []
    for part in parts:
        known = np.flatnonzero(np.isfinite(part.sent_s))
        if not known.size:
            rows = np.arange(1, part.copies.size + 1, dtype=np.float64)
            begin_s = float(times[-1][-1]) if times else 0.0
            times.append(begin_s + rows * (part.interval_s or DEFAULT_INTERVAL_S))
            continue
        steps = np.diff(part.sent_s[known]) / np.diff(known)
        interval_s = max(float(np.median(steps)), 0.0) if steps.size else part.interval_s or DEFAULT_INTERVAL_S
        rows = np.arange(part.copies.size, dtype=np.float64)
        sent_s = np.interp(rows, known, part.sent_s[known])
        outside_s = np.minimum(rows - known[0], 0) + np.maximum(rows - known[-1], 0)
        times.append(sent_s + outside_s * interval_s)
    sent_s = np.concatenate(times)
    back_s = float(np.max(np.maximum.accumulate(sent_s) - sent_s))
    if back_s > MAX_BACK_S:
        problem = f"the stamps go back by {back_s:.1f} s: the clock was set, or the logs are in the wrong order"
        raise source.refuse(
            problem, hint="--interval counts time by the numbers instead, for example --interval 1s"
        )
    sent_s = np.maximum.accumulate(sent_s)
    return _to_ns(sent_s - sent_s[0])


def _to_ns(times_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to whole nanoseconds, so that 3 * 0.1 is 0.3."""
    rounded: NDArray[np.float64] = np.round(times_s, 9)
    return rounded


def _steps(delay_s: NDArray[np.float64]) -> str:
    """Say in what steps the delays were printed, where those are coarse."""
    known_ms = delay_s[~np.isnan(delay_s)] * 1e3
    if not known_ms.size:
        return ""
    for least_ms, step_ms in ((_WHOLE_MS_FROM, 1.0), (10.0, 0.1), (1.0, 0.01)):
        high = known_ms[known_ms >= least_ms]
        if high.size and np.allclose(high / step_ms, np.round(high / step_ms), atol=1e-6, rtol=0.0):
            return f", to three digits ({step_ms:g} ms from {least_ms:g} ms on)"
        if high.size:
            return ""
    return ""


IMPORTER = Importer(
    "ping",
    "output of ping, ping -D, ping -O: Linux, BusyBox, macOS",
    _recognises,
    _read,
    frozenset({"interval_s"}),
)
