"""Result files: whole or not there, and refused before the work where they could not be written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from netlab.documents import require_writable, write_document
from netlab.errors import KernelError, SpecError


def test_a_document_replaces_the_old_one_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("old")
    require_writable("--output", path)
    assert path.read_text() == "old"
    write_document(path, b"new")
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


def test_an_interrupted_write_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "result.json"
    path.write_text("old")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KernelError, match=r"cannot write .*result.json: No space"):
        write_document(path, b"new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize("name", ["nowhere/result.json", "."])
def test_what_cannot_be_written_is_refused_with_the_options_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(SpecError, match="--output") as caught:
        require_writable("--output", tmp_path / name)
    assert caught.value.exit_code == 2
