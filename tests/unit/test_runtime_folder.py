"""Which folder running labs are found in, and how a directory of them reads."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from netlab.errors import LabError, SpecError
from netlab.holder.directory import LabDirectory
from netlab.holder.process_identity import ProcessIdentity
from netlab.holder.record import LabRecord, read_record, write_record
from netlab.holder.runtime_folder import RuntimeFolder, runtime_path


@pytest.mark.parametrize(
    ("variables", "is_root", "path"),
    [
        ({}, True, "/run/netlab"),
        ({"XDG_RUNTIME_DIR": "/run/user/7"}, True, "/run/netlab"),
        ({"XDG_RUNTIME_DIR": "/run/user/7"}, False, "/run/user/7/netlab"),
        ({"XDG_RUNTIME_DIR": ""}, False, "/tmp/netlab-7"),
        ({"NETLAB_RUNTIME_DIR": "/elsewhere", "XDG_RUNTIME_DIR": "/run/user/7"}, True, "/elsewhere"),
    ],
)
def test_where_it_is(variables: dict[str, str], is_root: bool, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/tmp")
    assert runtime_path(variables, is_root=is_root, user_id=7) == Path(path)


def record(name: str, lab_id: str) -> LabRecord:
    return LabRecord(
        id=lab_id,
        name=name,
        holder=ProcessIdentity.own(),
        engine="host",
        spec="/a.toml",
        seed=2**64 - 1,
        version="1",
        made_s=1.5,
    )


@pytest.fixture
def directory(tmp_path: Path) -> LabDirectory:
    return LabDirectory(RuntimeFolder(tmp_path / "run"))


def test_publish_find_remove(directory: LabDirectory) -> None:
    assert directory.entries() == []
    first = directory.publish(record("one", "000001"))
    second = directory.publish(record("two", "000002"))
    assert [entry.name for entry in directory.entries()] == ["one", "two"]
    assert directory.find("two") == directory.find("000002")
    assert directory.find_alive("one").seed == 2**64 - 1
    with pytest.raises(SpecError, match="'one' is up already"):
        directory.publish(record("one", "000003"))
    with pytest.raises(SpecError, match="no lab here") as caught:
        directory.find("onne")
    assert "'one'" in caught.value.hint
    assert directory.tidy_up() == []
    first.remove()
    second.remove()
    assert list(directory.folder.path.iterdir()) == []


def test_a_record_that_says_dead_is_believed_only_without_a_lock(directory: LabDirectory) -> None:
    folder = directory.publish(record("one", "000001"))
    alive = record("one", "000001")
    dead = msgspec.structs.replace(alive, holder=msgspec.structs.replace(alive.holder, start_ticks=1))
    (folder.path / "lab.json").unlink()
    write_record(folder.path, dead)
    assert directory.find("one").alive
    assert directory.tidy_up() == []
    import os

    os.close(folder.fd)
    assert not directory.find("one").alive
    with pytest.raises(LabError, match="is dead"):
        directory.find_alive("one")
    assert directory.tidy_up() == ["000001"]


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff" * 10, b"[" * 70_000, b'{"id": "../../etc"}'])
def test_no_record(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "000001"
    folder.mkdir()
    with pytest.raises(LabError, match="cannot be read"):
        read_record(folder)
    (folder / "lab.json").write_bytes(content)
    with pytest.raises(LabError, match="is no record"):
        read_record(folder)


def test_a_record_belongs_to_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "000002"
    folder.mkdir()
    write_record(folder, record("one", "000001"))
    with pytest.raises(LabError, match="of lab 000001, not 000002"):
        read_record(folder)
