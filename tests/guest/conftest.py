"""Fixtures of the tests that start guest kernels from outside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from guest_driver import Driver, installed_kernel


@pytest.fixture(scope="session")
def driver() -> Driver:
    """Runs commands in guests of the user's own kernel."""
    kernel = installed_kernel()
    if kernel is None:
        if "guest" in os.environ.get("NETLAB_REQUIRE", "").split(","):
            pytest.fail("NETLAB_REQUIRE asks for guest, and no kernel has been fetched: netlab guest fetch")
        pytest.skip("no guest kernel has been fetched: netlab guest fetch")
    return Driver(kernel)


@pytest.fixture
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of this test for temporary files; what a guest forgets there is seen."""
    folder = tmp_path / "tmp"
    folder.mkdir(mode=0o1777)
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder
