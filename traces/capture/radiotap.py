"""Radiotap: what a wireless card in monitor mode says of a frame, and the frame's own first header.

::

    | version, length | present words | MAC time | flags | rate | channel | ... | signal | ... | MCS | VHT | HE |
                                        each field aligned to its own size, there if its bit is set

Knows the fields up to the rate's; an unknown field ends the reading, and what came before it stays known.
Bytes in, a record or None out.

Source: radiotap.org's list of defined fields; IEEE 802.11-2020, 9.2 (frame format), 19.5 (HT), 21.5 (VHT);
IEEE 802.11ax-2021, 27.5 (HE).
"""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

__all__ = ["DATA", "WirelessFrame", "decode_80211", "decode_radiotap", "mac_text", "wireless_header_bytes"]

MANAGEMENT, CONTROL, DATA = 0, 1, 2

_MAX_PRESENT_WORDS = 16
_EXTENDED = 1 << 31
_RETRY = 0x08
_TO_AP, _FROM_AP = 0x01, 0x02
_FOUR_ADDRESSES = _TO_AP | _FROM_AP
_QOS = 8

# Of each field by its bit: what it is aligned to, its size.
_FIELDS = (
    (8, 8), (1, 1), (1, 1), (2, 4), (2, 2), (1, 1), (1, 1), (2, 2), (2, 2), (2, 2), (1, 1), (1, 1), (1, 1), (1, 1),
    (2, 2), (2, 2), (1, 1), (1, 1), (4, 8), (1, 3), (4, 8), (2, 12), (8, 12), (2, 12),
)  # fmt: skip
_RATE, _SIGNAL, _MCS, _VHT, _HE = 2, 5, 19, 21, 23
_WANTED = (_RATE, _SIGNAL, _MCS, _VHT, _HE)

# Bits a subcarrier and symbol, modulation times coding, by index: HT has the first eight, VHT ten, HE all.
_BITS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 4.5, 5.0, 6.0, 20 / 3, 7.5, 25 / 3)
_HT_CARRIERS = (52, 108, 52, 52)
_VHT_CARRIERS = (52, 108, 234, 468)
_HE_CARRIERS = (234, 468, 980, 1960)
_HE_SYMBOL_S = (13.6e-6, 14.4e-6, 16e-6)
_HE_TOLD = 0x4020  # the modulation and the bandwidth are known
_HE_DCM, _HE_DCM_TOLD = 0x1000, 0x0040
_HE_STBC, _HE_STBC_TOLD = 0x8000, 0x0200
_LONG_S, _SHORT_S = 4.0e-6, 3.6e-6

# VHT's codes for a bandwidth: which of the widths it is; the first where not named.
_VHT_WIDTH = {1: 1, 4: 2, 5: 1, 6: 1, 11: 3, 12: 2, 13: 2, 14: 1, 15: 1, 16: 1, 17: 1}


class WirelessFrame(NamedTuple):
    """A frame on the air.

    Attributes:
        time_ns: When it was captured.
        signal_dbm: How strong it was; None where the card does not say.
        rate_bps: At which rate its bits were sent; not a number likewise.
        retry: Whether its sender says it has sent it before.
        kind: Management, control or data.
        receiver: Address, packed.
        transmitter: Likewise; empty where the frame does not say (an acknowledgement).
        from_ap: Whether an access point sends it on to a station; one that says nothing of the kind does not.
    """

    time_ns: int
    signal_dbm: int | None
    rate_bps: float
    retry: bool
    kind: int
    receiver: bytes
    transmitter: bytes
    from_ap: bool


def decode_radiotap(time_ns: int, data: bytes) -> WirelessFrame | None:
    """Return the frame in bytes that begin with a radiotap header; None where none is whole.

    Raises:
        struct.error: They end before the frame's header does.
    """
    length = _radiotap_bytes(data)
    fields = _fields(data[:length])
    frame = decode_80211(time_ns, data[length:])
    if frame is None:
        return None
    return frame._replace(
        signal_dbm=int(struct.unpack("<b", fields[_SIGNAL])[0]) if _SIGNAL in fields else None,
        rate_bps=_rate_bps(fields),
    )


