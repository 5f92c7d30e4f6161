"""Radiotap frames: what a capture in monitor mode says of one wireless link: rates, retries, signal, each way.

::

    station --to the access point--> access point      forward
            <-from the access point-                   back

A frame on the air is no round trip and tells no delay. Its rate is that of its own bits: preambles, pauses and
acknowledgements come on top, and what a network delivers is about half of it. A retry is a frame that its sender
has sent before and had no acknowledgement for: the share of retries is that of single transmissions that failed,
not of packets lost, since most arrive when sent again.

A link is a station and its access point. Where no access point is (ad hoc, beacons), it is one sender and whom it
sends to, forward.

Knows no file.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.traces.capture.radiotap import DATA, WirelessFrame, mac_text
from netlab.traces.trace import TracedPath

__all__ = ["FrameSummary", "RadiotapFrames", "WirelessLink"]

MAX_LINKS = 10_000
_NO_SIGNAL = -128


class FrameSummary(NamedTuple):
    """The frames of one way that count.

    Attributes:
        label: Whose they are, for a person.
        times_ns: When each was captured, ``[n]``.
        rates_bps: The rate of its bits; not a number where unknown, ``[n]``.
        retry_ratio: How many of them are sent again.
        signal_dbm: The median of those whose signal is known; None where none is.
    """

    label: str
    times_ns: NDArray[np.int64]
    rates_bps: NDArray[np.float64]
    retry_ratio: float
    signal_dbm: float | None


class _Way:
    """The frames of one way."""

    def __init__(self) -> None:
        self.data_frames = 0
        self.rows: tuple[array[int], array[float], array[int], array[int]] = (
            array("q"), array("d"), array("b"), array("b"),
        )  # fmt: skip

    def add(self, frame: WirelessFrame) -> None:
        """Take in a frame."""
        times_ns, rates_bps, signals_dbm, marks = self.rows
        times_ns.append(frame.time_ns)
        rates_bps.append(frame.rate_bps)
        signals_dbm.append(_NO_SIGNAL if frame.signal_dbm is None else frame.signal_dbm)
        is_data = frame.kind == DATA
        marks.append(frame.retry + 2 * is_data)
        self.data_frames += is_data

    def summary(self, label: str, *, data_alone: bool) -> FrameSummary | None:
        """Return what is known of its frames, or of those that carry data; None where there are none."""
        times_ns, rates_bps, signals_dbm, marks = (np.array(row) for row in self.rows)
        taken = marks >= 2 if data_alone else np.ones(marks.size, dtype=bool)
        if not taken.any():
            return None
        heard = signals_dbm[taken & (signals_dbm != _NO_SIGNAL)]
        retry_ratio = float((marks[taken] & 1).mean())
        signal_dbm = float(np.median(heard)) if heard.size else None
        return FrameSummary(label, times_ns[taken], rates_bps[taken], retry_ratio, signal_dbm)


class WirelessLink:
    """The frames between two ends.

    Args:
        here: The station's address, packed.
        there: The access point's.
    """

    def __init__(self, here: bytes, there: bytes) -> None:
        self.here, self.there = here, there
        self._ways = {TracedPath.FORWARD: _Way(), TracedPath.BACK: _Way()}

    def add(self, frame: WirelessFrame) -> None:
        """Take in a frame."""
        self._ways[TracedPath.BACK if frame.from_ap else TracedPath.FORWARD].add(frame)

    @property
    def n(self) -> int:
        """Return how many frames there are."""
        return sum(len(way.rows[0]) for way in self._ways.values())

    @property
    def data_frames(self) -> int:
        """Return how many of them carry data."""
        return sum(way.data_frames for way in self._ways.values())

    @property
    def kind(self) -> str:
        """Return which frames count, for a person: those that carry data, all where none does."""
        return "data frames" if self.data_frames else "frames"

    @property
    def label(self) -> str:
        """Return whose frames they are, for a person."""
        return f"{mac_text(self.here)} and {mac_text(self.there)}"

    def summaries(self) -> dict[TracedPath, FrameSummary]:
        """Return what is known of each way that has frames which count."""
        ends = mac_text(self.here), mac_text(self.there)
        labels = {TracedPath.FORWARD: " to ".join(ends), TracedPath.BACK: " to ".join(reversed(ends))}
        found = {
            path: way.summary(labels[path], data_alone=self.data_frames > 0) for path, way in self._ways.items()
        }
        return {path: summary for path, summary in found.items() if summary is not None}


class RadiotapFrames:
    """All links of a capture; frames that name no sender (acknowledgements) count nowhere."""

    def __init__(self) -> None:
        self._links: dict[bytes, WirelessLink] = {}

    @property
    def links(self) -> int:
        """Return how many there are."""
        return len(self._links)

    def add(self, frame: WirelessFrame) -> None:
        """Take in a frame."""
        if not frame.transmitter:
            return
        here, there = frame.transmitter, frame.receiver
        if frame.from_ap:
            here, there = there, here
        link = self._links.get(here + there)
        if link is None:
            if len(self._links) >= MAX_LINKS:
                return
            link = self._links[here + there] = WirelessLink(here, there)
        link.add(frame)

    def best(self) -> WirelessLink | None:
        """Return the link with the most data frames; where there are none, with the most frames."""
        return max(self._links.values(), key=lambda link: (link.data_frames, link.n), default=None)
