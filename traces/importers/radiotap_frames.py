"""Radiotap frames: what a capture in monitor mode says of one transmitter: rates, retries, signal.

A frame on the air is no round trip and tells no delay. Its rate is that of its own bits: preambles, pauses and
acknowledgements come on top, and what a network delivers is about half of it. A retry is a frame that its sender
has sent before and had no acknowledgement for: the share of retries is that of single transmissions that failed,
not of packets lost, since most arrive when sent again.

Knows no file.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netlab.traces.importers.radiotap import DATA, WirelessFrame, mac_text

__all__ = ["RadiotapFrames", "Transmitter"]

MAX_TRANSMITTERS = 10_000
_NO_SIGNAL = -128


class Transmitter:
    """The frames of one sender.

    Attributes:
        address: Packed.
        data_frames: How many carry data.
    """

    def __init__(self, address: bytes) -> None:
        self.address = address
        self.data_frames = 0
        self._rows: tuple[array[int], array[float], array[int], array[int]] = (
            array("q"), array("d"), array("b"), array("b"),
        )  # fmt: skip

    def add(self, frame: WirelessFrame) -> None:
        """Take in a frame."""
        times_ns, rates_bps, signals_dbm, marks = self._rows
        times_ns.append(frame.time_ns)
        rates_bps.append(frame.rate_bps)
        signals_dbm.append(_NO_SIGNAL if frame.signal_dbm is None else frame.signal_dbm)
        is_data = frame.kind == DATA
        marks.append(frame.retry + 2 * is_data)
        self.data_frames += is_data

    @property
    def n(self) -> int:
        """Return how many frames there are."""
        return len(self._rows[0])

    def summary(self) -> FrameSummary:
        """Return what is known of the frames that carry data; of all where none does."""
        times_ns, rates_bps, signals_dbm, marks = (np.array(row) for row in self._rows)
        taken = marks >= 2 if self.data_frames else np.ones(marks.size, dtype=bool)
        heard = signals_dbm[taken & (signals_dbm != _NO_SIGNAL)]
        return FrameSummary(
            times_ns[taken],
            rates_bps[taken],
            float((marks[taken] & 1).mean()),
            float(np.median(heard)) if heard.size else None,
            "data frames" if self.data_frames else "frames",
        )

    @property
    def label(self) -> str:
        """Return whose frames they are, for a person."""
        return mac_text(self.address)


class FrameSummary(NamedTuple):
    """The frames that count.

    Attributes:
        times_ns: When each was captured, ``[n]``.
        rates_bps: The rate of its bits; not a number where unknown, ``[n]``.
        retry_ratio: How many of them are sent again.
        signal_dbm: The median of those whose signal is known; None where none is.
        kind: What they are, for a person.
    """

    times_ns: NDArray[np.int64]
    rates_bps: NDArray[np.float64]
    retry_ratio: float
    signal_dbm: float | None
    kind: str


class RadiotapFrames:
    """All transmitters of a capture; frames that name none (acknowledgements) count nowhere.

    Attributes:
        frames: How many frames there were in all.
    """

    def __init__(self) -> None:
        self.frames = 0
        self._transmitters: dict[bytes, Transmitter] = {}

    @property
    def transmitters(self) -> int:
        """Return how many there are."""
        return len(self._transmitters)

    def add(self, frame: WirelessFrame) -> None:
        """Take in a frame."""
        self.frames += 1
        address = frame.transmitter
        if not address:
            return
        if address not in self._transmitters:
            if len(self._transmitters) >= MAX_TRANSMITTERS:
                return
            self._transmitters[address] = Transmitter(address)
        self._transmitters[address].add(frame)

    def best(self) -> Transmitter | None:
        """Return the transmitter with the most data frames; where there are none, with the most frames."""
        return max(self._transmitters.values(), key=lambda one: (one.data_frames, one.n), default=None)
