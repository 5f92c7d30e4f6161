"""Dialling a host with several addresses, one whose address changes, and one that ends every session at once."""

from __future__ import annotations

import socket
from collections.abc import Callable
from itertools import pairwise

import pytest
from channel_pair import KEY, Clock, Remote, receive_all
from wire_messages import make_action, make_hello

from netlab.errors import AuthError, ConnectionLost
from netlab.wire.channel import Transport
from netlab.wire.dialer import LONGEST_PAUSE_S, STEADY_S, Dialer
from netlab.wire.key import Key
from netlab.wire.listener import Listener
from netlab.wire.pulse import Timing


@pytest.fixture(params=["datagram", "stream"])
def transport(request: pytest.FixtureRequest) -> Transport:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def clock() -> Clock:
    return Clock()


Answer = Callable[[str, int], list[tuple[object, ...]]]


def answer_with(*hosts: str) -> Answer:
    """A resolver for which every name has these addresses."""

    def answer(host: str, port: int, **options: object) -> list[tuple[object, ...]]:
        rows: list[tuple[object, ...]] = []
        for found in hosts:
            if ":" in found:
                rows.append((socket.AF_INET6, options["type"], 0, "", (found, port, 0, 0)))
            else:
                rows.append((socket.AF_INET, options["type"], 0, "", (found, port)))
        return rows

    return answer


def dial_by_name(remote: Remote, clock: Clock, key: Key | None = KEY, host: str = "robot.local") -> Dialer:
    port = remote.listener.address.port
    return Dialer((host, port), key, make_hello(), remote.transport, timing=remote.timing, clock=clock)


def poll_until(remote: Remote, clock: Clock, dialer: Dialer, step_s: float = 0.02) -> object:
    """Dial under the test's clock, which ticks with each look."""
    found: list[object] = []

    def has_channel() -> bool:
        clock.now_s += step_s
        channel = dialer.poll()
        if channel is not None:
            found.append(channel)
        return bool(found)

    remote.until(has_channel)
    return found[0]


# The first address of each: nobody listens; nobody listens, IPv6 or no IPv6 at all; there is no way to it.
@pytest.mark.parametrize("first", ["127.0.0.2", "::1", "255.255.255.255"])
def test_a_hosts_second_address_is_reached_when_the_first_does_not_answer(
    transport: Transport, clock: Clock, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = Remote(transport, clock, timing=Timing(attempt_s=5.0))
    with remote.listener:
        monkeypatch.setattr(socket, "getaddrinfo", answer_with(first, "127.0.0.1"))
        dialer = dial_by_name(remote, clock)
        began_s = clock.now_s
        channel = poll_until(remote, clock, dialer)
        assert clock.now_s - began_s < 5.0, "it did not wait a whole attempt's time for the first"
        assert dialer.attempts == 2
        remote.opened[-1].send(make_action(1))
        assert receive_all(channel, 1) == [make_action(1)]  # type: ignore[arg-type]
        channel.close()  # type: ignore[attr-defined]


def test_a_silent_first_address_costs_its_share_of_an_attempt(
    transport: Transport, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = Remote(transport, clock, timing=Timing(attempt_s=4.0))
    with remote.listener, Listener(("127.0.0.2", remote.listener.address.port), KEY, transport):
        monkeypatch.setattr(socket, "getaddrinfo", answer_with("127.0.0.2", "127.0.0.1"))
        dialer = dial_by_name(remote, clock)
        began_s = clock.now_s
        poll_until(remote, clock, dialer, step_s=0.05).close()  # type: ignore[attr-defined]
        assert 2.0 <= clock.now_s - began_s < 4.0


def test_a_host_that_comes_back_with_another_address_is_found(
    transport: Transport, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = Remote(transport, clock)
    with remote.listener:
        monkeypatch.setattr(socket, "getaddrinfo", answer_with("127.0.0.2"))
        dialer = dial_by_name(remote, clock)
        while dialer.attempts < 3:
            assert dialer.poll() is None
            clock.now_s += 0.05
        monkeypatch.setattr(socket, "getaddrinfo", answer_with("127.0.0.1"))
        poll_until(remote, clock, dialer, step_s=0.05).close()  # type: ignore[attr-defined]


def test_a_name_that_later_leads_off_loopback_is_not_dialled_without_a_key(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", answer_with("127.0.0.2"))
    with Dialer(("robot.local", 9), None, make_hello(), "stream", clock=clock) as dialer:
        monkeypatch.setattr(socket, "getaddrinfo", answer_with("192.0.2.1"))
        for _ in range(10_000):
            clock.now_s += 0.05
            try:
                assert dialer.poll() is None
            except AuthError:
                break
            thread = dialer._lookup._thread
            if thread is not None:
                thread.join(10.0)
        else:
            pytest.fail("it dialled on")


def test_a_listener_takes_the_first_address_that_this_host_has(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", answer_with("192.0.2.1", "127.0.0.1"))
    with Listener(("robot.local", 0), KEY, transport) as listener:
        assert listener.address.host == "127.0.0.1"


def handshakes(remote: Remote, clock: Clock, life_s: float, duration_s: float) -> list[float]:
    """Dial for a while a remote that ends each session after some time; return when sessions began."""
    dialer = remote.dialer()
    began: list[float] = []
    end_s = clock.now_s + duration_s
    while clock.now_s < end_s:
        channel = poll_until(remote, clock, dialer)
        began.append(clock.now_s)
        clock.now_s += life_s
        remote.opened[-1].close("the policy failed")
        receive_all(channel, 1)  # type: ignore[arg-type]
        with pytest.raises(ConnectionLost):
            channel.receive()  # type: ignore[attr-defined]
        channel.close()  # type: ignore[attr-defined]
    return began


def test_sessions_that_end_at_once_are_dialled_ever_more_slowly(transport: Transport, clock: Clock) -> None:
    remote = Remote(transport, clock)
    with remote.listener:
        began = handshakes(remote, clock, life_s=0.02, duration_s=60.0)
    assert began[1] - began[0] < 0.5, "one loss may be bad luck"
    assert 30 <= len(began) <= 70, "about one every 1 .. 2 s"
    assert began[-1] - began[-2] >= LONGEST_PAUSE_S / 2


def test_a_session_that_has_lived_is_dialled_again_at_once(transport: Transport, clock: Clock) -> None:
    remote = Remote(transport, clock)
    with remote.listener:
        began = handshakes(remote, clock, life_s=STEADY_S + 0.1, duration_s=60.0)
    pauses = [after - before - STEADY_S for before, after in pairwise(began)]
    assert max(pauses) < 1.0
