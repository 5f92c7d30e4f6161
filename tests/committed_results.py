"""Documents below docs/results, read as they are committed; shared by their tests."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"


class Command(msgspec.Struct):
    """What made a document, as it says itself."""

    command: str


def command_of(name: str) -> str:
    return msgspec.json.decode((RESULTS / name).read_bytes(), type=Command).command


def first_difference(name: str, made: str) -> str:
    """Return the first line in which a committed file is not what was made; empty where there is none."""
    kept = (RESULTS / name).read_text()
    for number, (one, other) in enumerate(zip_longest(kept.splitlines(), made.splitlines()), start=1):
        if one != other:
            return f"{name}:{number}: {one!r}, made again: {other!r}"
    return "" if kept == made else f"{name}: its last line's end"


def as_written(document: dict[str, object]) -> str:
    return (msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n").decode()
