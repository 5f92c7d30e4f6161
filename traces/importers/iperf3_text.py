"""What an iperf3 server prints of UDP that it receives, as a client's ``--get-server-output`` brings it along.

::

    [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
    [  5]   0.00-1.00   sec   640 KBytes  5.24 Mbits/sec  0.005 ms  0/20 (0%)
    - - - - - - - - - - - - -                                the summary follows: not read

Rates have three digits. Of several streams the ``[SUM]`` lines are taken. Only UDP has the last column; what a
server prints of TCP is not read.
"""

from __future__ import annotations

import re

from netlab.traces.importers.rate_interval import RateInterval, without_late

__all__ = ["received_intervals"]

MAX_TEXT = 64 << 20

_LINE = re.compile(
    r"\[ *(?P<id>[0-9]{1,9}|SUM)\](?:\[RX-S\])? +"
    r"(?P<start>[0-9]{1,9}\.[0-9]{1,9})-(?P<end>[0-9]{1,9}\.[0-9]{1,9}) +sec +"
    r"\S{1,12} +\S{1,12} +(?P<rate>[0-9]{1,9}(?:\.[0-9]{1,9})?) (?P<unit>[KMGT]?)bits/sec +"
    r"\S{1,20} ms +(?P<lost>-?[0-9]{1,10})/(?P<total>[0-9]{1,10}) "
)
_SCALE = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SUMMARY = "- - - -"


def received_intervals(text: str) -> list[RateInterval]:
    """Return the intervals of UDP that the server received; none where the text has none."""
    found: dict[str, list[RateInterval]] = {}
    for line in text[:MAX_TEXT].splitlines():
        if line.startswith(_SUMMARY):
            break
        match = _LINE.match(line)
        if match is None or "(omitted)" in line:
            continue
        start_s, end_s, total = float(match["start"]), float(match["end"]), int(match["total"])
        if end_s <= start_s:
            continue
        rate_bps = float(match["rate"]) * _SCALE[match["unit"]]
        interval = RateInterval(start_s, end_s, rate_bps, total, int(match["lost"]))
        found.setdefault(match["id"], []).append(interval)
    if "SUM" in found:
        return without_late(found["SUM"])
    return without_late(next(iter(found.values()), []))
