"""How long the tests of each folder have kept this run: the last line says where a slow run was slow."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest


class FolderTimes:
    """Adds up the time from one test to the next; of tests in a process beside it is the waiting for them.

    Args:
        tests: The folder of the folders.
    """

    def __init__(self, tests: Path) -> None:
        self._tests = tests
        self._spent_s: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        begun_s = time.monotonic()
        try:
            return (yield)
        finally:
            self._spent_s[item.path.relative_to(self._tests).parts[0]] += time.monotonic() - begun_s

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self._spent_s) > 1:
            spent = ", ".join(f"{folder} {spent_s:.0f} s" for folder, spent_s in self._spent_s.items())
            terminalreporter.write_line(f"spent in tests of: {spent}")
