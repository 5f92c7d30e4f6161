"""Orphans of a test: the leak check makes the test run a subreaper, so what a killed netlab leaves comes to us."""

from __future__ import annotations

import os
import time

from leaks import children


class Orphans:
    """Buries children that come to us after it was made; those we had before are none of its business."""

    def __init__(self) -> None:
        self._before = children()

    def bury(self, within_s: float = 30.0) -> None:
        """Collect them as they die; what still lives after the time is left for the leak check to name."""
        deadline_s = time.monotonic() + within_s
        while (new := children() - self._before) and time.monotonic() < deadline_s:
            for pid in new:
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    continue
            time.sleep(0.01)
