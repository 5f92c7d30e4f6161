"""Input that is read to its end before a guest starts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from netlab.errors import GuestError
from netlab.namespaces.guest.spool import spool_input


@pytest.fixture
def lifeline() -> Iterator[tuple[int, int]]:
    """A pipe: the end to watch, and the end to close."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def source_with(data: bytes) -> int:
    read_end, write_end = os.pipe()
    os.write(write_end, data)
    os.close(write_end)
    return read_end


@pytest.mark.parametrize("data", [b"", b"\0line\n\xff" * 1000])
def test_all_of_it_is_in_a_file_of_ours(tmp_path: Path, lifeline: tuple[int, int], data: bytes) -> None:
    assert spool_input(source_with(data), tmp_path / "stdin", lifeline[0])
    assert (tmp_path / "stdin").read_bytes() == data
    assert (tmp_path / "stdin").stat().st_mode & 0o777 == 0o600


def test_without_input_there_is_nothing_to_do(tmp_path: Path, lifeline: tuple[int, int]) -> None:
    assert spool_input(-1, tmp_path / "stdin", lifeline[0])
    assert not list(tmp_path.iterdir())


def test_it_ends_with_who_asked(tmp_path: Path, lifeline: tuple[int, int]) -> None:
    os.write(lifeline[1], b"x")  # readable, as at its end
    source, unfinished = os.pipe()
    assert not spool_input(source, tmp_path / "stdin", lifeline[0])
    os.close(unfinished)


def test_there_is_a_bound(tmp_path: Path, lifeline: tuple[int, int]) -> None:
    with pytest.raises(GuestError, match="more input than"):
        spool_input(source_with(bytes(1001)), tmp_path / "stdin", lifeline[0], most_bytes=1000)
