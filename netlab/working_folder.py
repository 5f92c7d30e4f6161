"""working_folder: the folder we stand in, and paths made absolute in it; an error where it has been deleted.

Ground: standard library only.
"""

from __future__ import annotations

import os

from netlab.errors import SpecError

__all__ = ["absolute_path", "working_folder"]


def working_folder() -> str:
    """Return the folder we stand in.

    Raises:
        SpecError: It is gone.
    """
    try:
        return os.getcwd()  # noqa: PTH109 - links stay as they are
    except OSError as error:
        hint = "cd to a folder that exists"
        raise SpecError(f"the working folder cannot be found: {error.strerror}", hint=hint) from error


def absolute_path(path: str | os.PathLike[str]) -> str:
    """Return a path that does not depend on the folder we stand in, links in it unresolved.

    Raises:
        SpecError: It is relative, and the folder we stand in is gone.
    """
    return os.fspath(path) if os.path.isabs(path) else os.path.join(working_folder(), path)  # noqa: PTH117, PTH118
