"""install_hint: how to install one of netlab's extras: from the clone, in the versions that it is tested with.

netlab is installed from a clone, so what lacks a library names the clone, and the constraints that keep pip from
taking the newest of everything.
"""

from __future__ import annotations

import sys

__all__ = ["install_hint"]


def install_hint(extra: str, *more: str) -> str:
    """Return the command that installs an extra into this interpreter, and where it is typed.

    Args:
        extra: As in ``setup.cfg``: ``rl``, ``capture``, ``plot``.
        more: Packages beside it.
    """
    words = " ".join((f"'.[{extra}]'", *more))
    return f"in netlab's clone: {sys.executable} -m pip install -c constraints.txt -e {words}"
