"""Looking a name up again without waiting for it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from netlab.wire.address import Address
from netlab.wire.lookup import Lookup


class Resolver:
    """Answers when the test lets it."""

    def __init__(self) -> None:
        self.hosts = ["10.0.0.1"]
        self.may_answer = threading.Event()
        self.asked = 0

    def __call__(self, host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        self.asked += 1
        assert self.may_answer.wait(10.0)
        if not self.hosts:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure")
        return [(socket.AF_INET, socket.SOCK_DGRAM, 17, "", (found, port)) for found in self.hosts]


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolver]:
    resolver = Resolver()
    resolver.may_answer.set()
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    yield resolver
    resolver.may_answer.set()


def hosts_after(lookup: Lookup) -> list[object]:
    assert lookup._thread is not None
    lookup._thread.join(10.0)
    return [endpoint.numeric[0] for endpoint in lookup.take()]


def test_a_refresh_waits_for_nobody_and_is_taken_once(resolver: Resolver) -> None:
    lookup = Lookup(Address("robot.local", 7), socket.SOCK_DGRAM)
    resolver.hosts = ["10.0.0.2", "10.0.0.3"]
    resolver.may_answer.clear()
    lookup.refresh()
    lookup.refresh()
    assert lookup.take() == (), "the resolver has not answered"
    resolver.may_answer.set()
    assert hosts_after(lookup) == ["10.0.0.2", "10.0.0.3"]
    assert lookup.take() == ()
    assert resolver.asked == 2, "one look at a time"


def test_a_name_that_is_gone_for_a_while_is_no_news(resolver: Resolver) -> None:
    lookup = Lookup(Address("robot.local", 7), socket.SOCK_DGRAM)
    resolver.hosts = []
    lookup.refresh()
    assert hosts_after(lookup) == []
    resolver.hosts = ["10.0.0.9"]
    lookup.refresh()
    assert hosts_after(lookup) == ["10.0.0.9"]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "fe80::1%lo"])
def test_a_number_is_never_looked_up_again(resolver: Resolver, host: str) -> None:
    lookup = Lookup(Address(host, 7), socket.SOCK_DGRAM)
    lookup.refresh()
    assert lookup._thread is None
    assert resolver.asked == 1
