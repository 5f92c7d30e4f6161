"""irtt's JSON (``irtt client -o file.json``): round trips, one-way delays by two clocks, and losses by direction.

::

    {"round_trips": [{"seqno": 0, "lost": "false",
                      "timestamps": {"client": {"send": {"monotonic": 22211105}, ...}, "server": {...}},
                      "delay": {"rtt": 17291970, "send": 10488213200, "receive": -10470921269}}, ...]}

Times are in ns. ``rtt`` is without what the server took. ``send`` is forward, ``receive`` back; where the server
gave its monotonic clock alone, they are formed from that, as any other clock that is not in step. ``lost`` is
``true_up`` or ``true_down`` where the server's reports told which way, ``true`` where they did not. A reply that
came late is a reply. Round trips are numbered without a gap. irtt counts duplicates without saying of which
packet: where it counted none, each came once.

Source: irtt-client(1), "JSON output".
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from msgspec import Meta, Struct, field
from numpy.typing import NDArray

from netlab.traces.importers.importer import Importer, ImportOptions
from netlab.traces.importers.json_document import decode_json, printable
from netlab.traces.importers.two_way_probes import ProbeFate, TwoWayProbes
from netlab.traces.trace import Trace
from netlab.traces.trace_source import TraceSource

__all__ = ["IMPORTER"]

Nanoseconds = Annotated[int, Meta(ge=-(2**62), le=2**62)]


class _Stamp(Struct, frozen=True, gc=False):
    wall: Nanoseconds | None = None
    monotonic: Nanoseconds | None = None


_NO_STAMP = _Stamp()


class _Side(Struct, frozen=True, gc=False):
    send: _Stamp = _NO_STAMP
    receive: _Stamp = _NO_STAMP


_NO_SIDE = _Side()


class _Stamps(Struct, frozen=True, gc=False):
    client: _Side
    server: _Side = _NO_SIDE


class _Delay(Struct, frozen=True, gc=False):
    rtt: Nanoseconds | None = None
    send: Nanoseconds | None = None
    receive: Nanoseconds | None = None


class _RoundTrip(Struct, frozen=True, gc=False):
    seqno: Annotated[int, Meta(ge=0, lt=2**32)]
    lost: Literal["false", "true", "true_up", "true_down"] | bool
    timestamps: _Stamps
    delay: _Delay


class _Stats(Struct, frozen=True):
    duplicates: Annotated[int, Meta(ge=0, le=2**62)] | None = None


class _Version(Struct, frozen=True):
    irtt: str = ""


class _Result(Struct, frozen=True):
    round_trips: list[_RoundTrip]
    version: _Version = field(default_factory=_Version)
    stats: _Stats = field(default_factory=_Stats)


_FATES = {
    "false": ProbeFate.ANSWERED,
    False: ProbeFate.ANSWERED,  # as irtt 0.1 wrote it
    "true": ProbeFate.LOST,
    True: ProbeFate.LOST,
    "true_up": ProbeFate.LOST_FORWARD,
    "true_down": ProbeFate.LOST_BACK,
}


def _recognises(source: TraceSource) -> bool:
    head = source.head.lstrip()
    return head.startswith(b"{") and (b'"irtt"' in head or b'"round_trips"' in head)


def _read(source: TraceSource, options: ImportOptions) -> list[Trace]:
    result = decode_json(source, _Result)
    trips = result.round_trips
    if not trips:
        raise source.refuse("holds no round trip: round_trips is empty", hint="measure again, for longer")
    probes = TwoWayProbes(
        t_s=_sent_s(source, trips),
        round_trip_s=_seconds([trip.delay.rtt for trip in trips]),
        forward_s=_seconds([_forward_ns(trip) for trip in trips]),
        back_s=_seconds([_back_ns(trip) for trip in trips]),
        fate=np.array([_FATES[trip.lost] for trip in trips], dtype=np.int8),
        single=result.stats.duplicates == 0,
    )
    _refuse_broken(source, trips, probes)
    words = f"{source.name}, irtt {printable(result.version.irtt)}".rstrip()
    if result.stats.duplicates:
        words += f", {result.stats.duplicates} duplicates of unknown packets"
    return probes.traces(source, words)


def _refuse_broken(source: TraceSource, trips: list[_RoundTrip], probes: TwoWayProbes) -> None:
    """Refuse the first round trip that cannot be."""
    answered = probes.fate == ProbeFate.ANSWERED
    seqno = np.array([trip.seqno for trip in trips], dtype=np.int64)
    for broken, rule in (
        # irtt writes a round trip for each packet sent: one that is not there was taken out, lost or not.
        (np.diff(seqno, prepend=seqno[0] - 1) != 1, "seqno must be one above that of the one before"),
        (np.diff(probes.t_s, prepend=0.0) < 0.0, "timestamps.client.send must not be before the one before"),
        (answered & np.isnan(probes.round_trip_s), "is not lost and has no delay.rtt"),
        (~answered & np.isfinite(probes.round_trip_s), "is lost and has a delay.rtt"),
        (answered & (probes.round_trip_s < 0.0), "delay.rtt must not be negative"),
    ):
        source.refuse_first(broken, rule, hint="was it edited?", element="round_trips")


def _sent_s(source: TraceSource, trips: list[_RoundTrip]) -> NDArray[np.float64]:
    """Return when each was sent, from the first: by the monotonic clock, which nobody sets."""
    sent_ns = [trip.timestamps.client.send.monotonic for trip in trips]
    if None in sent_ns:
        sent_ns = [trip.timestamps.client.send.wall for trip in trips]
    if None in sent_ns:
        raise source.refuse(f"round_trips[{sent_ns.index(None)}]: has no timestamps.client.send")
    first_ns = sent_ns[0] or 0
    return np.array([(ns or 0) - first_ns for ns in sent_ns], dtype=np.float64) / 1e9


def _forward_ns(trip: _RoundTrip) -> int | None:
    if trip.delay.send is not None:
        return trip.delay.send
    return _between_ns(trip.timestamps.client.send, trip.timestamps.server.receive)


def _back_ns(trip: _RoundTrip) -> int | None:
    if trip.delay.receive is not None:
        return trip.delay.receive
    return _between_ns(trip.timestamps.server.send, trip.timestamps.client.receive)


def _between_ns(sent: _Stamp, received: _Stamp) -> int | None:
    """Return the difference of two hosts' monotonic clocks."""
    if sent.monotonic is None or received.monotonic is None:
        return None
    return received.monotonic - sent.monotonic


def _seconds(values_ns: list[int | None]) -> NDArray[np.float64]:
    return np.array([np.nan if ns is None else ns for ns in values_ns], dtype=np.float64) / 1e9


IMPORTER = Importer("irtt", "irtt's JSON: round trips and one-way delays", _recognises, _read)
