"""What every test shares: marks by folder, the private namespace, the leak check, kernel tests in the guest.

::

    tests/unit      no root, no sockets, no sleep          tests/kernel   real netem: here, or in the guest
    tests/loopback  real sockets on 127.0.0.1              tests/guest    starts guest kernels from outside
    tests/lab       namespaces, in a private one of ours

Kernel tests run twice, by two clocks (``kernel_clocks.py``). ``NETLAB_REQUIRE=lab,kernel,virtual`` turns the skips
of those folders, and of the twins in virtual time, into failures.
"""

from __future__ import annotations

import functools
import os
import platform
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path

import hypothesis
import pytest
from folder_times import FolderTimes
from kernel_clocks import (
    REAL,
    TWIN_SUFFIX,
    VIRTUAL,
    VirtualTwin,
    by_both_clocks,
    passed_by_clock,
    read_minimum,
    wrong_clock,
)
from leaks import LeakCheck
from process_beside import ProcessBeside, ReportFile
from remote_kernel import GuestRun
from second_process import SHARED_OUT, SecondProcess, second_half

# No deadlines: shared machines stall. Derandomised in CI, so that a failure there is one here.
hypothesis.settings.register_profile("netlab", deadline=None)
hypothesis.settings.register_profile("netlab-ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("netlab-ci" if os.environ.get("CI") else "netlab")

TESTS = Path(__file__).parent
FOLDERS = ("loopback", "unit", "learning", "guest", "lab", "kernel")
MINIMUM_FILE = TESTS / "kernel" / "minimum.txt"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--on",
        choices=["host", "guest"],
        default=None,
        help="where kernel tests run: this kernel alone, or guest kernels (default: the first with netem in real "
        "time, a guest in virtual time)",
    )
    parser.addoption(
        "--second-process", action="store_true", help="run half of the unit and learning tests in a second process"
    )
    parser.addoption(
        "--clock", choices=[REAL, VIRTUAL], default=None, help="run kernel tests by this clock (default: both)"
    )


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell's background job is deaf to Ctrl-C, and so would be whatever tests start and interrupt.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    if any(
        name.endswith(TWIN_SUFFIX) for name in config.args
    ):  # as a report names them; they are made from the tests they are twins of
        config.args[:] = [name.removesuffix(TWIN_SUFFIX) for name in config.args]
        config.option.clock = VIRTUAL
    reports = os.environ.pop("NETLAB_TEST_REPORTS", None)  # not for a pytest that a test starts
    if reports:
        config.pluginmanager.register(ReportFile(config, Path(reports)))
    config.pluginmanager.register(FolderTimes(TESTS))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        if folder in FOLDERS:
            item.add_marker(folder)
    # Loopback first: its services live in real time, and later others take both CPUs of a small machine. Guest
    # tests before this process leaves the machine's network for good (lab); kernel tests last: the guests work
    # through them beside the others.
    order = {folder: place for place, folder in enumerate(FOLDERS)}
    items.sort(key=lambda item: order.get(item.path.relative_to(TESTS).parts[0], 0))
    if not _this_kernel_alone(config):
        clock = config.getoption("--clock")
        items[:] = [
            item
            for item in by_both_clocks(items)
            if not item.get_closest_marker("kernel")
            or clock in (None, VIRTUAL if isinstance(item, VirtualTwin) else REAL)
        ]


def _last_of_their_kind(items: list[pytest.Item], beside: list[pytest.Item]) -> None:
    """Put the tests of the second process behind those that run beside it here."""
    able = [place for place, item in enumerate(items) if any(map(item.get_closest_marker, SHARED_OUT))]
    apart = set(beside)
    ordered = [items[place] for place in able if items[place] not in apart] + beside
    for place, item in zip(able, ordered, strict=True):
        items[place] = item


