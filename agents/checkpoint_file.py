"""CheckpointFile: the one file that a training run saves itself in, and no other run.

::

    first save   made where nothing is: what is there already is somebody's
    later saves  in place of what this run wrote last; of what another has written since, in place of nothing

Two runs that were begun into one file would otherwise save themselves over one another in turn, and neither could
be resumed from what it believes to have saved.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

from netlab.agents.checkpoint import Checkpoint
from netlab.agents.tensor_file import write_error
from netlab.errors import SpecError

__all__ = ["CheckpointFile"]


class _Written(NamedTuple):
    """What tells a file from the next one of its name; an inode's number alone may soon be another file's."""

    device: int
    inode: int
    modified_ns: int
    size_bytes: int


class CheckpointFile:
    """Saves one run.

    Args:
        path: The file.
        is_resumed: What is there is this run's own: it is resumed from it.
    """

    def __init__(self, path: str | os.PathLike[str], *, is_resumed: bool = False) -> None:
        self.path = os.fspath(path)
        self._ours = self._there() if is_resumed else None

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint, whole or not at all.

        Raises:
            SpecError: What is there is another run's, or nothing can be written there.
            KernelError: The disk takes no more.
        """
        there = self._there()
        if there is None:
            self._claim()
        elif self._ours is None:
            hint = (
                "go on with it: --resume, in Python Trainer(..., resume=read_checkpoint(path)) of "
                "netlab.agents.checkpoint; or save this run in another file, or remove that one"
            )
            raise SpecError("a run is saved there already", self.path, "checkpoint", hint)
        elif there != self._ours:
            hint = "let each of two runs have a checkpoint of its own"
            raise SpecError("another run has saved itself there by now", self.path, "checkpoint", hint)
        try:
            checkpoint.write(self.path)
        except BaseException:
            if there is None:
                with contextlib.suppress(OSError):
                    Path(self.path).resolve().unlink()
            raise
        self._ours = self._there()

    def remove(self) -> None:
        """Remove the file where it is this run's; what cannot be removed stays."""
        if self._ours is not None and self._there() == self._ours:
            with contextlib.suppress(OSError):
                Path(self.path).unlink()

    def _claim(self) -> None:
        """Make the file, empty, so that of two runs that begin at once one finds the other's."""
        try:
            os.close(
                os.open(os.path.realpath(self.path), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            )
        except FileExistsError as error:
            hint = "let each of two runs have a checkpoint of its own"
            raise SpecError("another run has just been saved there", self.path, "checkpoint", hint) from error
        except OSError as error:
            raise write_error(self.path, error) from error

    def _there(self) -> _Written | None:
        try:
            found = Path(self.path).stat()
        except OSError:
            return None
        return _Written(found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)
