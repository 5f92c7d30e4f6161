"""A lab that has not been seen to go is not said to be gone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import netlab.holder.departure
from netlab.errors import KernelError, LabError
from netlab.holder.departure import Departure
from netlab.namespaces.node import Node


class FakeWatcher:
    """A watching namespace whose far ends stay for some looks."""

    def __init__(self, looks: float) -> None:
        self._looks = looks
        self.routes = self
        self.closed = False

    def add_veth(self, *names: object, peer_netns_fd: int) -> None:
        pass

    def links(self) -> list[Any]:
        self._looks -= 1
        return [SimpleNamespace(kind="veth")] if self._looks >= 0 else []

    def __enter__(self) -> FakeWatcher:
        return self

    def __exit__(self, *error: object) -> None:
        self.closed = True


def a_lab() -> Any:
    node = SimpleNamespace(namespace=SimpleNamespace(fd=3))
    return SimpleNamespace(hosts={"a": SimpleNamespace(name="a", node=node)})


@pytest.mark.parametrize("looks", [3, float("inf")], ids=["gone", "stuck"])
def test_it_waits_and_says_when_it_has_waited_in_vain(looks: float, monkeypatch: pytest.MonkeyPatch) -> None:
    watcher = FakeWatcher(looks)
    monkeypatch.setattr(Node, "open", lambda name: watcher)
    monkeypatch.setattr(netlab.holder.departure, "_GONE_WITHIN_S", 0.05 if looks > 3 else 60.0)
    departure = Departure(a_lab())
    departure.begin()
    if looks > 3:
        with pytest.raises(LabError, match="are still there"):
            departure.wait()
    else:
        departure.wait()
    assert watcher.closed


def test_a_departure_that_nobody_watches_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise KernelError("make a namespace", 12)

    monkeypatch.setattr(Node, "open", fail)
    departure = Departure(a_lab())
    with pytest.raises(LabError, match="nobody sees"):
        departure.begin()
    departure.wait()
