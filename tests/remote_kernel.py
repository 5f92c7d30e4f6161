"""Runs kernel tests inside guest kernels and reports them here as if they had run here.

::

    pytest (host) --starts--> netlab guest run -- pytest --on host IDS (guest)        one in real time,
         ^                                    |                                       one in virtual time
         `---- one JSON line a report --------'   a plain file: the guest's writes are seen at once
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from kernel_clocks import VirtualTwin

GUEST_BUDGET_S = 2400
POLL_S = 0.1
VIRTUAL_OPTIONS = ("--virtual-time", "--stall", "180s")
"""A busy machine imports slowly, and the clock stands still meanwhile."""
VIRTUAL_NICE = 10
"""In virtual time it makes no difference when a program gets its turn; to all others here it does."""


class ReportFile:
    """Inside the guest: writes each test report as one line of JSON."""

    def __init__(self, config: pytest.Config, path: Path) -> None:
        self._config = config
        self._file = path.open("a", encoding="utf-8")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._file.write(json.dumps(data) + "\n")
        self._file.flush()

    def pytest_unconfigure(self) -> None:
        self._file.close()


class GuestRun:
    """On the host: starts a guest with kernel tests, then reports each as its lines arrive.

    Args:
        config: Of this run.
        items: The tests, by the names under which the guest knows them.
        options: Of ``netlab guest run``.
    """

    def __init__(self, config: pytest.Config, items: dict[str, pytest.Item], options: tuple[str, ...]) -> None:
        self._config = config
        self._items = items
        self._folder = tempfile.TemporaryDirectory(prefix="netlab-tests-")
        folder = Path(self._folder.name)
        self._reports_path = folder / "reports.jsonl"
        self._reports_path.touch()
        self._output_path = folder / "output.txt"
        self._read_bytes = 0
        self._reports: dict[str, list[dict[str, Any]]] = {}
        inside = [sys.executable, "-m", "pytest", "--on", "host", "-p", "no:cacheprovider", "-q", *items]
        limit = ["--timeout", f"{GUEST_BUDGET_S}s"]
        command = [sys.executable, "-P", "-m", "netlab", "guest", "run", *options, *limit, "--", *inside]
        environment = dict(os.environ, NETLAB_TEST_REPORTS=str(self._reports_path))
        with self._output_path.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                cwd=config.rootpath,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @classmethod
    def in_real_time(cls, config: pytest.Config, items: list[pytest.Item]) -> GuestRun:
        """Start a guest for tests as they are."""
        return cls(config, {item.nodeid: item for item in items}, ())

    @classmethod
    def in_virtual_time(cls, config: pytest.Config, twins: list[VirtualTwin]) -> GuestRun:
        """Start a guest with time travel for tests that have twins here."""
        run = cls(config, {twin.twin_of.nodeid: twin for twin in twins}, VIRTUAL_OPTIONS)
        os.setpriority(os.PRIO_PROCESS, run._process.pid, VIRTUAL_NICE)
        return run

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        if item not in self._items.values():
            return None
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = [
            self._config.hook.pytest_report_from_serializable(config=self._config, data=data)
            for data in self._wait_for(item.nodeid)
        ]
        for report in reports or [self._end_of_guest(item)]:
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _wait_for(self, nodeid: str) -> list[dict[str, Any]]:
        """Return the reports of one test: setup, call, teardown; none where the guest has ended before it."""
        while True:
            ended = self._process.poll() is not None
            self._read_reports()
            reports = self._reports.get(nodeid, [])
            if reports and reports[-1]["when"] == "teardown":
                return reports
            if ended:
                return []
            time.sleep(POLL_S)

    def _read_reports(self) -> None:
        with self._reports_path.open("rb") as file:
            file.seek(self._read_bytes)
            new = file.read()
        complete = new[: new.rfind(b"\n") + 1]
        self._read_bytes += len(complete)
        for line in complete.splitlines():
            data = json.loads(line)
            data["nodeid"] = self._items[data["nodeid"]].nodeid
            self._reports.setdefault(data["nodeid"], []).append(data)

    def _end_of_guest(self, item: pytest.Item) -> pytest.TestReport:
        """Return a failure of a test that the guest did not come to, or did not end."""
        text = f"the guest ended ({self._process.returncode}) before this test did:\n{self._output_tail()}"
        return pytest.TestReport(
            item.nodeid, item.location, dict(item.keywords), outcome="failed", longrepr=text, when="call"
        )

    def _output_tail(self) -> str:
        return "\n".join(self._output_path.read_text(errors="replace").splitlines()[-30:])

    def pytest_unconfigure(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(30)
        self._folder.cleanup()
