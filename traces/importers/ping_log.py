"""PingLog: what ``ping`` printed, as the events in it: which numbers were answered, how soon, and by whose word.

::

    PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.                      a run begins, at number 1
    [1700000000.51] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=9.1 ms   answered; stamped by -D
    64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=9.4 ms (DUP!)         answered once more
    no answer yet for icmp_seq=2                                          was sent, no more is known
    3 packets transmitted, 1 received, +1 duplicates, ... time 2003ms     a run ends, at number 3

English, in the wordings of iputils, BusyBox and macOS. Knows the lines and nothing of traces. No Python runs
for a line that is in order: a block of answers that differ in their numbers alone goes through
``ping_answers.py``, any other through one pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.traces.importers.ping_answers import regular_answers
from netlab.traces.number_columns import NumberError, count_rows, read_columns
from netlab.traces.trace_source import TraceSource

__all__ = ["EVENT", "PingRun", "looks_like_ping", "read_runs"]

Column = NDArray[np.float64]

MAX_RUNS = 20_000
"""So many pings a log may hold, one after another."""

_BLOCK_BYTES = 256 << 10
_MAX_LINE = 1000
_FEW = 50  # numbers that are sooner read one by one
_SEQUENCE = 1 << 16
_HOST = rb"[^\n=]*(?<=[sr]eq)"  # up to icmp_seq, icmp_req of old, or BusyBox's seq
EVENT = re.compile(
    rb"^(?:\[([0-9]{1,12}\.[0-9]{1,9})\] )?"
    rb"(?:[0-9]+ bytes from " + _HOST + rb"=([0-9]{1,9})(?: ident=[0-9]+)?(?: (?:ttl|hlim)=[0-9]+)?"
    rb"(?: time=([0-9]{1,9}(?:\.[0-9]{1,6})?) ms)?(?:[ \t]\([^\n]*)?$"
    rb"|(?:From|no answer yet|Request timeout) " + _HOST + rb"[= ]([0-9]{1,9})\b[^\n]*$)",
    re.MULTILINE,
)
"""A line about a packet: its stamp, the number answered, the round trip, or the number otherwise said."""

_BOUNDARY = re.compile(
    rb"^(?:[ \t]{0,80}(?P<header>PING6?[ (][^\n]*)"
    rb"|(?:\^C)?(?P<sent>[0-9]{1,9}) packets transmitted, (?P<received>[0-9]{1,9})(?: packets)? received"
    rb"(?:[^\n]*?, time (?P<took>[0-9]{1,12})ms)?[^\n]*)$",
    re.MULTILINE,
)
_BOUNDARY_WORDS = (b"\nPING", b"\n PING", b"\n\tPING", b" packets transmitted")
_FROM_ZERO = re.compile(rb"PING6\(|PING [^\n]*\): [0-9]+ data bytes")
_TARGET = re.compile(rb"PING [^\n(]*\(([^)\n]*)\)|PING6\([^\n]*--> (\S+)|PING (\S+)")
_NOT_SENT = re.compile(rb"^ping6?: send(?:msg|to): ", re.MULTILINE)
_HINT = "a log of ping, in English, as it was printed; docs/traces.md has the wordings"


_WORDS_OF_NUMBERS = (b"seq=", b"req=", b"icmp_seq ")


class PingRun(NamedTuple):
    """The output of one ping.

    Attributes:
        first: The number of the first packet sent; None where the log does not begin with the ping.
        sent: How many the summary says were sent; None where there is none.
        received: How many it says were answered, copies not counted.
        took_s: How long it says that took, to the last packet sent or answered; None where it does not.
        unsent: How many more the kernel refused after the last event.
        broken_off: Whether it surely did not wait for the last answers: no summary, or ``^C`` before it.
        target: The address in the header.
        stamp_s: When each event was printed, NaN where that is not said, ``[events]``.
        number: Of the packet, its sequence number counted on over 65535, ``[events]``.
        answered: Whether it is an answer, ``[events]``.
        rtt_ms: NaN where it is none or says no time, ``[events]``.
        copies_marked: How many answers ping itself calls copies.
        line: The line of the file on which the run begins, counted from 1.
    """

    first: int | None
    sent: int | None
    received: int
    took_s: float | None
    unsent: int
    broken_off: bool
    target: bytes
    stamp_s: Column
    number: NDArray[np.int64]
    answered: NDArray[np.bool_]
    rtt_ms: Column
    copies_marked: int
    line: int


class _Span(NamedTuple):
    """Where a run's lines are, and what its first and last say."""

    begin: int
    end: int
    header: bytes
    summary: re.Match[bytes] | None


def looks_like_ping(head: bytes) -> bool:
    """Tell whether the beginning of a file holds a ping's first line, an event or a summary."""
    text = _clean(head)
    return any(pattern.search(text) for pattern in (EVENT, _BOUNDARY))


def read_runs(source: TraceSource) -> list[PingRun]:
    """Return what each ping in a file says, in the order of the file.

    Raises:
        TraceError: A line says a number in words that are not ping's, or there are too many lines.
    """
    try:
        count_rows(source.data())  # a line is an answer at most
    except NumberError as error:
        raise source.refuse(str(error), error.row + 1, "cut the log into parts") from None
    data = _clean(source.data())
    if not data.endswith(b"\n"):
        # Output that was cut off: half a line says nothing (12 may have been 123 ms).
        data = data[: data.rfind(b"\n") + 1]
    runs = []
    line = 1
    for count, span in enumerate(_spans(data)):
        if count > MAX_RUNS:
            raise source.refuse(f"begins more than {MAX_RUNS} pings", line, "cut it into parts")
        run = _read_run(source, data, span, line)
        line += data.count(b"\n", span.begin, span.end)
        if run.number.size or run.sent or run.unsent:
            runs.append(run)
    return runs


