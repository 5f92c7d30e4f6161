"""whole_file: a file that is written whole or not at all: aside, to disk, then under its name.

::

    whole_file(NAME) --open--> without a name, where the file system can; else .NAME.xxxxxxxx.part --rename--> NAME
                                `-- locked, so that one which nobody holds is a dead writer's, and is swept

Ground: standard library only. Errors are the system's own; each room says them in its own words.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ["whole_file", "write_whole"]

_PART = ".part"
_CANNOT = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOSYS, errno.ENOENT)
"""What is said of a file without a name by file systems and kernels that have none."""


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to be written; it has its name once the block has ended well, and never before.

    What was there before stays until then. Where the block raises, nothing is left; where the process is killed,
    nothing that the next one who writes this file does not sweep. Of a link it is what the link points at that is
    written: a link such as /dev/stdout must stay one.

    Raises:
        OSError: It cannot be made, takes no more, or cannot have its name.
    """
    path = Path(os.path.realpath(path))
    _sweep(path)
    descriptor, aside = _without_name(path.parent), ""
    if descriptor is None:
        descriptor, aside = _named(path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not aside:
                aside = _link(file.fileno(), path)  # a name that is taken can only be renamed to
            os.replace(aside, path)  # noqa: PTH105 - both are names
    except BaseException:
        if aside:
            with contextlib.suppress(OSError):
                os.unlink(aside)  # noqa: PTH108
        raise


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file whole.

    Raises:
        OSError: As ``whole_file``.
    """
    with whole_file(path) as file:
        file.write(content)


def _without_name(folder: Path) -> int | None:
    """Return a locked file in a folder that vanishes with us; None where there can be none."""
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno in _CANNOT:
            return None
        raise
    if not os.path.exists(f"/proc/self/fd/{descriptor}"):  # noqa: PTH110 - by which it is given a name
        os.close(descriptor)
        return None
    _lock(descriptor)
    return descriptor


def _named(path: Path) -> tuple[int, str]:
    """Return a locked file beside another, and its name."""
    while True:
        aside = _aside(path)
        descriptor = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        _lock(descriptor)
        if os.fstat(descriptor).st_nlink:
            return descriptor, aside
        os.close(descriptor)  # somebody has swept it before it was locked


def _link(descriptor: int, path: Path) -> str:
    """Give a file without a name one beside its own, and return it."""
    aside = _aside(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:  # with a folder's descriptor it is linkat(2) that is called, which follows the link
        os.link(f"/proc/self/fd/{descriptor}", os.path.basename(aside), dst_dir_fd=folder)  # noqa: PTH119
    except OSError:  # a file system that makes such files and gives them no name
        return _copy(descriptor, path)
    finally:
        os.close(folder)
    return aside


def _copy(descriptor: int, path: Path) -> str:
    """Write a file that can have no name once more, into one that has one, and return that."""
    other, aside = _named(path)
    try:
        with open(descriptor, "rb", closefd=False) as source, os.fdopen(other, "wb") as file:
            source.seek(0)
            shutil.copyfileobj(source, file)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(aside)  # noqa: PTH108
        raise
    return aside


def _aside(path: Path) -> str:
    return os.fspath(path.parent / f".{path.name[:200]}.{secrets.token_hex(4)}{_PART}")


def _lock(descriptor: int) -> None:
    """Hold a file for as long as it is open; where files cannot be locked, none is swept either."""
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sweep(path: Path) -> None:
    """Remove what writers of this very file have left when they were killed: what nobody holds."""
    left = re.compile(re.escape(f".{path.name[:200]}.") + "[0-9a-f]{8}" + re.escape(_PART))
    with contextlib.suppress(OSError):
        for name in [entry.name for entry in os.scandir(path.parent) if left.fullmatch(entry.name)]:
            with contextlib.suppress(OSError):
                _remove_dead(path.parent / name)


def _remove_dead(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    finally:
        os.close(descriptor)
