"""clock_name: which clock this process lives under.

Ground: standard library only, since services on robots ask it as well. A guest kernel with time travel is
started with ``NETLAB_CLOCK=virtual`` in its environment; everywhere else time is real.
"""

from __future__ import annotations

import os

__all__ = ["CLOCK_VARIABLE", "REAL", "VIRTUAL", "clock_name", "in_virtual_time"]

CLOCK_VARIABLE = "NETLAB_CLOCK"
REAL, VIRTUAL = "real", "virtual"


def clock_name() -> str:
    """Return ``virtual`` inside a guest with time travel, else ``real``."""
    return VIRTUAL if os.environ.get(CLOCK_VARIABLE) == VIRTUAL else REAL


def in_virtual_time() -> bool:
    """Tell whether computing is free here and only waiting takes time."""
    return clock_name() == VIRTUAL
