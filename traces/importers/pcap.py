"""The importer of packet captures: pcap and pcapng, by what is in them.

::

    packets --packet_headers--+--> TcpRoundTrips   round trips of the connection with most of them
                              +--> IcmpRoundTrips  round trips, losses, duplicates of the pair that asks most
                              +--> RadiotapFrames  rates, each way, of the link with most data frames

Of the three, that with most samples is taken, or the one that is asked for: one trace, or one each way, whose
source text says of whom it is and what was left out. A capture that ends within a packet is read up to there, and
the text says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from netlab.errors import TraceError
from netlab.traces.capture.gzip_stream import GzipStream
from netlab.traces.capture.link_type import LinkType, link_type_text
from netlab.traces.capture.packet_file import PacketFile, is_capture
from netlab.traces.capture.packet_headers import Echo, TcpSegment, decode_packet
from netlab.traces.capture.radiotap import WirelessFrame
from netlab.traces.importers.icmp_round_trips import SET_BACK_NS, IcmpPair, IcmpRoundTrips
from netlab.traces.importers.importer import Importer, ImportOptions
from netlab.traces.importers.radiotap_frames import FrameSummary, RadiotapFrames, WirelessLink
from netlab.traces.importers.tcp_round_trips import TcpPath, TcpRoundTrips
from netlab.traces.importers.tcp_side import TcpSide
from netlab.traces.trace import ClockVerdict, Trace, TracedPath
from netlab.traces.trace_source import TraceSource

__all__ = ["IMPORTER", "KINDS"]

KINDS = ("tcp", "icmp", "wifi")
"""What can be asked for of a capture that holds several."""

_PROGRESS_EVERY = 100_000
_MAX_TOLD = 3
_LINK_TYPES = frozenset(map(int, LinkType))


class _Seen:
    """All that a capture's packets were, when it ended by the clock at its end, and what is wrong with it."""

    def __init__(self) -> None:
        self.tcp, self.icmp, self.wifi = TcpRoundTrips(), IcmpRoundTrips(), RadiotapFrames()
        self.packets = 0
        self.last_ns = 0
        self.problems: list[str] = []
        self._not_read: Counter[int] = Counter()
        self._set_back = self._most_back_ns = self._without_time = 0

    def read(self, file: PacketFile, progress: Callable[[str], None]) -> None:
        """Take in all packets."""
        for packet in file:
            self.packets += 1
            if self.packets % _PROGRESS_EVERY == 0:
                progress(f"{self.packets:,} packets")
            found = decode_packet(packet)
            if packet.time_ns is not None:
                self._pass_time(packet.time_ns)
            else:
                self._without_time += 1
            if packet.link_type not in _LINK_TYPES:
                self._not_read[packet.link_type] += 1
            if isinstance(found, TcpSegment):
                self.tcp.add(found)
            elif isinstance(found, Echo):
                self.icmp.add(found)
            elif isinstance(found, WirelessFrame):
                self.wifi.add(found)
        not_read = [link_type_text(kind) for kind, _ in self._not_read.most_common(_MAX_TOLD)]
        if not_read:
            n = sum(self._not_read.values())
            self.problems.append(f"{n:,} packets of link type {', '.join(not_read)} are not read")
        if self._without_time:
            self.problems.append(f"{self._without_time:,} packets have no time that can be read")
        self.problems += [problem for problem in (self._times(), file.left_out, file.damage) if problem]

    def _pass_time(self, time_ns: int) -> None:
        """Take note of when a packet came; packets a little out of order are usual."""
        back_ns = self.last_ns - time_ns
        if back_ns <= SET_BACK_NS:
            self.last_ns = max(self.last_ns, time_ns)
            return
        self._set_back += 1
        self._most_back_ns = max(self._most_back_ns, back_ns)
        self.last_ns = time_ns

    def _times(self) -> str:
        if not self._set_back:
            return ""
        often = "once" if self._set_back == 1 else f"{self._set_back:,} times"
        cause = "a clock that was set, or captures joined out of their order"
        return f"its times go back {often}, by {self._most_back_ns / 1e9:,.3g} s at most: {cause}"

    @property
    def end(self) -> str:
        """Return the end of a source text: what is wrong with the capture."""
        return "".join(f"; {problem}" for problem in self.problems)


