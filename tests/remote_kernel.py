"""Kernel tests inside guest kernels: one in real time, one in virtual time, beside this process."""

from __future__ import annotations

import os
import sys

import pytest
from kernel_clocks import VirtualTwin
from process_beside import ProcessBeside

GUEST_BUDGET_S = 2400
VIRTUAL_OPTIONS = ("--virtual-time", "--stall", "180s")
"""A busy machine imports slowly, and the clock stands still meanwhile."""
VIRTUAL_NICE = 10
"""In virtual time it makes no difference when a program gets its turn; to all others here it does."""


class GuestRun(ProcessBeside):
    """Starts a guest with kernel tests.

    Args:
        config: Of this run.
        items: The tests, by the names under which the guest knows them.
        options: Of ``netlab guest run``.
    """

    def __init__(self, config: pytest.Config, items: dict[str, pytest.Item], options: tuple[str, ...]) -> None:
        inside = [sys.executable, "-m", "pytest", "--on", "host", "-p", "no:cacheprovider", "-q", *items]
        limit = ["--timeout", f"{GUEST_BUDGET_S}s"]
        command = [sys.executable, "-P", "-m", "netlab", "guest", "run", *options, *limit, "--", *inside]
        super().__init__(config, items, command, "the guest")

    @classmethod
    def in_real_time(cls, config: pytest.Config, items: list[pytest.Item]) -> GuestRun:
        """Start a guest for tests as they are."""
        return cls(config, {item.nodeid: item for item in items}, ())

    @classmethod
    def in_virtual_time(cls, config: pytest.Config, twins: list[VirtualTwin]) -> GuestRun:
        """Start a guest with time travel for tests that have twins here."""
        run = cls(config, {twin.twin_of.nodeid: twin for twin in twins}, VIRTUAL_OPTIONS)
        os.setpriority(os.PRIO_PROCESS, run.process.pid, VIRTUAL_NICE)
        return run
