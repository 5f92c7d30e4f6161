"""deciding_versions: what decides the figures of any table beside what its cells say: versions, and netlab's code.

All of netlab's code counts but what measures, shows or writes down what others have played: the commands, the
figures of ``netlab bench``, the tables. Of those count all the same the commands by which services are started,
and the modules of tables that play. So whatever is new counts, until someone says that it cannot decide.
"""

from __future__ import annotations

import functools
import platform
from importlib import metadata

import netlab
from netlab.tables.code_digest import code_digest

__all__ = ["CANNOT_DECIDE", "DECIDES_ALL_THE_SAME", "deciding_versions"]

CANNOT_DECIDE = ("netlab.bench", "netlab.cli", "netlab.tables")
DECIDES_ALL_THE_SAME = (
    "netlab.cli.agent",
    "netlab.cli.env",
    "netlab.cli.run",
    "netlab.tables.calf_cell",
    "netlab.tables.calf_result",
    "netlab.tables.parity_cell",
    "netlab.tables.parity_difference",
    "netlab.tables.parity_engines",
    "netlab.tables.parity_race",
    "netlab.tables.parity_wrapper",
)
_LIBRARIES = ("numpy", "gymnasium", "minigrid")
"""That play, or compute what is played."""


@functools.cache
def deciding_versions() -> dict[str, str]:
    """Return the versions that decide figures, the SHA-256 of netlab's own code that does among them."""
    return {
        "netlab": netlab.__version__,
        **{name: _version(name) for name in _LIBRARIES},
        "python": platform.python_version(),
        "code": code_digest("netlab", without=CANNOT_DECIDE, but=DECIDES_ALL_THE_SAME),
    }


def _version(library: str) -> str:
    """Return what is installed; a task that needs a library says so itself where it is not there."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "none"
