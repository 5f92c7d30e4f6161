"""Outcome: what became of a guest, as an exit status or as an error that a person can use."""

from __future__ import annotations

import errno
import resource
from collections.abc import Callable

from netlab.errors import GuestError
from netlab.namespaces.guest.session import GuestSession

__all__ = ["cannot_start", "exit_status"]


def cannot_start(error: OSError) -> GuestError:
    """Return what a person is told of a call that was refused on the way to a guest."""
    hint = ""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        hint = f"this process may have {soft} descriptors: raise ulimit -n, or close some"
    elif error.filename and str(error.filename).startswith(("/proc/", "/dev/")):
        hint = f"a guest needs this machine's /{str(error.filename).split('/')[1]}: mount it"
    where = f"{error.filename}: " if error.filename else ""
    return GuestError(f"cannot start a guest: {where}{error.strerror}", hint=hint)


def exit_status(session: GuestSession, memory_bytes: int, notice: Callable[[str], None]) -> int:
    """Return the exit status of a guest that is gone.

    Raises:
        GuestError: It left none.
    """
    log = session.log
    if session.status is not None:
        if log.out_of_memory:
            notice(f"the guest ran out of its {memory_bytes >> 20} MiB of memory: {log.out_of_memory}")
        if session.remark:
            notice(session.remark)
        return session.status
    if log.panic:
        raise GuestError(
            f"the guest kernel gave up: {log.panic}",
            hint="a guest with more memory may get further" if "memory" in log.panic.lower() else "",
        )
    how = "died without a status" if session.ready else "died before it was up"
    code = session.wait_status
    if code is not None:
        how += f" (signal {-code})" if code < 0 else f" (exit code {code})"
    _, most_bytes = resource.getrlimit(resource.RLIMIT_AS)
    limited = not session.ready and most_bytes != resource.RLIM_INFINITY
    raise GuestError(
        f"the guest {how}; its last lines:\n{log.last_lines or '  (none)'}",
        hint=f"this process may have {most_bytes >> 20} MiB of memory (ulimit -v), the guest has "
        f"{memory_bytes >> 20} MiB: raise that limit, or give the guest less (--memory)"
        if limited
        else "",
    )