def _clean(data: bytes) -> bytes:
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if b"\a" in data:
        data = data.replace(b"\a", b"")  # ping -a rings at each answer
    # What is below the clock's resolution is taken to be in its middle.
    return data.replace(b" time<1 ms", b" time=0.5 ms")


def _spans(data: bytes) -> Iterator[_Span]:
    """Part a log where a ping begins or sums up."""
    begin, header = 0, b""
    for match in _boundaries(data):
        if match["header"] is None:
            yield _Span(begin, match.end(), header, match)
            begin, header = match.end(), b""
        else:
            if begin < match.start():
                yield _Span(begin, match.start(), header, None)
            begin, header = match.start(), match["header"]
    if begin < len(data):
        yield _Span(begin, len(data), header, None)


def _boundaries(data: bytes) -> Iterator[re.Match[bytes]]:
    """Find the lines that part a log, by a word of each: ten times as fast as a pattern tried on every line."""
    ahead = {word: data.find(word) for word in _BOUNDARY_WORDS}
    match, last = _BOUNDARY.match(data), -1
    while True:
        if match is not None and match.start() > last:
            yield match
            last = match.start()
        ahead = {word: at for word, at in ahead.items() if at >= 0}
        if not ahead:
            return
        word, at = min(ahead.items(), key=lambda item: item[1])
        ahead[word] = data.find(word, at + 1)
        # Within a line's length: in a file that is all one line, looking further back each time would not end.
        match = _BOUNDARY.match(data, data.rfind(b"\n", max(at - _MAX_LINE, 0), at + 1) + 1)


def _read_run(source: TraceSource, data: bytes, span: _Span, line: int) -> PingRun:
    stamps, answers, times, others = _events(source, data, span, line)
    answered = ~np.isnan(answers)
    numbers = _counted_on(np.where(answered, answers, others))
    last = max(data.rfind(b"seq", span.begin, span.end), span.begin)
    summary = span.summary
    first = None
    if span.header:
        first = 0 if _FROM_ZERO.match(span.header) else 1
    target = _TARGET.match(span.header)
    return PingRun(
        first=first,
        sent=None if summary is None else int(summary["sent"]),
        received=0 if summary is None else int(summary["received"]),
        took_s=None if summary is None or summary["took"] is None else int(summary["took"]) / 1e3,
        unsent=len(_NOT_SENT.findall(data, last, span.end)) if data.find(b": send", last, span.end) >= 0 else 0,
        broken_off=summary is None or data.find(b"\n^C", last, span.end) >= 0,
        target=next(filter(None, target.groups()), b"") if target else b"",
        stamp_s=stamps,
        number=numbers,
        answered=answered,
        rtt_ms=times,
        copies_marked=data.count(b"(DUP!)", span.begin, span.end),
        line=line,
    )


def _events(source: TraceSource, data: bytes, span: _Span, line: int) -> list[Column]:
    """Return stamps, numbers answered, round trips and numbers otherwise said, ``[events]`` each."""
    parts: list[list[Column]] = [[], [], [], []]
    begin = span.begin
    while begin < span.end:
        end = data.rfind(b"\n", begin, min(begin + _BLOCK_BYTES, span.end)) + 1 or span.end
        block = data[begin:end]
        columns = regular_answers(block, EVENT.match(block))
        if columns is None:
            numbered = sum(block.count(word) for word in _WORDS_OF_NUMBERS)
            events = EVENT.findall(block) if numbered else []
            if numbered != len(events):
                raise _odd_line(source, block, line + data.count(b"\n", span.begin, begin))
            columns = [_numbers(texts) for texts in zip(*events, strict=True)]
        for part, column in zip(parts, columns, strict=False):
            part.append(column)
        begin = end
    return [np.concatenate(part) if part else np.empty(0) for part in parts]


def _numbers(texts: tuple[bytes, ...]) -> Column:
    """Return what the texts say, NaN for an empty one."""
    if not any(texts):
        return np.full(len(texts), np.nan)
    if len(texts) < _FEW:
        return np.array([float(text) if text else np.nan for text in texts])
    (column,) = read_columns(b"\n".join((*texts, b"")), 1, [0])
    return column


def _counted_on(numbers: Column) -> NDArray[np.int64]:
    """Count on where a number of 16 bits begins anew; a step is the shorter way round, ahead or back."""
    whole = numbers.astype(np.int64)
    if not whole.size or whole.max() >= _SEQUENCE:
        return whole
    half = _SEQUENCE // 2
    steps = (np.diff(whole) + half) % _SEQUENCE - half
    return np.concatenate((whole[:1], whole[0] + np.cumsum(steps)))


def _odd_line(source: TraceSource, block: bytes, line: int) -> Exception:
    for place, text in enumerate(block.split(b"\n")):
        if re.search(rb"[sr]eq=|icmp_seq ", text) and not EVENT.match(text):
            shown = text[:80].decode("ascii", "backslashreplace")
            return source.refuse(f"{shown!r} is no line of ping's", line + place, _HINT)
    return source.refuse("a line names two packets", line, _HINT)
