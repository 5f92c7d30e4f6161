"""wait_for_quiet: the moment between two heartbeats at which an episode's links can be put afresh.

::

    edge   h---------0.5 s---------h---------------------h
    agent        h---------------------h-----------------
                                        ^ both have just spoken: nothing will be sent for a while

Whatever is sent between that moment and the first observation takes a draw that was meant for another packet.
Before the first observation the services send nothing but heartbeats, each at least half a second after
whatever that side sent last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from netlab.wire.pulse import Timing

__all__ = ["packets_sent", "wait_for_quiet"]

_HEARTBEAT_S = Timing().heartbeat_s
_RECENT_S = 0.56 * _HEARTBEAT_S
"""Whatever the two phases are, once a heartbeat both have spoken within half of it; it comes a little late."""
_LOOK_S = 0.005
_PATIENCE_S = 5.0


def packets_sent(pid: int) -> int:
    """Return how many packets have left the network namespace of a process, its loopback left out."""
    total = 0
    for line in Path(f"/proc/{pid}/net/dev").read_text(encoding="ascii").splitlines()[2:]:
        interface, _, numbers = line.partition(":")
        if interface.strip() != "lo":
            total += int(numbers.split()[9])
    return total


def wait_for_quiet(
    counts: Sequence[Callable[[], int]],
    now_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Wait until every side has just spoken; return whether that came, which it does unless one is silent.

    Args:
        counts: For each side, tells how many packets it has sent.
        now_s: The time.
        sleep: Lets some of it pass.
    """
    end_s = now_s() + _PATIENCE_S
    seen = [count() for count in counts]
    spoke_s: list[float | None] = [None] * len(seen)
    while (now := now_s()) < end_s:
        for side, count in enumerate(counts):
            sent = count()
            if sent != seen[side]:
                seen[side], spoke_s[side] = sent, now
        if all(moment is not None and now - moment <= _RECENT_S for moment in spoke_s):
            return True
        sleep(_LOOK_S)
    return False
