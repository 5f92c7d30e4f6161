"""TraceSource: bounded, out of gzip, hashed as it lies on disk."""

from __future__ import annotations

import gzip
import hashlib
import os

import numpy as np
import pytest

from netlab.errors import TraceError
from netlab.traces.importers.catalogue import import_trace
from netlab.traces.trace_source import HEAD_BYTES, TraceSource

TEXT = b"".join(b"%d\n" % number for number in range(40_000))


def source(tmp_path, content: bytes, name: str = "a.txt", **settings) -> TraceSource:
    path = tmp_path / name
    path.write_bytes(content)
    return TraceSource(path, **settings)


def test_a_plain_file(tmp_path):
    one = source(tmp_path, TEXT)
    assert one.data() == TEXT and one.open().read() == TEXT
    assert one.head == TEXT[:HEAD_BYTES] and not one.whole_in_head and not one.compressed
    assert one.sha256 == hashlib.sha256(TEXT).hexdigest()
    assert one.name == "a.txt"


def test_gzip_is_taken_off_and_the_hash_is_of_the_file_on_disk(tmp_path):
    packed = gzip.compress(TEXT)
    one = source(tmp_path, packed, "a.txt.gz")
    assert one.compressed
    assert one.data() == TEXT and one.head == TEXT[:HEAD_BYTES]
    assert one.sha256 == hashlib.sha256(packed).hexdigest()


def test_several_gzip_members_are_one_file(tmp_path):
    assert source(tmp_path, gzip.compress(b"1\n") + gzip.compress(b"2\n")).data() == b"1\n2\n"


def test_the_head_has_whole_lines_alone(tmp_path):
    lines = source(tmp_path, TEXT).head_lines
    assert lines == TEXT.splitlines()[: len(lines)]
    assert source(tmp_path, b"\xef\xbb\xbf1\r\n2").head_lines == [b"1", b"2"]


@pytest.mark.parametrize("compress", [False, True])
def test_more_than_the_bound_is_refused(tmp_path, compress):
    bomb = bytes(10 << 20)
    with pytest.raises(TraceError, match="the most that is read") as caught:
        source(tmp_path, gzip.compress(bomb) if compress else bomb, max_bytes=1 << 20).data()
    assert caught.value.hint == "cut it into parts"
    if compress:
        assert "decompressed" in str(caught.value)


def test_ten_gigabytes_are_refused_before_any_is_read(tmp_path):
    import tracemalloc

    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 10 << 30)
    tracemalloc.start()
    with pytest.raises(TraceError, match="is larger than 1024 MiB"):
        TraceSource(tmp_path / "sparse")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_a_bomb_costs_no_more_than_the_bound(tmp_path):
    import tracemalloc

    packed = gzip.compress(bytes(64 << 20))
    one = source(tmp_path, packed, max_bytes=1 << 20)
    tracemalloc.start()
    with pytest.raises(TraceError):
        one.data()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


@pytest.mark.parametrize("damage", ["cut", "flipped", "no more than the magic"])
def test_damaged_gzip_is_refused(tmp_path, damage):
    packed = bytearray(gzip.compress(os.urandom(5000)))
    if damage == "cut":
        del packed[-100:]
    elif damage == "flipped":
        packed[2000] ^= 0xFF
    else:
        del packed[2:]
    one = source(tmp_path, bytes(packed))
    assert isinstance(one.head, bytes)
    with pytest.raises(TraceError, match="is not whole as gzip"):
        one.data()


def test_what_is_no_plain_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "/dev/null"):
        with pytest.raises(TraceError, match="is not a plain file"):
            TraceSource(path)


@pytest.mark.parametrize("name", ["nothing.txt", "a\0b", "x" * 300])
def test_what_cannot_be_opened_is_refused(tmp_path, name):
    with pytest.raises(TraceError, match="cannot be read") as caught:
        TraceSource(str(tmp_path / name))
    assert caught.value.hint


def test_a_name_is_printable(tmp_path):
    assert source(tmp_path, b"1", "a\nb\udcff.txt").name == "a?b?.txt"


def test_the_first_row_that_is_broken_is_refused_by_its_line(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"1\n-2\n-3\n")
    source = TraceSource(path)
    values = np.array([1.0, -2.0, -3.0])
    source.refuse_first(values > 9.0, "must be small")
    with pytest.raises(TraceError) as caught:
        source.refuse_first(values < 0.0, "must not be negative", 5, "turn it", values)
    assert (str(caught.value), caught.value.hint) == (f"{path}:6: -2: must not be negative", "turn it")
    with pytest.raises(TraceError, match=r"file: trips\[1\]: must not be negative"):
        source.refuse_first(values < 0.0, "must not be negative", element="trips")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("text", [b"1\n2\n", TEXT])
def test_the_mark_of_utf_8_is_no_part_of_the_text(tmp_path, pack, text):
    one = source(tmp_path, pack(b"\xef\xbb\xbf" + text))
    assert one.data() == text and one.head == text[:HEAD_BYTES]
    assert one.whole_in_head is (len(text) < HEAD_BYTES)
    assert one.sha256 == hashlib.sha256(pack(b"\xef\xbb\xbf" + text)).hexdigest()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (gzip.compress(gzip.compress(b"1.5\n2.5\n", mtime=0), mtime=0), "is packed by gzip more than once"),
        ("1.5\n2.5\n".encode("utf-16"), "is text in UTF-16"),
        (b"PK\x03\x04rest", "is packed by zip"),
    ],
)
@pytest.mark.parametrize("name", ["", "rtt-list", "csv"])
def test_what_no_format_is_says_what_it_is_whatever_format_is_named(tmp_path, content, words, name):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(TraceError, match=words) as caught:
        import_trace(tmp_path / "file", name)
    assert caught.value.hint


@pytest.mark.parametrize("text", ["1.5\n2.5\n", "".join(f"{i}\n" for i in range(60)), "0.0 4.5\n0.6 3.2\n"])
def test_bare_numbers_behind_the_mark_are_recognised_and_read(tmp_path, text):
    for name, mark in (("with", "\ufeff"), ("without", "")):
        (tmp_path / name).write_text(mark + text, encoding="utf-8")
    (one,), (other,) = import_trace(tmp_path / "with"), import_trace(tmp_path / "without")
    assert one.source.split(", ")[1] == other.source.split(", ")[1] and one.t_s.tolist() == other.t_s.tolist()


def test_standard_input_is_not_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TraceError, match="cannot be read") as caught:
        TraceSource("-")
    assert "standard input is not read" in caught.value.hint