class _Best(NamedTuple):
    """What each kind has to offer; None where nothing."""

    tcp: TcpPath | None
    icmp: IcmpPair | None
    wifi: WirelessLink | None

    def kind(self, wanted: str) -> str:
        """Return the kind to take: the wanted one, or that with most samples; empty where there is none."""
        counts = {"tcp": _count(self.tcp), "icmp": _count(self.icmp), "wifi": _count(self.wifi)}
        found = wanted or max(counts, key=lambda kind: counts[kind])
        return found if counts[found] else ""


def _count(one: TcpPath | IcmpPair | WirelessLink | None) -> int:
    return 0 if one is None else one.n


def _recognises(source: TraceSource) -> bool:
    return is_capture(source.head)


def _read(source: TraceSource, options: ImportOptions) -> list[Trace]:
    """Return the trace of a capture; of a wireless one, that of each way.

    Raises:
        TraceError: It is no capture, holds nothing that a trace could be made of, or scapy is not installed.
    """
    if options.kind and options.kind not in KINDS:
        raise source.refuse(f"kind = {options.kind[:40]!r}: a capture holds {', '.join(KINDS)}")
    seen = _Seen()
    opened = GzipStream(source.packed()) if source.compressed else source.open()
    file = PacketFile(opened, source.path, source.max_bytes)
    seen.read(file, options.progress)
    if isinstance(opened, GzipStream) and opened.broken and not file.damage:
        seen.problems.append("its gzip is cut short or damaged")
    best = _Best(seen.tcp.best(), seen.icmp.best(), seen.wifi.best())
    kind = best.kind(options.kind)
    if kind == "tcp" and best.tcp is not None:
        return [_of_tcp(source, seen.tcp, best.tcp, seen.end)]
    if kind == "icmp" and best.icmp is not None:
        return [_of_icmp(source, seen, best.icmp)]
    if kind == "wifi" and best.wifi is not None:
        return _of_wifi(source, seen.wifi, best.wifi, seen.end)
    raise _nothing(source, seen, options.kind)


def _of_tcp(source: TraceSource, tcp: TcpRoundTrips, path: TcpPath, end: str) -> Trace:
    side = path.far
    began_ns, delays_ns = (np.array(column, dtype=np.int64) for column in side.samples)
    order = np.argsort(began_ns, kind="stable")
    by = "data" if side.by_data else "acknowledgements"
    text = f"pcap {source.name}: TCP {side.label}, timed by its {by}; {side.retransmissions:,} retransmissions"
    text += _near(path.near) + _others("connection", tcp.connections - 1)
    text += (f"; {tcp.left_out:,} segments of yet others" if tcp.left_out else "") + end
    return Trace.of(
        (began_ns[order] - began_ns.min()) / 1e9,
        path=TracedPath.ROUND_TRIP,
        clocks=ClockVerdict.ONE_CLOCK,
        delay_s=delays_ns[order] / 1e9,
        source=text,
        source_sha256=source.sha256,
    )


def _of_icmp(source: TraceSource, seen: _Seen, pair: IcmpPair) -> Trace:
    sent_ns, delay_s, lost, copies = pair.columns(seen.last_ns)
    order = np.argsort(sent_ns, kind="stable")
    text = f"pcap {source.name}: echo requests of {pair.label}{_others('pair', seen.icmp.pairs - 1)}"
    text += (f"; {seen.icmp.left_out:,} requests of yet others" if seen.icmp.left_out else "") + seen.end
    return Trace.of(
        (sent_ns[order] - sent_ns.min()) / 1e9,
        path=TracedPath.ROUND_TRIP,
        clocks=ClockVerdict.ONE_CLOCK,
        delay_s=delay_s[order],
        lost=lost[order],
        copies=copies[order],
        source=text,
        source_sha256=source.sha256,
    )


