"""iperf3's JSON (``iperf3 --json``, ``--json-stream``): a rate an interval, and for UDP what was lost in it.

::

    client's file --.                    .--> forward: client to server
                    +-- who received? --+
    its server's  --'                    `--> back: server to client (-R, --bidir)

The rate is of payload. What a sender reports has left for its own buffers and not yet crossed the path; so the
receiver's intervals are taken where the file has them (``-R``, ``--bidir``, ``--get-server-output``, a server's
own file), and the sender's else. What ``-O`` omits is left out; an end shorter than a tenth of the
others belongs to the interval before.

Of UDP an interval says how many packets came and how many were lost, not which; of a sender, the end alone says
how many in all. They become a row each, the losses spread evenly, and the trace says so (``LossTimes.SPREAD``):
their share is right, their runs are not measured. Of TCP a row is an interval.

Source: iperf3 3.12's own output; iperf3(1).
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct, field

from netlab.traces.importers.importer import Importer, ImportOptions
from netlab.traces.importers.iperf3_text import received_intervals
from netlab.traces.importers.json_document import decode_json, printable
from netlab.traces.importers.rate_interval import RateInterval, interval_trace, without_late
from netlab.traces.trace import Trace, TracedPath
from netlab.traces.trace_source import TraceSource

__all__ = ["IMPORTER"]

MAX_BYTES = 128 << 20
"""Of a document: a day at one interval a second, or two hours at ten, of two streams each."""

Seconds = Annotated[float, Meta(ge=-1e9, le=1e9)]
Rate = Annotated[float, Meta(ge=0.0, le=1e15)]
Count = Annotated[int, Meta(ge=-(2**31), le=2**31)]


class _Sum(Struct, frozen=True):
    start: Seconds
    end: Seconds
    bits_per_second: Rate
    omitted: bool = False
    sender: bool | None = None
    packets: Count | None = None
    lost_packets: Count | None = None


class _Interval(Struct, frozen=True):
    streams: list[_Sum]
    sum: _Sum | None = None
    sum_bidir_reverse: _Sum | None = None

    @property
    def sums(self) -> list[_Sum]:
        """Return what all streams of a direction had together; formed here where iperf3 did not."""
        if self.sum is not None:
            return [one for one in (self.sum, self.sum_bidir_reverse) if one is not None]
        groups = ([one for one in self.streams if one.sender is sender] for sender in (True, False, None))
        return [_together(group) for group in groups if group]


class _TestStart(Struct, frozen=True):
    protocol: str = "TCP"
    reverse: int | bool = 0


class _Peer(Struct, frozen=True):
    host: str = ""


class _Start(Struct, frozen=True):
    version: str = ""
    accepted_connection: _Peer | None = None
    test_start: _TestStart = field(default_factory=_TestStart)


class _Total(Struct, frozen=True):
    packets: Count | None = None
    lost_packets: Count | None = None


class _End(Struct, frozen=True):
    sum_received: _Total | None = None


class _Run(Struct, frozen=True):
    start: _Start
    intervals: list[_Interval]
    end: _End = field(default_factory=_End)
    error: str = ""
    server_output_json: _Run | None = None
    server_output_text: str = ""


class _Event(Struct, frozen=True):
    event: str
    data: msgspec.Raw


_EVENT_DECODER = msgspec.json.Decoder(_Event)
_EVENT_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    "start": msgspec.json.Decoder(_Start),
    "interval": msgspec.json.Decoder(_Interval),
    "end": msgspec.json.Decoder(_End),
    "error": msgspec.json.Decoder(str),
}


def _recognises(source: TraceSource) -> bool:
    head = source.head.lstrip()
    said = b'"iperf 3' in head or (b'"intervals"' in head and b'"test_start"' in head)
    return head.startswith(b"{") and said


def _read(source: TraceSource, options: ImportOptions) -> list[Trace]:
    run = _read_stream(source) if _is_stream(source) else decode_json(source, _Run, MAX_BYTES)
    words = f"{source.name}, {printable(run.start.version) or 'iperf3'} {printable(run.start.test_start.protocol)}"
    if run.error:
        words += f", which ended with: {printable(run.error)}"
    traces = []
    for path in (TracedPath.FORWARD, TracedPath.BACK):
        received, sent = _views(run, path)
        if received:
            traces.append(interval_trace(source, received, path, f"{words}, as received"))
        elif sent:
            seen = "as sent: what crossed the path may be less"
            traces.append(interval_trace(source, _with_losses(run, path, sent), path, f"{words}, {seen}"))
    if not traces:
        problem = f"iperf3 failed: {printable(run.error)}" if run.error else "holds no interval that was measured"
        raise source.refuse(problem, hint="measure again: iperf3 --json -c HOST -t 60 -i 0.1")
    return traces


def _views(run: _Run, path: TracedPath) -> tuple[list[RateInterval], list[RateInterval]]:
    """Return the intervals of a direction as its receiver saw them, and as its sender did."""
    received = _intervals(run, path, sender=False)
    if not received and run.server_output_json is not None:
        received = _intervals(run.server_output_json, path, sender=False)
    if not received and path is TracedPath.FORWARD and run.server_output_text:
        received = received_intervals(run.server_output_text)
    return received, _intervals(run, path, sender=True)


def _intervals(run: _Run, path: TracedPath, *, sender: bool) -> list[RateInterval]:
    """Return the intervals of one direction that one side's report has."""
    client = run.start.accepted_connection is None
    found = []
    for interval in run.intervals:
        for one in interval.sums:
            # Before 3.7 a sum does not say who sent; what is meant is the side that measures.
            sends = bool(run.start.test_start.reverse) != client if one.sender is None else one.sender
            forward = sends == client
            if one.omitted or sends != sender or forward != (path is TracedPath.FORWARD) or one.end <= one.start:
                continue
            packets = None if one.packets is None else max(one.packets, 0)
            found.append(RateInterval(one.start, one.end, one.bits_per_second, packets, one.lost_packets or 0))
    return without_late(found)


