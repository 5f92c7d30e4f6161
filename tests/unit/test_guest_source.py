"""Sources of a kernel that the user names: what they must be, and what they are known by."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from netlab.errors import GuestError
from netlab.namespaces.guest.kernel_source import TarballSource, TreeSource, check_tree, named_source

MAKEFILE = "# SPDX\nVERSION = {0}\nPATCHLEVEL = {1}\nSUBLEVEL = 12\nEXTRAVERSION ={2}\nNAME = x\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "linux"
    (folder / "arch" / "um").mkdir(parents=True)
    (folder / "arch" / "um" / "Makefile").touch()
    (folder / "Kconfig").touch()
    (folder / "Makefile").write_text(MAKEFILE.format(7, 2, ""))
    return folder


def test_the_version_of_a_tree(tree: Path) -> None:
    assert check_tree(tree) == "7.2.12"
    (tree / "Makefile").write_text(MAKEFILE.format(6, 13, " -rc1"))
    assert check_tree(tree) == "6.13.12-rc1"


@pytest.mark.parametrize(
    ("makefile", "says"),
    [
        (MAKEFILE.format(6, 12, ""), r"Linux 6\.12\.12; guests need 6\.13 or newer"),
        (MAKEFILE.format("x", 1, ""), r"Linux x\.1\.12; guests need"),
        ("all:\n\ttrue\n", "not a Linux tree"),
        ("", "not a Linux tree"),
    ],
)
def test_another_tree_is_refused(tree: Path, makefile: str, says: str) -> None:
    (tree / "Makefile").write_text(makefile)
    with pytest.raises(GuestError, match=says) as caught:
        check_tree(tree)
    assert "--source" in caught.value.hint


def test_a_tree_without_a_part_that_is_needed_is_refused(tree: Path) -> None:
    (tree / "arch" / "um" / "Makefile").unlink()
    with pytest.raises(GuestError, match="without arch/um"):
        check_tree(tree)
    (tree / "Makefile").unlink()
    with pytest.raises(GuestError, match="Makefile: No such file"):
        check_tree(tree)


def test_a_tree_is_known_by_what_its_files_look_like(tree: Path) -> None:
    def identity() -> str:
        return TreeSource(tree).find(Path("unused"), print).identity.sha256

    before = identity()
    assert identity() == before
    (tree / ".git").mkdir()
    (tree / ".git" / "index").touch()
    assert identity() == before
    os.utime(tree / "Kconfig", ns=(1, 1))
    assert identity() != before


def test_a_tarball_is_known_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(b"one")
    (tmp_path / "b.tar").write_bytes(b"one")
    one, other = (TarballSource(tmp_path / name).find(tmp_path, print).identity for name in ("a.tar", "b.tar"))
    assert one == other
    assert not one.packages


def test_a_path_is_a_tree_or_a_tarball(tree: Path, tmp_path: Path) -> None:
    assert isinstance(named_source(tree), TreeSource)
    assert isinstance(named_source(tree / "Makefile"), TarballSource)
    with pytest.raises(GuestError, match="neither a folder nor a file"):
        named_source(tmp_path / "none")