def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    if config.option.collectonly:
        return
    kernel_items = [item for item in session.items if item.get_closest_marker("kernel")]
    twins = [item for item in kernel_items if isinstance(item, VirtualTwin)]
    others = [item for item in kernel_items if not isinstance(item, VirtualTwin)]
    guests: list[Callable[[], ProcessBeside]] = []
    if others and _kernel_tests_go_to_guest(config):
        guests.append(functools.partial(GuestRun.in_real_time, config, others))
    if twins and _missing("virtual") is None:
        guests.append(functools.partial(GuestRun.in_virtual_time, config, twins))
    before_guests = ["loopback"]
    starts = []
    if config.getoption("--second-process") and (beside := second_half(session.items)):
        _last_of_their_kind(session.items, beside)
        starts.append(StartLater(config, [functools.partial(SecondProcess, config, beside)], ["loopback"]))
        before_guests += SHARED_OUT
    for start in (*starts, StartLater(config, guests, before_guests)):
        start.where_due(session.items[0] if session.items else None)
        config.pluginmanager.register(start)


class StartLater:
    """Starts processes beside this one once the tests of some folders are over.

    Args:
        config: Of this run.
        starts: What starts them.
        after: The folders, which are run first.
    """

    def __init__(
        self, config: pytest.Config, starts: list[Callable[[], ProcessBeside]], after: Iterable[str]
    ) -> None:
        self._config = config
        self._starts = starts
        self._after = tuple(after)

    def where_due(self, next_item: pytest.Item | None) -> None:
        """Start them if a test follows and it is of no such folder."""
        if next_item is None or any(map(next_item.get_closest_marker, self._after)):
            return
        while self._starts:
            self._config.pluginmanager.register(self._starts.pop()())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        outcome = yield
        self.where_due(nextitem)
        return outcome


def _this_kernel_alone(config: pytest.Config) -> bool:
    return config.getoption("--on") == "host" or bool(os.environ.get("NETLAB_GUEST"))


def _kernel_tests_go_to_guest(config: pytest.Config) -> bool:
    if _this_kernel_alone(config):
        return False
    if config.getoption("--on") == "guest":
        return True
    from netlab.host_survey import host_netem_problem

    return host_netem_problem() is not None


def pytest_runtest_setup(item: pytest.Item) -> None:
    if (reason := wrong_clock(item)) is not None:
        pytest.skip(reason)
    needs = ("virtual",) if isinstance(item, VirtualTwin) else ("lab", "kernel", "guest")
    for need in needs:
        if item.get_closest_marker(need):
            problem = _missing(need)
            if problem:
                if need in os.environ.get("NETLAB_REQUIRE", "").split(","):
                    pytest.fail(f"NETLAB_REQUIRE asks for {need}: {problem}", pytrace=False)
                pytest.skip(problem)


def _missing(folder: str) -> str | None:
    """Say what this machine lacks for a folder's tests, or for those in virtual time; None where nothing."""
    if folder == "virtual":
        from netlab.namespaces.guest.installed import time_travel_kernel

        found = time_travel_kernel()
        return None if found else "no guest kernel with virtual time has been built: netlab guest build"
    if folder == "guest":
        if os.environ.get("NETLAB_GUEST"):
            return "already inside a guest: guests are started from outside"
        return None if platform.machine() == "x86_64" else "guest kernels are for x86-64 alone"
    if os.geteuid() != 0:
        return "not root: namespaces need root"
    if folder == "kernel":
        from netlab.host_survey import host_netem_problem

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
    """Fail a complete run in which fewer kernel tests passed, by either clock, than the committed minimum."""
    config = session.config
    if config.option.collectonly or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return  # part of the tests, or inside the guest
    required = os.environ.get("NETLAB_REQUIRE", "").split(",")
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    passed = passed_by_clock(
        [report.nodeid for report in reporter.stats.get("passed", []) if report.nodeid.startswith("tests/kernel/")]
    )
    minimum = read_minimum(MINIMUM_FILE)
    for clock, need in ((REAL, "kernel"), (VIRTUAL, "virtual")):
        if need in required and passed[clock] < minimum[clock]:
            reporter.write_line(
                f"only {passed[clock]} kernel tests passed in {clock} time; {MINIMUM_FILE.name} asks for "
                f"{minimum[clock]}",
                red=True,
            )
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
