"""Refusal: an error of the relay process on its way to the lab, which raises one of the same kind. Plain data.

::

    relay: OSError, KernelError, ProfileError ... --Refusal.of--> kind, errno, words, hint --error(attempt)--> lab
"""

from __future__ import annotations

from typing import Literal, Self

from msgspec import Struct

from netlab.errors import FeatureMissing, KernelError, NetlabError, PrivilegeError, ProfileError
from netlab.namespaces.netlink_ack import refusal

__all__ = ["Refusal"]

_Kind = Literal["kernel", "privilege", "feature", "profile"]
_KERNEL_ERRORS: dict[_Kind, type[KernelError]] = {
    "privilege": PrivilegeError,
    "feature": FeatureMissing,
    "kernel": KernelError,
}


class Refusal(Struct, frozen=True, kw_only=True):
    """Why the relay did not do what it was asked.

    Attributes:
        kind: Which error it is.
        errno: The kernel's number; 0 where there is none.
        words: Why, where the number does not say it.
        hint: What to do now.
    """

    kind: _Kind
    errno: int = 0
    words: str = ""
    hint: str = ""

    @classmethod
    def of(cls, error: OSError | NetlabError) -> Self:
        """Return the refusal that an error means."""
        if isinstance(error, OSError):
            error = refusal("", error.errno or 0)
        if isinstance(error, ProfileError):
            return cls(kind="profile", words=error.message, hint=error.hint)
        if not isinstance(error, KernelError):
            return cls(kind="kernel", words=error.message, hint=error.hint)
        kind = next(kind for kind, one in _KERNEL_ERRORS.items() if isinstance(error, one))
        return cls(kind=kind, errno=error.errno, words=error.words, hint=error.hint)

    def error(self, attempt: str) -> KernelError | ProfileError:
        """Return the error to be raised in the lab.

        Args:
            attempt: What was tried, in a phrase that follows "cannot".
        """
        if self.kind == "profile":
            return ProfileError(self.words, self.hint)
        return _KERNEL_ERRORS[self.kind](attempt, self.errno, self.words, self.hint)
