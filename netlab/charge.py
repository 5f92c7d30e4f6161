"""charge: what a computation declares that it costs.

Ground: standard library only, since policies, learners and environments call it.

In virtual time computing is free: a million updates take no time at all. So whatever stands for work on a real
machine says what it costs. In real time the work itself takes that long, and nothing is added.

::

    charge(0.004)   real time:     nothing
                    virtual time:  take a token of the host's virtual CPUs, sleep 4 ms, give it back
"""

from __future__ import annotations

import math
import time

from netlab.clock_name import in_virtual_time

__all__ = ["charge"]


def charge(seconds: float) -> None:
    """Let the time pass that a computation costs, holding one of the host's virtual CPUs meanwhile.

    Outside a lab's host nobody shares a CPU with us, so there is nothing to hold.

    Args:
        seconds: The cost; 0 costs nothing and waits for nobody.

    Raises:
        ValueError: Below 0, infinite or no number; in real time too, so that a mistake is found there.
    """
    if not (math.isfinite(seconds) and seconds >= 0.0):
        raise ValueError(f"a cost of {seconds} s: it must be finite and not below 0")
    if seconds == 0.0 or not in_virtual_time():
        return
    from netlab.cpu_tokens import CpuTokens  # loads ctypes, which nobody needs in real time

    tokens = CpuTokens.of_this_host()
    if tokens is None:
        time.sleep(seconds)
        return
    tokens.take()
    try:
        time.sleep(seconds)
    finally:
        tokens.give()
