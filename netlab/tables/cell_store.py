"""CellStore: results of cells in one SQLite file, each kept the moment it is there, whatever becomes of the run.

::

    put(key, title, content) --one transaction--> cells.sqlite --get(key)--> content

One process opens a store, that of the command; those that compute hand it their results. A kill at any moment
loses what was not there yet and nothing else. Knows nothing of what is in a result.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from netlab.errors import KernelError, SpecError

__all__ = ["STORE_NAME", "CellStore"]

STORE_NAME = "cells.sqlite"
"""Of the file, within the folder that a person names."""

MAX_CONTENT_BYTES = 1 << 26

_APPLICATION = 0x6E6C6362
"""Says in the file's header whose it is."""
_FORMAT = 1
_COLUMNS = ("key", "title", "content")
_WAIT_S = 10.0
T = TypeVar("T")
_HINT = "name another folder, or move that file away: then every cell is computed again"


class CellStore:
    """Results by their keys.

    Args:
        path: The file; made where there is none.

    Raises:
        SpecError: The file is no store, or a newer netlab's.
        KernelError: It cannot be opened or made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.exists() and not path.is_file():
            raise SpecError("is not a plain file", path, hint=_HINT)
        with self._errors():
            self._database = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None)
        try:
            with self._errors():
                self._begin()
        except BaseException:
            self._database.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def get(self, key: str) -> bytes | None:
        """Return a result; None where it is not there yet.

        Raises:
            SpecError: The file is damaged.
        """
        with self._errors():
            found = self._database.execute(
                "SELECT CASE WHEN length(content) <= ? THEN content END FROM cells WHERE key = ?",
                (MAX_CONTENT_BYTES, key),
            ).fetchone()
        if found is None:
            return None
        (content,) = found
        if not isinstance(content, bytes):
            problem = f"the result of cell {key[:12]} is none, or larger than {MAX_CONTENT_BYTES >> 20} MiB"
            raise SpecError(problem, self.path, hint=_HINT)
        return content

    def decoded(self, key: str, kind: type[T]) -> T:
        """Return a result that is there, decoded from JSON.

        Args:
            key: Of the cell.
            kind: A Struct.

        Raises:
            SpecError: It is not there, or is none.
        """
        try:
            return msgspec.json.decode(self.get(key) or b"", type=kind)
        except (msgspec.DecodeError, SpecError) as error:
            raise SpecError(f"cell {key[:12]}: {error}", self.path, hint=_HINT) from error

    def is_damaged(self, key: str, kind: type[T]) -> bool:
        """Tell whether something is there that is no result.

        Args:
            key: Of the cell.
            kind: A Struct, which results are as JSON.

        Raises:
            SpecError: The whole file is damaged.
            KernelError: It cannot be read.
        """
        with self._errors():
            found = self._database.execute("SELECT 1 FROM cells WHERE key = ?", (key,)).fetchone()
        if found is None:
            return False
        try:
            self.decoded(key, kind)
        except SpecError as error:
            if isinstance(error.__cause__, sqlite3.Error):
                raise
            return True
        return False

    def put(self, key: str, title: str, content: bytes, *, replaces: bool = False) -> None:
        """Keep a result; it is on disk when this returns.

        Args:
            key: Of the cell.
            title: What it is, for people.
            content: The result.
            replaces: In place of what is there, which is damaged; else what is there already stays.

        Raises:
            KernelError: It cannot be written.
        """
        if len(content) > MAX_CONTENT_BYTES:
            raise ValueError(f"{title}: {len(content)} bytes of result, of at most {MAX_CONTENT_BYTES}")
        with self._errors():
            way = "REPLACE" if replaces else "IGNORE"
            self._database.execute(f"INSERT OR {way} INTO cells VALUES (?, ?, ?)", (key, title, content))

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _begin(self) -> None:
        """Make the table in a new file; refuse a file that is something else."""
        run = self._database.execute
        run("BEGIN IMMEDIATE")  # two commands that begin at once must not both make it
        try:
            (application,) = run("PRAGMA application_id").fetchone()
            (version,) = run("PRAGMA user_version").fetchone()
            tables = {name for (name,) in run("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 100")}
            if not tables and not application:
                run(f"PRAGMA application_id = {_APPLICATION}")
                run(f"PRAGMA user_version = {_FORMAT}")
                run("CREATE TABLE cells (key TEXT PRIMARY KEY, title TEXT NOT NULL, content BLOB NOT NULL)")
            elif application != _APPLICATION or "cells" not in tables:
                raise SpecError("is a database of something else", self.path, hint=_HINT)
            elif version != _FORMAT:
                raise SpecError(f"is a store of format {version}, not {_FORMAT}", self.path, hint=_HINT)
            elif (found := tuple(name for (_, name, *_) in run("PRAGMA table_info(cells)"))) != _COLUMNS:
                problem = f"is a store whose cells have {', '.join(found):.100}, not {', '.join(_COLUMNS)}"
                raise SpecError(problem, self.path, hint=_HINT)
            run("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                run("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Say in netlab's words what SQLite refuses."""
        try:
            yield
        except sqlite3.OperationalError as error:  # a full disk, no right to write, another that holds the lock
            hint = "make room there or name a folder that you may write to; what is in the store is kept"
            raise KernelError(f"use the store {self.path}", words=str(error), hint=hint) from error
        except sqlite3.DatabaseError as error:
            raise SpecError(f"is no store of results: {error}", self.path, hint=_HINT) from error
