"""Closers: what has been opened, closed in reverse whatever happens on the way.

Like ``contextlib.ExitStack``, but a failure while closing never takes the place of the error that came first,
and several failures are all told.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Closers"]


class Closers:
    """Ways to close what its owner has opened.

    Args:
        owner: What messages call the owner.
    """

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._closers: list[tuple[str, Callable[[], None]]] = []

    def push(self, what: str, close: Callable[[], None]) -> None:
        """Remember how to close what has just been opened.

        Args:
            what: What closing it does, in a phrase that follows "trying to".
            close: Called once.
        """
        self._closers.append((what, close))

    def close(self) -> None:
        """Close everything in reverse.

        Raises:
            BaseException: What failed, when it was one thing.
            BaseExceptionGroup: What failed, when it was several.
        """
        errors = self._close_all()
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise BaseExceptionGroup(f"closing {self._owner}", errors)

    def close_after(self, first: BaseException) -> None:
        """Close everything in reverse because of an error; what else fails is noted on that one."""
        for error in self._close_all():
            first.add_note(f"and then, closing {self._owner}: {error}")

    def _close_all(self) -> list[BaseException]:
        errors: list[BaseException] = []
        while self._closers:
            what, close = self._closers.pop()
            try:
                close()
            except BaseException as error:  # an interrupt too: the rest still has to be closed
                error.add_note(f"while trying to {what}")
                errors.append(error)
        return errors
