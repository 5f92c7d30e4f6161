"""A file that a person named is read whole, or not at all and said why."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from netlab.errors import NetlabError
from netlab.traces.text_file import read_text_file
from netlab.traces.toml_network import parse_network
from netlab.traces.toml_profile import MAX_FILE_BYTES, read_profile


def test_text_is_read_up_to_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("ü" * 8, encoding="utf-8")
    assert read_text_file(path, 16) == "ü" * 8
    with pytest.raises(ValueError, match="is larger than"):
        read_text_file(path, 15)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def binary(path: Path) -> None:
    path.write_bytes(b"abc\xff")


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, MAX_FILE_BYTES + 1)


def nothing(path: Path) -> None: ...


@pytest.mark.parametrize("read", [read_profile, lambda path: parse_network(str(path))], ids=["profile", "network"])
@pytest.mark.parametrize(
    ("make", "name", "words"),
    [
        (pipe, "p.toml", "p.toml: is not a plain file"),
        (folder, "f.toml", "f.toml: is not a plain file"),
        (binary, "b.toml", r"b.toml: is not UTF-8 text \(byte 3\)"),
        (sparse, "s.toml", "s.toml: is larger than 32 MiB"),
        (nothing, "n.toml", "n.toml: cannot be read: No such file"),
        (nothing, "a\0b.toml", "cannot be read: no file has such a name"),
        (nothing, "\ud800.toml", "cannot be read: no file has such a name"),
    ],
)
def test_what_is_no_file_to_read(
    tmp_path: Path,
    read: Callable[[Path], object],
    make: Callable[[Path], None],
    name: str,
    words: str,
) -> None:
    path = tmp_path / name
    make(path)
    with pytest.raises(NetlabError, match=words) as caught:
        read(path)
    assert "TOML file" in caught.value.hint
