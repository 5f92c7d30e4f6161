"""read_text_file: the text of a file that a person named: a plain one, of a bounded size, in UTF-8.

Knows no format; who calls says the file's name and what to do.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["read_text_file"]


def read_text_file(path: Path, most_bytes: int) -> str:
    """Return what a file holds.

    Args:
        path: Its name.
        most_bytes: How long it may be; no more is read.

    Raises:
        ValueError: What is wrong with it, in words that follow its name.
    """
    try:
        is_plain = path.is_file() or not path.exists()  # a named pipe would keep us waiting for ever
        data = _beginning(path, most_bytes + 1) if is_plain else b""
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    except ValueError:  # a NUL in it, or what is no text
        raise ValueError("cannot be read: no file has such a name") from None
    if not is_plain:
        raise ValueError("is not a plain file")
    if len(data) > most_bytes:
        raise ValueError(f"is larger than {most_bytes >> 20} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 text (byte {error.start})") from None


def _beginning(path: Path, length_bytes: int) -> bytes:
    with path.open("rb") as file:
        return file.read(length_bytes)
