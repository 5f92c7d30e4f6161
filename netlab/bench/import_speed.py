"""How fast measurements are imported: a million rows of ping's output, and of a CSV, into a trace file."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from netlab.bench.figure import Figure, spread_text
from netlab.traces.importers.catalogue import import_trace
from netlab.traces.trace_file import write_trace

__all__ = ["import_speed"]

ROWS = 1_000_000
TARGET_S = 3.0
REPEATS = 5
SEED = 7
LOSS_RATIO = 0.02
COPY_RATIO = 0.001
INTERVAL_S = 0.01
_COUNTER = 1 << 16


class Import(NamedTuple):
    """What one file took, a time a repeat.

    Attributes:
        name: The format.
        whole_s: From the file to the trace file.
        read_s: Of that, until the trace is there.
        processor_s: Of the whole, what this process had of the processor: less on a machine that others use.
        reference_s: What does less of the same: its lines counted, or its numbers read by numpy.
        reference: What that is, in words.
    """

    name: str
    whole_s: list[float]
    read_s: list[float]
    processor_s: list[float]
    reference_s: list[float]
    reference: str


def import_speed(say: Callable[[str], None]) -> Figure:
    """Import a million rows of each kind, several times, recognised by content."""
    with tempfile.TemporaryDirectory(prefix="netlab-import-") as folder:
        say(f"writing {ROWS:,} rows of each")
        rtt_ms, lost, copied = _measured()
        log, table = Path(folder) / "ping.txt", Path(folder) / "table.csv"
        numbers = Path(folder) / "numbers.csv"
        log.write_text(_ping_log(rtt_ms, lost, copied))
        table.write_text("".join(_table(rtt_ms, lost)))
        np.savetxt(numbers, np.column_stack((np.arange(ROWS) * INTERVAL_S, rtt_ms)), fmt="%.3f", delimiter=",")
        imports = [
            _timed("ping", log, int(lost.sum()), lambda: log.read_bytes().count(b"\n"), "its lines counted", say),
            _timed("csv", table, int(lost.sum()), lambda: _loaded(numbers), "two columns by numpy.loadtxt", say),
        ]
    slowest = max(imports, key=lambda one: statistics.median(one.whole_s))
    value = statistics.median(slowest.whole_s)
    return Figure(
        name="import-speed",
        value=value,
        unit=f"s for {ROWS:,} rows ({slowest.name}, the slower)",
        target=f"under {TARGET_S:g} s each",
        holds=value < TARGET_S,
        n=REPEATS,
        spread=spread_text(slowest.whole_s, "s"),
        note="; ".join(map(_text, imports)) + " (medians)",
    )


def _measured() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return round trips in ms, which packets are lost, and which come twice, ``[ROWS]`` each."""
    generator = np.random.default_rng(SEED)
    rtt_ms = generator.lognormal(np.log(45.0), 0.6, ROWS)
    lost = generator.random(ROWS) < LOSS_RATIO
    return rtt_ms, lost, (generator.random(ROWS) < COPY_RATIO) & ~lost


def _ping_log(rtt_ms: np.ndarray, lost: np.ndarray, copied: np.ndarray) -> str:
    """Write what iputils would print: three digits, the counter's 16 bits."""
    lines = ["PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data."]
    for row in np.flatnonzero(~lost).tolist():
        value = float(rtt_ms[row])
        decimals = 0 if value >= 100.0 else 1 if value >= 10.0 else 2
        number = (row + 1) % _COUNTER
        lines.append(f"64 bytes from 192.0.2.1: icmp_seq={number} ttl=57 time={value:.{decimals}f} ms")
        if copied[row]:
            lines.append(lines[-1] + " (DUP!)")
    answered = ROWS - int(lost.sum())
    took_ms = round(ROWS * INTERVAL_S * 1e3)
    summary = f"{ROWS} packets transmitted, {answered} received, +{int(copied.sum())} duplicates"
    lines += ["", "--- 192.0.2.1 ping statistics ---", f"{summary}, 2% packet loss, time {took_ms}ms", ""]
    return "\n".join(lines)


def _table(rtt_ms: np.ndarray, lost: np.ndarray) -> list[str]:
    lines = ["time_s,host,rtt_ms,lost\n"]
    for row, (value, gone) in enumerate(zip(rtt_ms.tolist(), lost.tolist(), strict=True)):
        lines.append(f"{row * INTERVAL_S:.2f},ap1,{'' if gone else f'{value:.3f}'},{int(gone)}\n")
    return lines


def _loaded(path: Path) -> int:
    return len(np.loadtxt(path, delimiter=","))


def _timed(
    name: str, path: Path, lost: int, reference: Callable[[], int], words: str, say: Callable[[str], None]
) -> Import:
    """Time both in turn, and see that what was imported is what was written."""
    one = Import(name, [], [], [], [], words)
    for repeat in range(REPEATS):
        say(f"{name}, {repeat + 1} of {REPEATS}")
        began_s, processor_s = time.perf_counter(), time.process_time()
        (trace,) = import_trace(path)
        one.read_s.append(time.perf_counter() - began_s)
        write_trace(trace, path.with_suffix(".trace"))
        one.whole_s.append(time.perf_counter() - began_s)
        one.processor_s.append(time.process_time() - processor_s)
        # What was lost at the very end may have been on its way, for all that a log of ping says.
        assert (trace.n, int((trace.lost != 0).sum())) == (ROWS, lost)
        began_s = time.perf_counter()
        reference()
        one.reference_s.append(time.perf_counter() - began_s)
    return one


def _text(one: Import) -> str:
    whole_s, read_s, processor_s, reference_s = map(statistics.median, one[1:5])
    parts = f"{read_s:.2f} of them to read, {processor_s:.2f} of the processor"
    return f"{one.name} {whole_s:.2f} s ({parts}), {one.reference} {reference_s:.2f} s"