def decode_80211(time_ns: int, data: bytes) -> WirelessFrame | None:
    """Return the frame in bytes that begin with its own header; None where that is of no known version.

    Raises:
        struct.error: They end before the header does.
    """
    control, flags = struct.unpack_from("<BB", data)
    if control & 0x03:
        return None
    kind = control >> 2 & 3
    (receiver,) = struct.unpack_from("6s", data, 4)
    transmitter = b""
    if kind in (MANAGEMENT, DATA):
        transmitter, _ = struct.unpack_from("<6s8s", data, 10)  # and all of the header behind it
    from_ap = flags & _FOUR_ADDRESSES == _FROM_AP
    return WirelessFrame(time_ns, None, math.nan, bool(flags & _RETRY), kind, receiver, transmitter, from_ap)


def wireless_header_bytes(data: bytes, *, radiotap: bool) -> int:
    """Return how many bytes of a wireless capture are headers; of an unknown version, the card's own alone.

    Raises:
        struct.error: They end before the header does.
    """
    start = _radiotap_bytes(data) if radiotap else 0
    control, flags = struct.unpack_from("<BB", data, start)
    if control & 0x03:
        return start
    kind = control >> 2 & 3
    if kind == CONTROL:
        return start + 16
    if kind != DATA:
        return start + 24
    longer = 6 if flags & _FOUR_ADDRESSES == _FOUR_ADDRESSES else 0
    return start + 24 + longer + (2 if control >> 4 & _QOS else 0)


def mac_text(packed: bytes) -> str:
    """Return a packed hardware address for a person."""
    return packed.hex(":")


def _radiotap_bytes(data: bytes) -> int:
    version, length = struct.unpack_from("<BxH", data)
    if version or not 8 <= length <= len(data):
        raise struct.error("no radiotap header")
    return int(length)


def _fields(header: bytes) -> dict[int, bytes]:
    """Return the wanted fields of the first namespace by their bits; later ones are of single antennas."""
    present = first = struct.unpack_from("<I", header, 4)[0]
    at = 8
    for _ in range(_MAX_PRESENT_WORDS):
        if not present & _EXTENDED:
            break
        present, at = struct.unpack_from("<I", header, at)[0], at + 4
    found = {}
    for bit, (alignment, size) in enumerate(_FIELDS):
        if first >> bit & 1:
            at += -at % alignment
            if bit in _WANTED and at + size <= len(header):
                found[bit] = header[at : at + size]
            at += size
    return found


def _rate_bps(fields: dict[int, bytes]) -> float:
    """Return the rate of whichever generation of 802.11 the frame was sent by."""
    if _HE in fields:
        return _he_rate_bps(fields[_HE])
    if _VHT in fields:
        return _vht_rate_bps(fields[_VHT])
    if _MCS in fields:
        return _ht_rate_bps(fields[_MCS])
    return 500_000.0 * fields[_RATE][0] if fields.get(_RATE, b"\0")[0] else math.nan


def _ht_rate_bps(field: bytes) -> float:
    known, flags, index = field
    if not known & 0x02 or index > 31:
        return math.nan
    symbol_s = _SHORT_S if flags & 0x04 else _LONG_S
    return _HT_CARRIERS[flags & 3] * _BITS[index % 8] * (index // 8 + 1) / symbol_s


def _vht_rate_bps(field: bytes) -> float:
    known, flags, bandwidth, user = struct.unpack_from("<HBBB", field)
    streams, index = user & 15, user >> 4
    if not known & 0x40 or not streams or index > 9:
        return math.nan
    carriers = _VHT_CARRIERS[_VHT_WIDTH.get(bandwidth, 0)]
    symbol_s = _SHORT_S if flags & 0x04 else _LONG_S
    return float(carriers * _BITS[index] * streams / symbol_s)


def _he_rate_bps(field: bytes) -> float:
    known, _, modulation, _, width, streams = struct.unpack("<6H", field)
    index, carriers, guard, n = modulation >> 8 & 15, width & 15, width >> 4 & 3, streams & 15
    if known & _HE_TOLD != _HE_TOLD or index > 11 or carriers > 3 or guard > 2 or not n:
        return math.nan
    rate_bps = float(_HE_CARRIERS[carriers] * _BITS[index] * n / _HE_SYMBOL_S[guard])
    if known & _HE_DCM_TOLD and modulation & _HE_DCM:  # each bit on two subcarriers
        rate_bps /= 2
    if known & _HE_STBC_TOLD and modulation & _HE_STBC and not n % 2:  # each stream from two antennas
        rate_bps /= 2
    return rate_bps
