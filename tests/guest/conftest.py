"""Fixtures of the tests that start guest kernels from outside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from guest_driver import (
    Driver,
    build_problem,
    fetch_problem,
    installed_kernel,
    kernel_problem,
    skip_or_fail,
    virtual_problem,
)

from netlab.namespaces.guest.installed import GuestKernel, time_travel_kernel


def pytest_runtest_setup(item: pytest.Item) -> None:
    """The one door: without a guest kernel a test is skipped with the reason, or fails where one is demanded."""
    asks = {
        "test_four_corners.py": virtual_problem,
        "test_guest_fetch.py": fetch_problem,
        "test_guest_build.py": build_problem,
        "test_guest_virtual_time.py": virtual_problem,
        "test_guest_watchdogs.py": virtual_problem,
        "test_virtual_commands.py": virtual_problem,
    }
    ask = asks.get(item.path.name, kernel_problem)
    problem = ask()
    if problem and not os.environ.get("NETLAB_GUEST"):
        needs = ("guest", "virtual") if ask is virtual_problem else ("guest",)
        skip_or_fail(problem, *needs)


@pytest.fixture(scope="session")
def driver() -> Driver:
    """Runs commands in guests of the user's own kernel."""
    kernel = installed_kernel()
    assert kernel is not None, "the door was open"
    return Driver(kernel)


@pytest.fixture
def time_travel() -> GuestKernel:
    """The kernel for virtual time, for a test in a file whose other tests do without."""
    return time_travel_kernel() or skip_or_fail(virtual_problem(), "guest", "virtual")


@pytest.fixture(scope="session")
def virtual_driver() -> Driver:
    """Runs commands in virtual time."""
    kernel = time_travel_kernel()
    assert kernel is not None, "the door was open"
    return Driver(kernel, virtual={})


@pytest.fixture
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of this test for temporary files; what a guest forgets there is seen."""
    folder = tmp_path / "tmp"
    folder.mkdir(mode=0o1777)
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder
