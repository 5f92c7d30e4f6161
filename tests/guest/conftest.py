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
    virtual_problem,
)

from netlab.namespaces.guest.installed import time_travel_kernel


def pytest_runtest_setup(item: pytest.Item) -> None:
    """The one door: without a guest kernel a test is skipped with the reason, or fails where one is demanded."""
    asks = {
        "test_guest_fetch.py": fetch_problem,
        "test_guest_build.py": build_problem,
        "test_guest_virtual_time.py": virtual_problem,
        "test_guest_watchdogs.py": virtual_problem,
        "test_virtual_commands.py": virtual_problem,
    }
    problem = asks.get(item.path.name, kernel_problem)()
    if problem and not os.environ.get("NETLAB_GUEST"):
        if "guest" in os.environ.get("NETLAB_REQUIRE", "").split(","):
            pytest.fail(f"NETLAB_REQUIRE asks for guest: {problem}", pytrace=False)
        pytest.skip(problem)


@pytest.fixture(scope="session")
def driver() -> Driver:
    """Runs commands in guests of the user's own kernel."""
    kernel = installed_kernel()
    assert kernel is not None, "the door was open"
    return Driver(kernel)


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