def _of_wifi(source: TraceSource, wifi: RadiotapFrames, link: WirelessLink, end: str) -> list[Trace]:
    summaries = {path: one for path, one in link.summaries().items() if not np.isnan(one.rates_bps).all()}
    if not summaries:
        hint = "capture on an interface in monitor mode, whose frames have a radiotap header: docs/capture.md"
        raise source.refuse(f"none of the {link.kind} of {link.label} says its rate", hint=hint)
    began_ns = min(int(one.times_ns.min()) for one in summaries.values())
    left_out = _others("link", wifi.links - 1) + end
    return [_of_way(source, path, one, began_ns, link.kind, left_out) for path, one in summaries.items()]


def _of_way(
    source: TraceSource, path: TracedPath, summary: FrameSummary, began_ns: int, kind: str, end: str
) -> Trace:
    order = np.argsort(summary.times_ns, kind="stable")
    signal = "signal unknown" if summary.signal_dbm is None else f"signal {summary.signal_dbm:g} dBm (median)"
    retries = f"{summary.retry_ratio:.1%} retries"
    return Trace.of(
        (summary.times_ns[order] - began_ns) / 1e9,
        path=path,
        clocks=ClockVerdict.ONE_CLOCK,
        rate_bps=summary.rates_bps[order],
        source=f"pcap {source.name}: {kind} of {summary.label} on the air: {retries}, {signal}{end}",
        source_sha256=source.sha256,
    )


def _near(side: TcpSide) -> str:
    """Return what is left out of a connection: the round trips of its near side."""
    if not side.n:
        return ""
    median_ms = float(np.median(np.array(side.samples[1], dtype=np.int64))) / 1e6
    return f"; {side.label} left out as the near side: n = {side.n:,}, median {median_ms:.3g} ms"


def _others(noun: str, n: int) -> str:
    return f"; {n:,} other {noun}{'s' if n > 1 else ''} left out" if n > 0 else ""


def _nothing(source: TraceSource, seen: _Seen, wanted: str) -> TraceError:
    """Return the error that says what a capture lacks, and how to capture it."""
    if not seen.packets:
        problem, hint = "holds no whole packet", "capture again, for longer"
    elif wanted == "icmp":
        problem, hint = "holds no ICMP echo request to one host", "ping one while you capture"
    elif wanted == "wifi":
        problem = "holds no 802.11 frame that names its sender"
        hint = "capture on an interface in monitor mode: docs/capture.md says how"
    elif seen.tcp.segments:
        problem, hint = _no_round_trip(seen.tcp)
    elif wanted == "tcp":
        problem, hint = "holds no TCP segment", "let something use TCP while you capture"
    else:
        problem = (
            f"holds nothing to make a trace of: in its {seen.packets:,} packets is no TCP, no ICMP echo request"
        )
        problem, hint = f"{problem} and no 802.11 frame that has a time", "capture TCP or a ping: netlab capture"
    return source.refuse(problem + seen.end, hint=hint)


def _no_round_trip(tcp: TcpRoundTrips) -> tuple[str, str]:
    """Return what is wrong with TCP that gives no round trip, and what to do."""
    if tcp.without_timestamps:
        share = f"{tcp.without_timestamps:,} of its {tcp.segments:,} TCP segments have no timestamps option"
        hint = "on the sender `sysctl net.ipv4.tcp_timestamps=1` and capture again, or capture a ping"
        return f"holds no round trip: {share}, which RTTs are read from", hint
    hint = "capture both directions, and for longer than a round trip"
    return "holds no round trip: no TCP timestamp that went out to the network is echoed in it", hint


IMPORTER = Importer(
    "pcap", "packet captures: TCP timestamps, ICMP echo, 802.11 radiotap", _recognises, _read, frozenset({"kind"})
)
