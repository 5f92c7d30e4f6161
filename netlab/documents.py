"""Documents: result files that are either whole or not there."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from netlab.errors import KernelError, SpecError
from netlab.machine import inside_guest
from netlab.whole_file import whole_file

__all__ = ["refuse_shared_files", "require_writable", "write_document"]


def write_document(path: Path, content: bytes) -> None:
    """Write a file whole: aside, to disk, then under its name.

    Raises:
        SpecError: The folder is not there or may not be written to.
        KernelError: It takes no more, or the file cannot have its name.
    """
    opened = whole_file(path)
    try:
        file = opened.__enter__()
    except OSError as error:
        hint = "name a file in a folder you may write to"
        raise SpecError(f"cannot write there: {error.strerror}", path, hint=hint) from error
    try:
        with contextlib.ExitStack() as stack:
            stack.push(opened)
            file.write(content)
    except OSError as error:
        hint = "make room there, or name a file elsewhere; what was there before is untouched"
        raise KernelError(f"write {path}", error.errno or 0, error.strerror or "", hint) from error


def require_writable(option: str, path: Path) -> None:
    """Refuse, before anything runs, a file that could not be written after it.

    Args:
        option: The option that named it.
        path: The file.

    Raises:
        SpecError: Names the option.
    """
    hint = "name a file in a folder that is there and that you may write to"
    if inside_guest():
        hint += "; inside the guest, root may write below the working folder and /tmp alone"
    if path.exists() and not path.is_file():
        raise SpecError(f"{path} is not a plain file", key=option, hint=hint)
    try:
        # By doing: a read-only file system and an odd access list refuse what the modes would allow.
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        if path.exists():
            path.open("ab").close()
    except OSError as error:
        raise SpecError(f"cannot write {path}: {error.strerror}", key=option, hint=hint) from error


def refuse_shared_files(written: Mapping[str, Path], read: Mapping[str, Path], path: str = "") -> None:
    """Refuse one file for two things: the second would silently overwrite the first.

    Args:
        written: The files that are to be written, by the option or key that names each.
        read: The files that are to be read, likewise; they may be one among themselves.
        path: The file that has these keys; empty for a command line.

    Raises:
        SpecError: Names the key.
    """
    taken = {_identity(file): key for key, file in read.items()}
    for key, file in written.items():
        other = taken.setdefault(_identity(file), key)
        if other != key:
            raise SpecError(f"{file} is {other} already", path, key, "name a file of its own")


def _identity(path: Path) -> object:
    """Return what is equal for two names of one file, whether it is there or not."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return os.path.realpath(path.parent), path.name
    return found.st_dev, found.st_ino
