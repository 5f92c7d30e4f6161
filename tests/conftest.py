"""What every test shares: marks by folder, the private namespace, the leak check, kernel tests in the guest.

::

    tests/unit      no root, no sockets, no sleep          tests/kernel   real netem: here, or in the guest
    tests/loopback  real sockets on 127.0.0.1              tests/guest    starts guest kernels from outside
    tests/lab       namespaces, in a private one of ours

``NETLAB_REQUIRE=lab,kernel`` turns the skips of those folders into failures.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from leaks import LeakCheck
from remote_kernel import GuestRun, ReportFile

# No deadlines: shared machines stall. Derandomised in CI, so that a failure there is one here.
hypothesis.settings.register_profile("netlab", deadline=None)
hypothesis.settings.register_profile("netlab-ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("netlab-ci" if os.environ.get("CI") else "netlab")

TESTS = Path(__file__).parent
FOLDERS = ("unit", "loopback", "guest", "lab", "kernel")
MINIMUM_FILE = TESTS / "kernel" / "minimum.txt"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--on",
        choices=["host", "guest"],
        default=None,
        help="where kernel tests run: this kernel or the guest kernel (default: the first with netem)",
    )


def pytest_configure(config: pytest.Config) -> None:
    reports = os.environ.get("NETLAB_TEST_REPORTS")
    if reports:
        config.pluginmanager.register(ReportFile(config, Path(reports)))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        if folder in FOLDERS:
            item.add_marker(folder)
    # Cheap ones first; guest tests before this process leaves the machine's network for good (lab); kernel tests
    # last, since the guest works through them beside the others.
    order = {folder: place for place, folder in enumerate(FOLDERS)}
    items.sort(key=lambda item: order.get(item.path.relative_to(TESTS).parts[0], 0))


def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    kernel_items = [item for item in session.items if item.get_closest_marker("kernel")]
    config.stash[KERNEL_ITEMS] = len(kernel_items)
    if not kernel_items or config.option.collectonly or not _kernel_tests_go_to_guest(config):
        return
    config.pluginmanager.register(GuestRun(config, kernel_items), "netlab-guest-run")


KERNEL_ITEMS = pytest.StashKey[int]()


def _kernel_tests_go_to_guest(config: pytest.Config) -> bool:
    if config.getoption("--on") == "host" or os.environ.get("NETLAB_GUEST"):
        return False
    if config.getoption("--on") == "guest":
        return True
    from netlab.engine import host_netem_problem

    return host_netem_problem() is not None


def pytest_runtest_setup(item: pytest.Item) -> None:
    for folder in ("lab", "kernel", "guest"):
        if item.get_closest_marker(folder):
            problem = _missing(folder)
            if problem:
                if folder in os.environ.get("NETLAB_REQUIRE", "").split(","):
                    pytest.fail(f"NETLAB_REQUIRE asks for {folder}: {problem}", pytrace=False)
                pytest.skip(problem)


def _missing(folder: str) -> str | None:
    """Say what this machine lacks for a folder's tests; None where nothing."""
    if folder == "guest":
        if os.environ.get("NETLAB_GUEST"):
            return "already inside a guest: guests are started from outside"
        return None if platform.machine() == "x86_64" else "guest kernels are for x86-64 alone"
    if os.geteuid() != 0:
        return "not root: namespaces need root"
    if folder == "kernel":
        from netlab.engine import host_netem_problem

        return host_netem_problem()
    return None


@pytest.fixture(scope="session")
def private_namespaces() -> None:
    """Enter a network and a mount namespace of our own, so that no test can touch the host's."""
    from netlab.namespaces.rtnetlink import RouteSocket
    from netlab.namespaces.syscalls import CLONE_NEWNET, CLONE_NEWNS, MS_PRIVATE, MS_REC, mount, unshare

    unshare(CLONE_NEWNET | CLONE_NEWNS)
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    mount("sysfs", "/sys", "sysfs", 0)
    with RouteSocket.open() as routes:
        routes.set_up(1)  # lo: loopback tests may follow


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a lab, kernel or guest test that leaves a descriptor, thread, child or interface behind."""
    item = request.node
    if not any(item.get_closest_marker(folder) for folder in ("lab", "kernel", "guest")):
        yield
        return
    if not item.get_closest_marker("guest"):
        request.getfixturevalue("private_namespaces")
    check = LeakCheck.begin()
    yield
    left = check.end()
    assert not left, "left behind: " + "; ".join(left)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a complete run in which fewer kernel tests passed than the committed minimum."""
    if "kernel" not in os.environ.get("NETLAB_REQUIRE", "").split(",") or session.config.option.collectonly:
        return
    if session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return  # part of the tests, or inside the guest
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    passed = [r for r in reporter.stats.get("passed", []) if r.nodeid.startswith("tests/kernel/")]
    minimum = int(MINIMUM_FILE.read_text().split()[0])
    if len(passed) < minimum:
        reporter.write_line(
            f"only {len(passed)} kernel tests passed; {MINIMUM_FILE.name} asks for {minimum}", red=True
        )
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
