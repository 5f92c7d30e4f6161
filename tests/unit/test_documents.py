"""Result files: whole or not there, and refused before the work where they could not be written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from netlab.documents import refuse_shared_files, require_writable, write_document
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


def test_a_link_stays_a_link_and_what_it_points_at_is_written(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "target.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    write_document(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.iterdir() if entry.name != "there"] == ["link.json"]


@pytest.mark.parametrize("name", ["nowhere/result.json", "."])
def test_what_cannot_be_written_is_refused_with_the_options_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(SpecError, match="--output") as caught:
        require_writable("--output", tmp_path / name)
    assert caught.value.exit_code == 2


def test_one_file_for_two_things_is_refused_whatever_it_is_called(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("")
    (tmp_path / "link").symlink_to(there)
    with pytest.raises(SpecError, match=r"--packets: .*link is --output already"):
        refuse_shared_files({"--output": there, "--packets": tmp_path / "link"}, {})
    (tmp_path / "folder").mkdir()
    again = tmp_path / "folder" / ".." / "new"
    with pytest.raises(SpecError, match="is --output already"):
        refuse_shared_files({"--output": tmp_path / "new", "--packets": again}, {})
    with pytest.raises(SpecError, match="is SPEC already"):
        refuse_shared_files({"--output": there}, {"SPEC": there})
    refuse_shared_files({"--output": tmp_path / "a", "--packets": tmp_path / "b"}, {"SPEC": there, "MORE": there})
