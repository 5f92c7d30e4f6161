"""lab_key: the key of this run's labs, made here or brought along by the launcher of this guest.

Roof.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlab.wire.key import Key

__all__ = ["LAB_KEY_VARIABLE", "lab_key"]

LAB_KEY_VARIABLE = "NETLAB_LAB_KEY"
"""Names a file, never a key: inside a guest, the file with the key that the host has made for this run's labs."""


def lab_key() -> Key:
    """Return the key of this run's labs: the one the launcher of this guest has made, else a new one.

    Raises:
        AuthError: The file that ``NETLAB_LAB_KEY`` names holds no key, or others can read it.
    """
    from netlab.wire.key import Key

    path = os.environ.get(LAB_KEY_VARIABLE)
    return Key.read(path) if path else Key.new()
