"""Descriptor limit: how many files the guest kernel may have open on the host; standard library only."""

from __future__ import annotations

import resource

from netlab.errors import GuestError

__all__ = ["DESCRIPTORS", "FEWEST_DESCRIPTORS", "allow_descriptors"]

DESCRIPTORS = 65536
FEWEST_DESCRIPTORS = 1024


def allow_descriptors() -> None:
    """Let this process have as many descriptors as it can: each file open inside is one of the kernel's here.

    Raises:
        GuestError: That is fewer than a command with its libraries keeps open.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < DESCRIPTORS:
        enough = hard if hard == resource.RLIM_INFINITY else max(hard, DESCRIPTORS)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, enough))
        except (ValueError, OSError):  # an ordinary user has what the hard limit leaves
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            if hard < FEWEST_DESCRIPTORS:
                raise GuestError(
                    f"cannot start a guest: the hard limit of descriptors is {hard}; "
                    f"it needs {FEWEST_DESCRIPTORS} or more",
                    hint="raise it (ulimit -Hn)",
                ) from None
