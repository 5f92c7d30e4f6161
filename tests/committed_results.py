"""Documents below docs/results, read as they are committed; shared by their tests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from pathlib import Path

import msgspec
import numpy as np

from netlab.machine import machine

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


def is_such_a_machine(made_on: Iterable[Mapping[str, object]], numpy_version: str) -> bool:
    """Say whether figures made there come out here to the last bit.

    The last bits of a product of matrices are the processor's, and a near tie of two actions hangs on them.
    """
    here = machine()
    places = {(one["cpu"], one["python"]) for one in made_on}
    return places == {(here["cpu"], here["python"])} and numpy_version == np.__version__


def are_close(mean: float, error: float | None, kept_mean: float, kept_error: float | None) -> bool:
    """Say whether two means are within four standard errors: what can be said on another machine."""
    assert error is not None and kept_error is not None
    return abs(mean - kept_mean) <= 4 * math.hypot(error, kept_error)
