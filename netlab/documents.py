"""Documents: result files that are either whole or not there."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from netlab.errors import SpecError

__all__ = ["write_document"]


def write_document(path: Path, content: bytes) -> None:
    """Write a file whole: aside, to disk, then under its name.

    Raises:
        SpecError: The folder is not there or may not be written to.
    """
    try:
        descriptor, aside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise SpecError(
            f"cannot write there: {error.strerror}", path, hint="name a file in a folder you may write to"
        ) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
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
