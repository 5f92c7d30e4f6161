"""The folder we were started in, by which relative names are meant; it may have been deleted under us."""

from __future__ import annotations

from pathlib import Path

from netlab.errors import LabError

__all__ = ["absolute", "own_folder"]


def own_folder() -> Path:
    """Return the folder we are in.

    Raises:
        LabError: It has been deleted, or may not be looked at.
    """
    try:
        return Path.cwd()
    except OSError as error:
        problem = f"the folder this command was started in cannot be named: {error.strerror}"
        raise LabError(problem, hint="has it been deleted? change to one that is there, then try again") from error


def absolute(path: Path) -> Path:
    """Return a path that is the same from everywhere; links in it stay unresolved.

    Raises:
        LabError: It is relative, and the folder we are in has been deleted.
    """
    return path if path.is_absolute() else own_folder() / path
