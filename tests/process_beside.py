"""Runs tests in a process beside this one and reports each here as if it had run here.

::

    pytest --starts--> COMMAND, a pytest of its own, here or in a guest
      ^                   |
      `- one JSON line a report   a plain file: what a guest writes is seen at once
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from orphans import Orphans

POLL_S = 0.1
PATIENCE_S = 30.0
"""How long a process may take to end, once it is told to or has reported its last test."""
SILENCE_S = 1800.0
"""How long it may say nothing: no one test takes so long."""


class ReportFile:
    """In the process beside: writes each test report as one line of JSON."""

    def __init__(self, config: pytest.Config, path: Path) -> None:
        self._config = config
        self._file = path.open("a", encoding="utf-8")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._file.write(json.dumps(data) + "\n")
        self._file.flush()

    def pytest_unconfigure(self) -> None:
        self._file.close()


class ProcessBeside:
    """Starts a process with tests, then reports each as its lines arrive.

    Args:
        config: Of this run.
        items: The tests, by the names under which the process knows them.
        command: What runs them; it finds the path of its report file in its environment.
        what: What the process is called where it ends too early.
    """

    def __init__(
        self, config: pytest.Config, items: Mapping[str, pytest.Item], command: list[str], what: str
    ) -> None:
        self._config = config
        self._items = items
        self._mine = set(items.values())
        self._what = what
        self._folder = tempfile.TemporaryDirectory(prefix="netlab-tests-")
        folder = Path(self._folder.name)
        self._reports_path = folder / "reports.jsonl"
        self._reports_path.touch()
        self._output_path = folder / "output.txt"
        self._read_bytes = 0
        self._heard_s = time.monotonic()
        self._reports: dict[str, list[dict[str, Any]]] = {}
        environment = dict(os.environ, NETLAB_TEST_REPORTS=str(self._reports_path))
        with self._output_path.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                cwd=config.rootpath,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if item not in self._mine:
            return None
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = [self._report(data) for data in self._wait_for(item.nodeid)]
        for report in reports or [self._end_of_process(item)]:
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        # The last test that ran here has left standing what this one would have used too, as its folder.
        item.session._setupstate.teardown_exact(nextitem)
        self._mine.discard(item)
        if not self._mine:
            self._see_it_end()
        return True

    def _report(self, data: dict[str, Any]) -> pytest.TestReport:
        report: pytest.TestReport = self._config.hook.pytest_report_from_serializable(
            config=self._config, data=data
        )
        if report.skipped and isinstance(report.longrepr, list):  # JSON has no tuples, and pytest wants one
            path, line, reason = report.longrepr
            report.longrepr = path, line, reason
        return report

    def _see_it_end(self) -> None:
        """Wait until the process is gone, and bury what it leaves: the next test's leak check would find that."""
        orphans = Orphans()
        with contextlib.suppress(subprocess.TimeoutExpired):  # it is ended when we are
            self.process.wait(PATIENCE_S)
            orphans.bury()

    def _wait_for(self, nodeid: str) -> list[dict[str, Any]]:
        """Return the reports of one test: setup, call, teardown; none where the process has ended before it."""
        while True:
            ended = self.process.poll() is not None
            self._read_reports()
            if time.monotonic() - self._heard_s > SILENCE_S:
                self.process.kill()
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
        if complete:
            self._heard_s = time.monotonic()
        self._read_bytes += len(complete)
        for line in complete.splitlines():
            data = json.loads(line)
            data["nodeid"] = self._items[data["nodeid"]].nodeid
            self._reports.setdefault(data["nodeid"], []).append(data)

    def _end_of_process(self, item: pytest.Item) -> pytest.TestReport:
        """Return a failure of a test that the process did not come to, or did not end."""
        text = f"{self._what} ended ({self.process.returncode}) before this test did:\n{self._output_tail()}"
        return pytest.TestReport(
            item.nodeid, item.location, dict(item.keywords), outcome="failed", longrepr=text, when="call"
        )

    def _output_tail(self) -> str:
        return "\n".join(self._output_path.read_text(errors="replace").splitlines()[-30:])

    def pytest_unconfigure(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE_S)
        self._folder.cleanup()
