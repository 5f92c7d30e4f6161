"""The errors netlab raises: each says what, where, which value, which rule, and what to do now.

::

    NetlabError
    |- ProfileError, TraceError, SpecError      bad input
    |- KernelError                              the kernel refused
    |  |- PrivilegeError                        for want of rights
    |  `- FeatureMissing                        for want of a feature
    |- WireError
    |  |- LocalProtocolError                    our own bug
    |  |- RemoteProtocolError                   the peer broke the protocol
    |  |- ConnectionLost                        the only one worth a retry
    |  `- AuthError                             no key, the wrong key, a peer that cannot prove it
    |- GuestError                               the guest kernel cannot be had or has died
    |  `- GuestUnavailable                      for want of a network, a distribution, a processor, room
    |- LabError                                 a service of a lab died
    `- LearningError                            a training run cannot go on
"""

from __future__ import annotations

import os

__all__ = [
    "AuthError",
    "ConnectionLost",
    "FeatureMissing",
    "GuestError",
    "KernelError",
    "LabError",
    "LearningError",
    "LocalProtocolError",
    "NetlabError",
    "PrivilegeError",
    "ProfileError",
    "RemoteProtocolError",
    "SpecError",
    "TraceError",
    "WireError",
]


class NetlabError(Exception):
    """Raised when netlab cannot do what was asked; the base of all its errors.

    Args:
        message: What went wrong: what, where, which value, which rule.
        hint: What to do now; empty where nothing helps.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            # So that a traceback, which is what a user of the library sees, says it as well.
            self.add_note(f"hint: {hint}")

    def __str__(self) -> str:
        return self.message


class ProfileError(NetlabError):
    """Raised when a link profile or preset is not one a link can have."""

    exit_code = 2


class TraceError(NetlabError):
    """Raised when a trace file cannot be read.

    Args:
        message: The rule that was broken.
        path: The file.
        line: Its line, counted from 1; 0 where no line is to blame.
        hint: What to do now.
    """

    exit_code = 2

    def __init__(self, message: str, path: str | os.PathLike[str], line: int = 0, hint: str = "") -> None:
        where = f"{os.fspath(path)}:{line}" if line else os.fspath(path)
        super().__init__(f"{where}: {message}", hint)
        self.path = os.fspath(path)
        self.line = line


class SpecError(NetlabError):
    """Raised when a spec file is malformed.

    Args:
        message: The value and the rule it broke.
        path: The file; empty for a spec made in Python.
        key: The dotted key within it, for example ``link[0].profile``.
        hint: What to do now.
    """

    exit_code = 2

    def __init__(self, message: str, path: str | os.PathLike[str] = "", key: str = "", hint: str = "") -> None:
        where = ": ".join(part for part in (os.fspath(path), key) if part)
        super().__init__(f"{where}: {message}" if where else message, hint)
        self.path = os.fspath(path)
        self.key = key


class KernelError(NetlabError):
    """Raised when the kernel refuses what was attempted.

    Args:
        attempt: What was tried, in a phrase that follows "cannot".
        errno: The kernel's error number; 0 where there is none (a read-back that differs).
        words: The kernel's own words, where it gives more than a number.
        hint: What to do now.
    """

    def __init__(self, attempt: str, errno: int = 0, words: str = "", hint: str = "") -> None:
        reason = words or (os.strerror(errno) if errno else "")
        super().__init__(f"cannot {attempt}" + (f": {reason}" if reason else ""), hint)
        self.attempt = attempt
        self.errno = errno
        self.words = words


class PrivilegeError(KernelError):
    """Raised when the kernel refuses for want of rights."""


class FeatureMissing(KernelError):  # noqa: N818 - named for what is missing, as architecture.md has it
    """Raised when this kernel, machine or distribution lacks a feature that is needed."""


class WireError(NetlabError):
    """Raised when two services cannot talk; only its four kinds are raised."""


class LocalProtocolError(WireError):
    """Raised when our own side breaks the protocol: a bug of ours."""


class RemoteProtocolError(WireError):
    """Raised when the peer breaks the protocol: malformed, oversized, of another version."""


class ConnectionLost(WireError):  # noqa: N818 - a fact about the connection, the only one retried
    """Raised when the peer is gone or silent; the only wire error that is worth a retry."""


class AuthError(WireError):
    """Raised when a key is missing, unsafe or not the peer's."""


class GuestError(NetlabError):
    """Raised when the guest kernel cannot be fetched, started or has died."""


class GuestUnavailable(GuestError):  # noqa: N818 - a fact about this machine, which some can do without
    """Raised when a guest kernel cannot be had for what this machine lacks, not for what went wrong."""


class LabError(NetlabError):
    """Raised when a service in a lab died; carries its exit code and last lines.

    Args:
        message: Which service, where.
        exit_code_of_service: Its exit status, or None while unknown.
        last_lines: The end of what it printed.
        hint: What to do now.
    """

    def __init__(
        self, message: str, exit_code_of_service: int | None = None, last_lines: str = "", hint: str = ""
    ) -> None:
        text = message
        if exit_code_of_service is not None:
            text += f" (exit code {exit_code_of_service})"
        if last_lines:
            text += "; its last lines:\n" + "\n".join(f"  {line}" for line in last_lines.splitlines())
        super().__init__(text, hint)
        self.exit_code_of_service = exit_code_of_service
        self.last_lines = last_lines


class LearningError(NetlabError):
    """Raised when a training run has diverged or has nothing left that could be learned from."""
