"""TraceSource: a file to be read as a trace: opened once, bounded, taken out of gzip, hashed as it lies on disk.

::

    path --read once--> bytes on disk --gunzip, bounded--> data()   whole
                           |                    `--------> head     the first 64 KiB, for recognising a format
                           `--> sha256

UTF-8's mark of itself is taken off with the gzip.

Knows no format.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import zlib
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from netlab.errors import TraceError

__all__ = ["HEAD_BYTES", "MAX_FILE_BYTES", "TraceSource"]

MAX_FILE_BYTES = 1 << 30
"""The largest file that is read, and the most that may come out of a compressed one."""

HEAD_BYTES = 1 << 16

_CHUNK_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31  # zlib: the largest window, and a gzip header around it
_MAX_NAME = 120
_BOM = b"\xef\xbb\xbf"  # UTF-8's mark of itself, which editors put first: no part of any format


class TraceSource:
    """A file, read once; what follows is asked of its bytes in memory.

    Args:
        path: The file; its bytes may be gzip's.
        max_bytes: The most it may have, compressed and not.

    Attributes:
        path: The file as it was named.
        max_bytes: As given.

    Raises:
        TraceError: It cannot be read, is no plain file or is too large.
    """

    def __init__(self, path: str | os.PathLike[str], max_bytes: int = MAX_FILE_BYTES) -> None:
        self.path = os.fspath(path)
        self.max_bytes = max_bytes
        self._raw = self._read()

    @property
    def name(self) -> str:
        """Return the file's name for a person: without its folder, in printable characters."""
        name = Path(self.path).name
        return "".join(c if c.isprintable() else "?" for c in name)[:_MAX_NAME]

    @cached_property
    def sha256(self) -> str:
        """Return the hash of the file as it lies on disk, in hex."""
        return hashlib.sha256(self._raw).hexdigest()

    @property
    def compressed(self) -> bool:
        """Tell whether the bytes on disk are gzip's."""
        return self._raw.startswith(_GZIP)

    @cached_property
    def head(self) -> bytes:
        """Return the first 64 KiB, decompressed; less where the rest of a compressed file is damaged."""
        head = self._raw[: HEAD_BYTES + len(_BOM)]
        if self.compressed:
            try:
                head = zlib.decompressobj(_GZIP_WINDOW).decompress(self._raw, HEAD_BYTES + len(_BOM))
            except zlib.error:
                return b""
        return head.removeprefix(_BOM)[:HEAD_BYTES]

    @property
    def whole_in_head(self) -> bool:
        """Tell whether ``head`` is all there is."""
        return len(self.head) < HEAD_BYTES

    @cached_property
    def head_lines(self) -> list[bytes]:
        """Return the whole lines of ``head`` without their ends; one cut off by its end is left out."""
        lines = self.head.splitlines()
        return lines if self.whole_in_head else lines[:-1]

    def data(self) -> bytes:
        """Return all bytes, decompressed, without UTF-8's mark at their beginning.

        Raises:
            TraceError: The compressed bytes are damaged or cut short, or hold too much.
        """
        return self._data

    def open(self) -> io.BytesIO:
        """Return all bytes as a file to read from.

        Raises:
            TraceError: As ``data``.
        """
        return io.BytesIO(self.data())

    def packed(self) -> io.BytesIO:
        """Return the bytes as they lie on disk as a file to read from."""
        return io.BytesIO(self._raw)

    def refuse(self, message: str, line: int = 0, hint: str = "") -> TraceError:
        """Return the error that says what is wrong with this file, to be raised."""
        return TraceError(message, self.path, line, hint)

    def refuse_first(
        self,
        broken: NDArray[np.bool_],
        rule: str,
        first_line: int = 1,
        hint: str = "",
        values: NDArray[np.float64] | None = None,
        element: str = "",
    ) -> None:
        """Refuse the file if any row is broken, by the first of them.

        Args:
            broken: Which rows are, ``[rows]``.
            rule: The rule that they break.
            first_line: The line of the first row.
            hint: What to do about it.
            values: What stands in each row, to be shown.
            element: What a row is called where it is no line: of ``trips``, the third is ``trips[2]``.

        Raises:
            TraceError: Names the line.
        """
        if not broken.any():
            return
        row = int(np.argmax(broken))
        if values is not None and not np.isnan(values[row]):
            rule = f"{values[row]:g}: {rule}"
        if element:
            raise self.refuse(f"{element}[{row}]: {rule}", hint=hint)
        raise self.refuse(rule, first_line + row, hint)

    @cached_property
    def _data(self) -> bytes:
        return (self._gunzipped() if self.compressed else self._raw).removeprefix(_BOM)

    def _gunzipped(self) -> bytes:
        """Decompress in chunks, so that a small file cannot ask for all memory."""
        whole = io.BytesIO()  # its value is its buffer; chunks that are joined are there twice
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(self._raw)) as file:
                while chunk := file.read(_CHUNK_BYTES):
                    if whole.tell() + len(chunk) > self.max_bytes:
                        raise self._too_large("holds, decompressed, more than")
                    whole.write(chunk)
        except (OSError, EOFError, zlib.error) as error:
            raise self.refuse(f"is not whole as gzip: {error}", hint="copy or download it again") from None
        return whole.getvalue()

    def _read(self) -> bytes:
        try:
            # Not blocking: a named pipe without a writer must not hang us.
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                found = os.fstat(descriptor)
                if not stat.S_ISREG(found.st_mode):
                    raise self.refuse("is not a plain file", hint="name a file; save a stream to one first")
                if found.st_size > self.max_bytes:
                    raise self._too_large("is larger than")
                with os.fdopen(descriptor, "rb", closefd=False) as file:
                    raw = self._read_chunks(file)
            finally:
                os.close(descriptor)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            hint = "check the path and its rights"
            if self.path == "-":
                hint = "- is no file here, and standard input is not read: save the stream to a file first"
            raise self.refuse(f"cannot be read: {reason}", hint=hint) from None
        if len(raw) > self.max_bytes:  # it has grown, or its size was a fiction (/proc)
            raise self._too_large("is larger than")
        return raw

    def _read_chunks(self, file: BinaryIO) -> bytes:
        """Read at most one byte more than allowed; in chunks, as a read of so many makes room for all of them."""
        whole = io.BytesIO()
        left = self.max_bytes + 1
        while left and (chunk := file.read(min(left, _CHUNK_BYTES))):
            whole.write(chunk)
            left -= len(chunk)
        return whole.getvalue()

    def _too_large(self, what: str) -> TraceError:
        size = f"{self.max_bytes >> 20} MiB" if self.max_bytes >= 1 << 20 else f"{self.max_bytes} bytes"
        return self.refuse(f"{what} {size}, the most that is read", hint="cut it into parts")
