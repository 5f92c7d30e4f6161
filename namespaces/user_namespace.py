"""UserNamespace: a user namespace for this process, in which an ordinary user is root over what he makes.

::

    outside                         inside
    uid 1000  --uid_map "0 1000 1"-->  uid 0: may make network, mount and PID namespaces
    files of 1000                      files of 0: written as before, they belong to 1000 outside
    everybody else                     65534: seen, not touched

There is no way back, and the kernel lets only a process with a single thread in: so it is entered once, before
anything heavy is imported, and whether that helps is tried in a forked child first (``netlab.rootless``).
"""

from __future__ import annotations

import os
from pathlib import Path

from netlab.errors import FeatureMissing
from netlab.namespaces.syscalls import CLONE_NEWUSER, unshare

__all__ = ["enter_user_namespace", "has_capabilities", "outer_user"]

_NEEDED = (1 << 12) | (1 << 21)
"""CAP_NET_ADMIN and CAP_SYS_ADMIN, as bits of CapEff."""


def enter_user_namespace() -> None:
    """Move this process into a user namespace of its own, as its root.

    Raises:
        OSError: The system does not let an ordinary user do so, or this process has several threads (EINVAL).
    """
    user, group = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER)
    # Without the first an ordinary user may not write the third: a group could have been given up to pass a rule.
    _write("setgroups", "deny")
    _write("uid_map", f"0 {user} 1")
    _write("gid_map", f"0 {group} 1")


def has_capabilities() -> bool:
    """Tell whether we may make namespaces and configure their networks as we are.

    Raises:
        FeatureMissing: /proc is not there.
    """
    for line in _read("status").splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16) & _NEEDED == _NEEDED
    return False


def outer_user() -> int:
    """Return who we are outside the user namespace we may be in: what tells users of a machine apart.

    Raises:
        FeatureMissing: /proc is not there.
    """
    inner = os.getuid()
    for line in _read("uid_map").splitlines():
        first, outer, count = (int(word) for word in line.split())
        if first <= inner < first + count:
            return outer + inner - first
    return inner


def _read(name: str) -> str:
    """Return what the kernel says of this process.

    Raises:
        FeatureMissing: /proc is not there.
    """
    path = Path("/proc/self", name)
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        hint = "mount it: mount -t proc proc /proc"
        raise FeatureMissing(f"read {path}", error.errno or 0, hint=hint) from error


def _write(name: str, text: str) -> None:
    Path("/proc/self", name).write_text(text, encoding="ascii")
