"""Kernel tests by two clocks: each runs in real time, and a twin of it in virtual time.

::

    test_x                       this kernel where it has netem, else a guest in real time
    test_x@virtual  (its twin)   a guest with time travel

    @pytest.mark.real_time(reason)      it has no twin: it is about real time itself
    @pytest.mark.virtual_time(reason)   it has nothing but its twin: it is exact there alone
"""

from __future__ import annotations

from pathlib import Path

import pytest

from netlab.clock_name import in_virtual_time

REAL, VIRTUAL = "real", "virtual"
TWIN_SUFFIX = "@virtual"


class VirtualTwin(pytest.Item):
    """Stands for a kernel test in virtual time; only the guest can run it.

    Attributes:
        twin_of: The test.
    """

    def __init__(self, *, twin_of: pytest.Item, **of_node: object) -> None:
        super().__init__(**of_node)  # type: ignore[arg-type]
        self.twin_of = twin_of
        self.add_marker("kernel")
        self.add_marker("virtual")

    def runtest(self) -> None:
        raise RuntimeError("a twin is run by the guest")

    def reportinfo(self) -> tuple[Path | str, int | None, str]:
        path, line, _ = self.twin_of.reportinfo()
        return str(path), line, self.name


def by_both_clocks(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the items with the twins of the kernel tests at the end, and without what has a twin alone."""
    twins = [
        VirtualTwin.from_parent(item.parent, name=item.name + TWIN_SUFFIX, twin_of=item)
        for item in items
        if item.get_closest_marker("kernel") and not item.get_closest_marker("real_time")
    ]
    return [item for item in items if not item.get_closest_marker("virtual_time")] + twins


def wrong_clock(item: pytest.Item) -> str | None:
    """Say why a test means nothing by the clock of this process; None where it does."""
    marker = item.get_closest_marker("real_time" if in_virtual_time() else "virtual_time")
    if marker is None or isinstance(item, VirtualTwin):
        return None
    (reason,) = marker.args
    return f"not in {VIRTUAL if in_virtual_time() else REAL} time: {reason}"


def passed_by_clock(nodeids: list[str]) -> dict[str, int]:
    """Return how many tests passed by each clock."""
    virtual = sum(nodeid.endswith(TWIN_SUFFIX) for nodeid in nodeids)
    return {REAL: len(nodeids) - virtual, VIRTUAL: virtual}


def read_minimum(path: Path) -> dict[str, int]:
    """Return the committed minimum by each clock; a line each: ``real 156``."""
    return {clock: int(number) for clock, number in (line.split() for line in path.read_text().splitlines())}
