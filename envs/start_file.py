"""StartFile: a file by which whoever started services lets their episodes begin.

::

    (not there)  none may begin
    (empty)      all may
    "3"          the first three may
"""

from __future__ import annotations

import os
from pathlib import Path

from netlab.whole_file import write_whole

__all__ = ["StartFile"]

_MAX_BYTES = 20


class StartFile:
    """A file to be looked at before each episode.

    Args:
        path: Where it will be.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._count: int | None = 0

    def let_all(self) -> None:
        """Let all episodes begin.

        Raises:
            OSError: It cannot be written.
        """
        write_whole(self._path, b"")

    def let(self, count: int) -> None:
        """Let the first so many episodes begin.

        Raises:
            OSError: It cannot be written.
        """
        write_whole(self._path, b"%d" % count)

    def may_start(self, episode: int) -> bool:
        """Tell whether an episode may begin; what is no such file lets none."""
        if self._count is not None and episode >= self._count:
            self._count = self._read()
        return self._count is None or episode < self._count

    def _read(self) -> int | None:
        """Return how many may begin; None for all."""
        try:
            with self._path.open("rb") as file:
                words = file.read(_MAX_BYTES + 1)
        except OSError:
            return 0
        if not words:
            return None
        return int(words) if len(words) <= _MAX_BYTES and words.isdigit() else 0