def _with_losses(run: _Run, path: TracedPath, sent: list[RateInterval]) -> list[RateInterval]:
    """Return what was sent with what the other side, at the end, said it lost of it; else without any packets."""
    total = run.end.sum_received
    packets = np.array([one.packets or 0 for one in sent], dtype=np.int64)
    if path is not TracedPath.FORWARD or total is None or not total.packets or not packets.sum():
        return [one._replace(packets=None) for one in sent]
    if run.error or total.lost_packets is None or not 0 <= total.lost_packets <= total.packets:
        return [one._replace(packets=None) for one in sent]
    lost = np.diff(np.cumsum(packets) * total.lost_packets // max(total.packets, int(packets.sum())), prepend=0)
    return [one._replace(lost=int(share)) for one, share in zip(sent, lost, strict=True)]


def _together(streams: list[_Sum]) -> _Sum:
    def total(counts: list[int | None]) -> int | None:
        return None if None in counts else sum(count or 0 for count in counts)

    return _Sum(
        start=min(one.start for one in streams),
        end=max(one.end for one in streams),
        bits_per_second=sum(one.bits_per_second for one in streams),
        omitted=streams[0].omitted,
        sender=streams[0].sender,
        packets=total([one.packets for one in streams]),
        lost_packets=total([one.lost_packets for one in streams]),
    )


def _is_stream(source: TraceSource) -> bool:
    return bool(source.head_lines) and b'"event"' in source.head_lines[0] and b'"data"' in source.head_lines[0]


def _read_stream(source: TraceSource) -> _Run:
    """Read ``--json-stream``: a JSON document a line, each an event; one that was cut short ends there.

    A last line without its end that is no event is where it was cut.
    """
    if len(source.data()) > MAX_BYTES:
        raise source.refuse(f"holds more than {MAX_BYTES >> 20} MiB", hint="measure in shorter runs")
    found: dict[str, Any] = {name: [] for name in _EVENT_DECODERS}
    lines = source.data().split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            event = _EVENT_DECODER.decode(line)
            if event.event in _EVENT_DECODERS:
                found[event.event].append(_EVENT_DECODERS[event.event].decode(event.data))
        except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
            if number == len(lines) and isinstance(problem, msgspec.DecodeError):
                break
            hint = "was it edited? each line is an event as iperf3 wrote it"
            raise source.refuse(f"is no event of iperf3: {problem}", number, hint) from None
    return _Run(
        start=(found["start"] or [_Start()])[-1],
        intervals=found["interval"],
        end=(found["end"] or [_End()])[-1],
        error=(found["error"] or [""])[-1],
    )


IMPORTER = Importer("iperf3", "iperf3's JSON, TCP and UDP: a rate an interval", _recognises, _read)
