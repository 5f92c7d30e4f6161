"""whole_file: a file that is written whole or not at all: aside, to disk, then under its name.

Ground: standard library only. Errors are the system's own; each room says them in its own words.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ["whole_file", "write_whole"]


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to be written; it has its name once the block has ended well, and never before.

    What was there before stays until then. Where the block raises, nothing is left. Of a link it is what the link
    points at that is written: a link such as /dev/stdout must stay one.

    Raises:
        OSError: It cannot be made, takes no more, or cannot have its name.
    """
    path = Path(os.path.realpath(path))
    descriptor, aside = tempfile.mkstemp(prefix=f".{path.name[:200]}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(aside, 0o666 & ~umask)  # noqa: PTH101 - mkstemp's 0600 is not what a result should have
        os.replace(aside, path)  # noqa: PTH105 - both are names
    except BaseException:
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
