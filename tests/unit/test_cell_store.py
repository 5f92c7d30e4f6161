"""CellStore: results that are kept, and files that are no store."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest

from netlab.errors import KernelError, NetlabError, SpecError
from netlab.tables import cell_store
from netlab.tables.cell import cell_key
from netlab.tables.cell_store import CellStore
from netlab.tables.code_digest import code_digest


def test_what_is_put_is_there_at_once_for_whoever_opens_the_file_next(tmp_path: Path) -> None:
    path = tmp_path / "cells.sqlite"
    with CellStore(path) as store:
        assert store.get("a") is None and "a" not in store
        store.put("a", "first", b"\x00one")
        with CellStore(path) as other:  # a second command, while the first still has it
            assert other.get("a") == b"\x00one"
        store.put("a", "again", b"two")
        assert store.get("a") == b"\x00one", "a result does not change"
    with CellStore(path) as store:
        assert "a" in store and store.get("a") == b"\x00one"


@pytest.mark.parametrize(
    "content",
    [b"not a database, but long enough to look like one" * 100, b"SQLite format 3\x00" + b"\xff" * 4096],
)
def test_a_file_that_is_something_else_is_refused_and_left(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cells.sqlite"
    path.write_bytes(content)
    with pytest.raises(SpecError, match=r"cells\.sqlite: is no store of results") as caught:
        CellStore(path)
    assert "another folder" in caught.value.hint
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (["CREATE TABLE cells (x)"], "a database of something else"),
        (["PRAGMA application_id = 7"], "a database of something else"),
        ([f"PRAGMA application_id = {0x6E6C6362}"], "a database of something else"),
    ],
)
def test_a_database_of_something_else_is_refused(tmp_path: Path, statements: list[str], words: str) -> None:
    path = tmp_path / "cells.sqlite"
    database = sqlite3.connect(path)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()
    with pytest.raises(SpecError, match=words):
        CellStore(path)


def test_a_store_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cells.sqlite"
    CellStore(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 2")
    database.close()
    with pytest.raises(SpecError, match="format 2, not 1"):
        CellStore(path)


@pytest.mark.parametrize("columns", ["key TEXT, title TEXT", "x BLOB", "key TEXT, content BLOB, title TEXT"])
def test_a_store_whose_cells_are_others_is_refused(tmp_path: Path, columns: str) -> None:
    path = tmp_path / "cells.sqlite"
    CellStore(path).close()
    database = sqlite3.connect(path)
    database.execute("DROP TABLE cells")
    database.execute(f"CREATE TABLE cells ({columns})")
    database.close()
    with pytest.raises(SpecError, match=r"is a store whose cells have .*, not key, title, content") as caught:
        CellStore(path)
    assert "another folder" in caught.value.hint


class Result(msgspec.Struct):
    number: int


def test_what_is_there_and_is_no_result_is_told_and_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with CellStore(tmp_path / "cells.sqlite") as store:
        store.put("good", "good", b'{"number": 1}')
        store.put("bad", "bad", b'{"number": 1')
        store.put("large", "large", b'{"number": 2}' + b" " * 100)
        assert [store.is_damaged(key, Result) for key in ("good", "bad", "nowhere")] == [False, True, False]
        store.put("bad", "bad", b'{"number": 3}')
        assert store.is_damaged("bad", Result), "one that is there stays, unless it is known to be damaged"
        store.put("bad", "bad", b'{"number": 3}', replaces=True)
        assert store.decoded("bad", Result).number == 3
        monkeypatch.setattr(cell_store, "MAX_CONTENT_BYTES", 99)
        assert store.is_damaged("large", Result)


def test_a_damaged_store_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "cells.sqlite"
    with CellStore(path) as store:
        for number in range(200):
            store.put(cell_key(number), "one", bytes(1000))
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xa5" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(SpecError, match="is no store of results"), CellStore(path) as store:
        for number in range(200):
            store.is_damaged(cell_key(number), Result)


def test_a_result_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with CellStore(tmp_path / "cells.sqlite") as store:
        store.put("a", "large", bytes(2000))
        monkeypatch.setattr(cell_store, "MAX_CONTENT_BYTES", 1999)
        with pytest.raises(SpecError, match="cell a"):
            store.get("a")
        with pytest.raises(ValueError, match="2000 bytes"):
            store.put("b", "large", bytes(2000))


def test_what_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="not a plain file"):
        CellStore(tmp_path)
    with pytest.raises(KernelError, match="unable to open"):
        CellStore(tmp_path / "nowhere" / "cells.sqlite")


def test_another_that_holds_the_lock_is_an_error_and_not_a_wait_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cells.sqlite"
    CellStore(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(cell_store, "_WAIT_S", 0.01)
    with pytest.raises(NetlabError, match="locked"):
        CellStore(path)
    other.close()


def test_a_key_is_of_all_parts_and_not_of_the_order_of_names() -> None:
    assert cell_key("a", {"x": 1, "y": 2}) == cell_key("a", {"y": 2, "x": 1})
    keys = {
        cell_key("a", 1),
        cell_key("a", 2),
        cell_key("b", 1),
        cell_key("a"),
        cell_key("a1"),
        cell_key("a", 1.5),
    }
    assert len(keys) == 6 and all(len(key) == 64 for key in keys)


def test_code_is_told_apart_by_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "some_room"
    (package / "inner").mkdir(parents=True)
    for name, text in (
        ("__init__.py", ""),
        ("inner/__init__.py", ""),
        ("inner/one.py", "x = 1\n"),
        ("data.txt", "1"),
    ):
        (package / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)

    def digest() -> str:
        code_digest.cache_clear()
        return code_digest("some_room")

    before = digest()
    (package / "data.txt").write_text("2")
    assert digest() == before
    (package / "inner" / "one.py").write_text("x = 2\n")
    changed = digest()
    assert changed != before
    (package / "inner" / "one.py").rename(package / "inner" / "two.py")
    assert digest() not in (before, changed)
    kept = code_digest("some_room", without=("some_room.inner",))
    (package / "inner" / "two.py").write_text("x = 3\n")
    code_digest.cache_clear()
    assert code_digest("some_room", without=("some_room.inner",)) == kept != digest()
    assert code_digest("some_room", without=("some_room.inner",), but=("some_room.inner.two",)) != kept
    assert code_digest("some_room", "netlab.tables") != digest()
