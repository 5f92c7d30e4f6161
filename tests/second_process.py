"""Tests in a second process, for a machine with two CPUs: half of those that only compute, and those of guests.

::

    tests/unit, tests/learning --every other file--> this process
                               --the others--------> a pytest beside it (``ProcessBeside``)
    tests/guest                --all, after them---> the same
    tests/lab                  --all, meanwhile----> this process

Unit and learning tests use no socket, no namespace and no kernel, and no file of another: two at once are as good
as one. Guest tests start guests from outside, each with folders of its own, and use no network of this machine but
its loopback.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest
from process_beside import ProcessBeside

HALVED = ("unit", "learning")
"""Folders of which every other file goes there."""
WHOLE = ("guest",)
"""Folders that go there whole."""


def _is_of(item: pytest.Item, folders: tuple[str, ...]) -> bool:
    return any(map(item.get_closest_marker, folders))


def for_second_process(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that run there, in their order."""
    halved = {item.path for item in items if _is_of(item, HALVED)}
    others = set(sorted(halved)[1::2])
    return [item for item in items if item.path in others or _is_of(item, WHOLE)]


def reported_late(items: list[pytest.Item], beside: list[pytest.Item]) -> list[pytest.Item]:
    """Return all tests with those of the second process behind those that run beside it here.

    Kernel tests stay last: they run in guests, for which nobody waits until all else is over.
    """
    apart = set(beside)
    kernel = [item for item in items if _is_of(item, ("kernel",))]
    here = [item for item in items if item not in apart and not _is_of(item, ("kernel",))]
    return [*here, *beside, *kernel]


class SecondProcess(ProcessBeside):
    """Starts a pytest with some of the tests.

    Args:
        config: Of this run.
        items: The tests.
    """

    def __init__(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        named = {item.nodeid: item for item in items}
        self._names = tempfile.TemporaryDirectory(prefix="netlab-tests-")
        names = Path(self._names.name) / "names.txt"
        names.write_text("\n".join(named), encoding="utf-8")  # thousands: too long for a command line
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", f"@{names}"]
        super().__init__(config, named, command, "the second process")

    def pytest_unconfigure(self) -> None:
        super().pytest_unconfigure()
        self._names.cleanup()
