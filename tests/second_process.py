"""Half of the unit and learning tests in a second process, for a machine with two CPUs.

::

    tests/unit, tests/learning --every other file--> this process
                               --the others--------> a pytest beside it (``ProcessBeside``)

They use no socket, no namespace and no kernel, and no file of another: two at once are as good as one. What lives
in real time runs when both are over.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest
from process_beside import ProcessBeside

SHARED_OUT = ("unit", "learning")
"""Folders whose tests may run beside others."""


def second_half(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests of every other file among those that may run beside others."""
    able = [item for item in items if any(item.get_closest_marker(folder) for folder in SHARED_OUT)]
    others = set(sorted({item.path for item in able})[1::2])
    return [item for item in able if item.path in others]


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
