"""Ping's answers, a block of lines that differ in their numbers alone: their words are cut out all at once.

::

    64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=9.1 ms            1,9.1
    64 bytes from 192.0.2.1: icmp_seq=2 ttl=57 time=8.8 ms     -->    2,8.8    --read_columns-->  numbers
    64 bytes from 192.0.2.1: icmp_seq=2 ttl=57 time=9 ms (DUP!)       2,9

Three times as fast as a pattern that is matched on every line. Says nothing of a block with any other line.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from netlab.traces.number_columns import NumberError, read_columns

__all__ = ["regular_answers"]

MAX_ROUTES = 8
"""So many values of the hop counter (ttl) are looked for in a block."""

_HOPS = re.compile(rb" (?:ttl|hlim)=[0-9]{1,3} time=")
_HALF_NUMBERS = (b"\n.", b",.", b".\n", b".,")
_MOST = 1e9

Column = NDArray[np.float64]


def regular_answers(block: bytes, first: re.Match[bytes] | None) -> list[Column] | None:
    """Return stamps, numbers, round trips in ms and what else is numbered (nothing), ``[lines]`` each.

    Args:
        block: Whole lines.
        first: The match of the first line: its groups are stamp, number and round trip.

    Returns:
        None where any line is not like the first.
    """
    if first is None or first[3] is None:
        return None
    rows, stamped = block.count(b"\n"), first[1] is not None
    text = _bare(block, first, rows)
    if text is None or text.translate(None, b"0123456789.,\n") or any(half in text for half in _HALF_NUMBERS):
        return None
    try:
        columns = read_columns(text, 2 + stamped, range(2 + stamped), begin=1)
    except NumberError:
        return None
    number, rtt_ms = columns[-2:]
    in_order = (number < _MOST) & (rtt_ms < _MOST) & (number == np.floor(number)) & ~np.isnan(columns[0])
    unknown = np.full(rows, np.nan)
    return [*([] if stamped else [unknown]), *columns, unknown] if in_order.all() else None


def _bare(block: bytes, first: re.Match[bytes], rows: int) -> bytes | None:
    """Cut out the words of the first line wherever they are; None where a line has not every one of them."""
    text = b"\n" + block.replace(b" ms (DUP!)\n", b" ms\n")
    cuts = [(b" ms\n", b"\n")]
    if first[1] is None:
        cuts.append((b"\n" + block[: first.start(2)], b"\n"))
    else:
        cuts += [(b"\n[", b"\n"), (block[first.end(1) : first.start(2)], b",")]
    for words, instead in cuts:
        if text.count(words) != rows:
            return None
        text = text.replace(words, instead)
    return _without_hops(text, rows)


def _without_hops(text: bytes, rows: int) -> bytes | None:
    """Cut out the hop counter, which may be one of several; None where a line has none."""
    for _ in range(MAX_ROUTES):
        found = _HOPS.search(text)
        if found is None:
            return None
        rows -= text.count(found[0])
        text = text.replace(found[0], b",")
        if not rows:
            return text
    return None
