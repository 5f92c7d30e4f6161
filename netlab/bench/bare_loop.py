"""A bare sleeping loop, run as a script of its own: the floor of any real-time loop in Python.

``bare_loop.py RATE_HZ TICKS START_FILE DELAY_S`` waits for the file and the delay, sleeps to each deadline,
prints how many ticks were over 2 ms late. Standard library alone, so that its start disturbs nobody.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path

LATE_S = 0.002


def main() -> None:
    """Run the loop that the command line asks for."""
    rate_hz, ticks, start, delay_s = float(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4])
    while not start.exists():
        time.sleep(0.02)
    time.sleep(delay_s)
    # The rights an environment's loop asks for, and no more: the comparison is of the loops.
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    with contextlib.suppress(OSError):  # a lab gives each program a session of its own
        Path("/proc/self/autogroup").write_text("-10")
    late = 0
    origin = time.monotonic()
    for tick in range(1, ticks + 1):
        deadline = origin + tick / rate_hz
        # Python sleeps by clock_nanosleep on an absolute deadline.
        while (left := deadline - time.monotonic()) > 0:
            time.sleep(left)
        late += time.monotonic() - deadline > LATE_S
    print(json.dumps({"late": late, "ticks": ticks}))


if __name__ == "__main__":
    main()
