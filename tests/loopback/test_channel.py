"""The contract of every channel and of the listener behind it: one suite, run over UDP and TCP."""

from __future__ import annotations

import os
import resource
import select
import threading
import time
from collections.abc import Iterator

import pytest
from channel_pair import KEY, PATIENCE_S, Clock, Remote, receive_all
from wire_messages import EVERY_MESSAGE, WELCOME, make_action, make_hello, make_observation

from netlab.errors import (
    AuthError,
    ConnectionLost,
    KernelError,
    LocalProtocolError,
    RemoteProtocolError,
    SpecError,
)
from netlab.messages import Goodbye, Heartbeat, Hello, Message, Observation, Welcome
from netlab.wire.address import Address
from netlab.wire.channel import Channel, Received, Transport
from netlab.wire.dialer import Dialer, dial
from netlab.wire.key import Key
from netlab.wire.listener import Listener
from netlab.wire.pulse import Timing
from netlab.wire.session import Opened, Session
from netlab.wire.statistics import Rejection


@pytest.fixture(params=["datagram", "stream"])
def transport(request: pytest.FixtureRequest) -> Transport:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def remote(transport: Transport, clock: Clock) -> Iterator[Remote]:
    remote = Remote(transport, clock, timing=Timing(heartbeat_s=0.5, silence_s=3.0))
    with remote.listener:
        yield remote


@pytest.fixture
def pair(remote: Remote) -> Iterator[tuple[Channel, Session]]:
    channel, session = remote.connect()
    yield channel, session
    channel.close()


def test_the_hello_and_the_welcome_arrive(remote: Remote) -> None:
    dialer = remote.dialer(run=77)
    channel = remote.complete(dialer)
    assert dialer.welcome == WELCOME
    assert remote.opened[0].hello == make_hello(run=77)
    assert remote.listener.sessions == remote.opened
    channel.close()


@pytest.mark.parametrize(
    "message",
    [message for message in EVERY_MESSAGE if not isinstance(message, Goodbye | Heartbeat | Hello | Welcome)],
    ids=lambda message: type(message).__name__,
)
def test_messages_pass_both_ways(remote: Remote, pair: tuple[Channel, Session], message: Message) -> None:
    channel, session = pair
    assert channel.send(message)
    remote.until(lambda: remote.messages == [message])
    assert session.send(message)
    assert receive_all(channel, 1) == [message]


def test_order_is_kept_on_loopback_and_all_is_counted(remote: Remote, pair: tuple[Channel, Session]) -> None:
    channel, session = pair
    sent = [make_observation(tick) for tick in range(50)]
    for message in sent:
        assert channel.send(message)
    remote.until(lambda: len(remote.messages) == 50)
    assert remote.messages == sent
    for tick in range(50):
        assert session.send(make_action(tick))
    assert receive_all(channel, 50) == [make_action(tick) for tick in range(50)]
    assert channel.statistics.frames_sent == 50
    assert channel.statistics.frames_received == 51  # the welcome too
    assert session.statistics.frames_received == 50
    assert channel.statistics.bytes_received > 50 * 33
    assert channel.statistics.as_dict()["rejected"] == {}


def test_receive_does_not_wait_unless_asked(pair: tuple[Channel, Session]) -> None:
    channel, _ = pair
    took_s = []
    for _ in range(100):
        before = time.monotonic()
        assert channel.receive() == []
        took_s.append(time.monotonic() - before)
    assert min(took_s) < 0.001  # the best of 100: a busy machine makes others late
    before = time.monotonic()
    assert channel.receive(0.03) == []
    assert 0.029 <= time.monotonic() - before < PATIENCE_S


def test_receive_wakes_on_arrival(remote: Remote, pair: tuple[Channel, Session]) -> None:
    channel, session = pair
    session.send(make_action(1))
    before = time.monotonic()
    assert [received.message for received in channel.receive(PATIENCE_S)] == [make_action(1)]
    assert time.monotonic() - before < PATIENCE_S / 2


def test_descriptor_is_readable_when_something_is_there(remote: Remote, pair: tuple[Channel, Session]) -> None:
    channel, session = pair
    assert select.select([channel], [], [], 0.0)[0] == []
    session.send(make_action(1))
    assert select.select([channel], [], [], PATIENCE_S)[0] == [channel]
    channel.send(make_observation(1))
    assert select.select([remote.listener], [], [], PATIENCE_S)[0] == [remote.listener]


def test_arrival_is_stamped_by_the_channels_clock(
    remote: Remote, pair: tuple[Channel, Session], clock: Clock
) -> None:
    channel, session = pair
    clock.now_s = 1234.5
    session.send(make_action(1))
    channel.send(make_observation(1))
    (received,) = channel.receive(PATIENCE_S)
    assert received.arrival_s == 1234.5
    assert received.session is None
    event = next(event for event in remote.serve(PATIENCE_S) if isinstance(event, Received))
    assert event.arrival_s == 1234.5
    assert event.session is session


def test_large_messages(remote: Remote, pair: tuple[Channel, Session], transport: Transport) -> None:
    channel, session = pair
    size = 59_000 if transport == "datagram" else 1_000_000
    message = make_observation(payload=bytes(size))

    def pump() -> bool:
        channel.receive()
        return remote.messages == [message]

    assert channel.send(message)
    remote.until(pump)
    session.send(message)
    messages: list[Message] = []

    def pump_back() -> bool:
        messages.extend(received.message for received in channel.receive())
        return messages == [message]

    remote.until(pump_back)


def test_message_too_large_is_our_bug_and_leaves_the_channel_alive(
    remote: Remote, pair: tuple[Channel, Session], transport: Transport
) -> None:
    channel, session = pair
    message = make_observation(payload=bytes(60_000 if transport == "datagram" else 1 << 20))
    for sender in (channel, session):
        with pytest.raises(LocalProtocolError, match="bytes"):
            sender.send(message)
    assert channel.send(make_observation(1))
    remote.until(lambda: bool(remote.messages))


def test_goodbye_of_the_edge_closes_the_session_with_its_reason(
    remote: Remote, pair: tuple[Channel, Session]
) -> None:
    channel, session = pair
    channel.close("the episode is over")
    channel.close()
    remote.until(lambda: bool(remote.closed))
    assert remote.closed[0].session is session
    assert "the episode is over" in remote.closed[0].reason
    assert remote.listener.sessions == []
    assert session.is_closed
    assert not session.send(make_action(1))
    assert session.statistics.send_dropped == 1


def test_goodbye_of_the_remote_is_a_message_and_then_a_loss(pair: tuple[Channel, Session]) -> None:
    channel, session = pair
    session.send(make_action(1))
    session.close("going home")
    session.close()
    messages = receive_all(channel, 2)
    assert messages == [make_action(1), Goodbye(reason="going home")]
    with pytest.raises(ConnectionLost, match="going home"):
        channel.receive()
    assert not channel.send(make_observation(1))
    assert channel.statistics.send_dropped == 1


def test_closed_channel_is_our_bug(pair: tuple[Channel, Session]) -> None:
    channel, _ = pair
    channel.close()
    assert channel.fileno() == -1
    with pytest.raises(LocalProtocolError, match="closed"):
        channel.send(make_observation(1))
    with pytest.raises(LocalProtocolError, match="closed"):
        channel.receive()
    with pytest.raises(LocalProtocolError, match="closed"):
        channel.receive(0.01)


def test_closing_the_listener_tells_every_edge(remote: Remote) -> None:
    channels = [remote.connect(run)[0] for run in range(3)]
    remote.listener.close("maintenance")
    remote.listener.close()
    for channel in channels:
        assert receive_all(channel, 1) == [Goodbye(reason="maintenance")]
        channel.close()
    with pytest.raises(LocalProtocolError):
        remote.listener.poll()


def test_heartbeats_keep_an_idle_session_alive(
    remote: Remote, pair: tuple[Channel, Session], clock: Clock
) -> None:
    """20 s without a word, in steps of 0.3 s: nobody is lost and no heartbeat is shown."""
    channel, session = pair
    for _ in range(66):
        clock.now_s += 0.3
        # The bytes are on loopback already; wait for the kernel, not for the clock.
        assert channel.receive(0.002) == []
        remote.serve(0.002)
    assert remote.closed == []
    assert remote.messages == []
    assert session.statistics.frames_received >= 20
    assert channel.statistics.frames_received >= 20


def test_silent_remote_is_lost_at_the_deadline(pair: tuple[Channel, Session], clock: Clock) -> None:
    """The remote is there and does not answer: nobody polls its listener."""
    channel, _ = pair
    clock.now_s += 2.9
    assert channel.receive() == []
    clock.now_s += 0.2
    with pytest.raises(ConnectionLost, match=r"silent for 3\.1 s") as caught:
        channel.receive()
    assert "dial again" in caught.value.hint
    assert not channel.send(make_observation(1))


def test_silent_edge_is_closed_at_the_deadline(
    remote: Remote, pair: tuple[Channel, Session], clock: Clock
) -> None:
    _, session = pair
    clock.now_s += 2.9
    remote.serve()
    assert remote.closed == []
    clock.now_s += 0.5
    remote.serve()
    assert [closed.session for closed in remote.closed] == [session]
    assert "silent" in remote.closed[0].reason
    assert remote.listener.sessions == []


def test_many_edges_at_once_are_kept_apart(remote: Remote) -> None:
    pairs = [remote.connect(run) for run in range(8)]
    for i, (channel, _) in enumerate(pairs):
        channel.send(make_observation(i))
    remote.until(lambda: len(remote.messages) == 8)
    for i, (_, session) in enumerate(pairs):
        session.send(make_action(i))
    for i, (channel, _) in enumerate(pairs):
        assert receive_all(channel, 1) == [make_action(i)]
        channel.close()


def test_sessions_are_bounded_and_the_next_edge_is_told(remote: Remote) -> None:
    channels = [remote.connect(run)[0] for run in range(8)]
    dialer = remote.dialer(run=99)
    remote.until(lambda: dialer.poll() is None and dialer.last_error is not None)
    assert "8 edges" in str(dialer.last_error)
    assert remote.listener.statistics.rejected[Rejection.CROWDED] == 1
    channels.pop().close()
    remote.until(lambda: len(remote.listener.sessions) == 7)
    assert isinstance(remote.clock, Clock)
    remote.clock.now_s += 2.0
    remote.complete(dialer).close()
    for channel in channels:
        channel.close()


def test_an_edge_that_dials_again_replaces_its_old_session(remote: Remote) -> None:
    """Its router has forgotten it, its loop has given up: the same run comes back before the old one is silent."""
    old_channel, old_session = remote.connect(run=5)
    new_channel, new_session = remote.connect(run=5)
    assert old_session.is_closed
    assert [closed.session for closed in remote.closed] == [old_session]
    assert remote.listener.sessions == [new_session]
    old_channel.close()
    new_channel.close()


def test_a_refused_edge_is_told_why_and_does_not_try_again(remote: Remote) -> None:
    remote.welcomes = False
    dialer = remote.dialer()
    remote.until(lambda: dialer.poll() is None and bool(remote.opened))
    remote.opened[0].close("I know no task of that name", refused=True)
    error = remote.error_of(dialer)
    assert isinstance(error, RemoteProtocolError)
    assert "I know no task of that name" in str(error)
    assert error.hint


def test_wrong_key_is_an_auth_error_on_both_sides(remote: Remote) -> None:
    error = remote.error_of(remote.dialer(key=Key.new()))
    assert isinstance(error, AuthError)
    assert "same key" in error.hint
    assert isinstance(remote.refused[0].error, AuthError)
    assert "same key" in remote.refused[0].error.hint
    assert remote.listener.statistics.rejected[Rejection.AUTH] >= 1
    assert remote.opened == []


def test_other_version_is_named(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    from netlab.wire import key_agreement

    dialer = remote.dialer()
    build = key_agreement.build_ask
    monkeypatch.setattr(key_agreement, "build_ask", lambda secret, share, version=7: build(secret, share, 7))
    error = remote.error_of(dialer)
    assert isinstance(error, RemoteProtocolError)
    assert "same netlab" in error.hint
    assert isinstance(remote.refused[0].error, RemoteProtocolError)
    assert "version 7" in str(remote.refused[0].error)
    assert "version 2" in str(remote.refused[0].error)
    assert remote.listener.statistics.rejected[Rejection.VERSION] >= 1


def test_loopback_needs_no_key(transport: Transport, clock: Clock) -> None:
    remote = Remote(transport, clock, key=None)
    with remote.listener:
        channel, _ = remote.connect()
        channel.send(make_observation(1))
        remote.until(lambda: remote.messages == [make_observation(1)])
        channel.close()


def test_bind_and_dial_off_loopback_need_a_key(transport: Transport) -> None:
    with pytest.raises(AuthError, match=r"refuse to listen on 0\.0\.0\.0:0") as caught:
        Listener(("0.0.0.0", 0), None, transport)
    assert "netlab key new" in caught.value.hint
    with pytest.raises(AuthError, match="refuse to dial"):
        Dialer(("192.0.2.1", 1), None, make_hello(), transport)
    with Listener(("0.0.0.0", 0), KEY, transport) as listener:
        assert listener.address.port > 0


def test_taken_port_is_named(transport: Transport) -> None:
    with (
        Listener(("127.0.0.1", 0), KEY, transport) as listener,
        pytest.raises(KernelError, match=str(listener.address)) as caught,
    ):
        Listener(listener.address, KEY, transport)
    assert "another port" in caught.value.hint


def test_address_this_host_lacks_is_named(transport: Transport) -> None:
    with pytest.raises(KernelError, match=r"192\.0\.2\.1") as caught:
        Listener(("192.0.2.1", 0), KEY, transport)
    assert caught.value.hint


def test_unknown_transport_is_refused() -> None:
    with pytest.raises(SpecError, match="pigeon"):
        Listener(("127.0.0.1", 0), KEY, "pigeon")  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="pigeon"):
        Dialer(("127.0.0.1", 0), KEY, make_hello(), "pigeon")  # type: ignore[arg-type]


def test_ipv6_loopback(transport: Transport) -> None:
    try:
        listener = Listener(("::1", 0), KEY, transport)
    except KernelError as error:
        pytest.skip(f"no IPv6 here: {error}")
    with listener:
        dialer = Dialer(listener.address, KEY, make_hello(), transport)
        deadline_s = time.monotonic() + PATIENCE_S
        while (channel := dialer.poll()) is None:
            assert time.monotonic() < deadline_s
            for event in listener.poll(0.01):
                if isinstance(event, Opened):
                    event.session.send(WELCOME)
        assert str(listener.address).startswith("[::1]:")
        channel.close()


def serve_in_thread(listener: Listener, stop: threading.Event) -> threading.Thread:
    def serve() -> None:
        while not stop.is_set():
            for event in listener.poll(0.02):
                if isinstance(event, Opened):
                    event.session.send(WELCOME)
                elif isinstance(event, Received) and isinstance(event.message, Observation):
                    assert event.session is not None
                    event.session.send(make_action(event.message.tick))

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def test_dial_waits_for_the_welcome(transport: Transport) -> None:
    stop = threading.Event()
    with Listener(("127.0.0.1", 0), KEY, transport) as listener:
        thread = serve_in_thread(listener, stop)
        try:
            channel, welcome = dial(listener.address, KEY, make_hello(), transport, PATIENCE_S)
            assert welcome == WELCOME
            for tick in range(20):
                channel.send(make_observation(tick))
                assert receive_all(channel, 1) == [make_action(tick)]
            channel.close()
        finally:
            stop.set()
            thread.join()


def test_dial_says_that_nobody_is_there(transport: Transport) -> None:
    with Listener(("127.0.0.1", 0), KEY, transport) as listener:
        address = listener.address
    before = time.monotonic()
    with pytest.raises(ConnectionLost, match=str(address)) as caught:
        dial(address, KEY, make_hello(), transport, timeout_s=0.3)
    assert 0.3 <= time.monotonic() - before < PATIENCE_S
    assert "running" in caught.value.hint
    assert "0.3 s" in str(caught.value)


def test_dial_of_one_who_never_answers(transport: Transport) -> None:
    """A listener that nobody polls: the kernel takes the packets, no one reads them."""
    with (
        Listener(("127.0.0.1", 0), KEY, transport) as listener,
        pytest.raises(ConnectionLost, match="nobody answers"),
    ):
        dial(listener.address, KEY, make_hello(), transport, timeout_s=0.2)


def test_a_dial_that_is_not_answered_is_begun_anew(transport: Transport, clock: Clock) -> None:
    """Each attempt has a one-time share of its own and ends after ``attempt_s``."""
    timing = Timing(attempt_s=2.0)
    with (
        Listener(("127.0.0.1", 0), KEY, transport) as listener,
        Dialer(listener.address, KEY, make_hello(), transport, timing=timing, clock=clock) as dialer,
    ):
        asks = set()
        while dialer.attempts < 4:
            assert dialer.poll() is None
            if dialer._attempt is not None:
                asks.add(dialer._attempt._initiator.request)
            clock.now_s += 0.05
            assert clock.now_s < 1030.0
        assert len(asks) >= 3
        assert "nobody answers" in str(dialer.last_error)
        assert "2 s" in str(dialer.last_error)


def test_many_open_files_do_not_matter(transport: Transport, clock: Clock) -> None:
    """A descriptor beyond 1023 is beyond select."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[1] < 1200:
        pytest.skip(f"this host allows {limits[1]} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], 1200), limits[1]))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1030)]
    try:
        remote = Remote(transport, clock)
        with remote.listener:
            channel, session = remote.connect()
            assert channel.fileno() > 1023
            assert channel.receive(0.002) == []
            session.send(make_action(1))
            assert receive_all(channel, 1) == [make_action(1)]
            channel.close()
    finally:
        for fd in held:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_dialer_serves_an_edge_for_life(remote: Remote, clock: Clock) -> None:
    """Lost, dialled again, lost again: the same dialer, a new session each time."""
    dialer = remote.dialer(run=3)
    for _ in range(3):
        channel = remote.complete(dialer)
        remote.opened[-1].close("try again")
        receive_all(channel, 1)
        with pytest.raises(ConnectionLost):
            channel.receive()
        channel.close()
        clock.now_s += 10.0
    assert len({session.id for session in remote.opened}) == 3
    assert dialer.attempts == 3


def test_listener_address_says_where() -> None:
    with Listener(("localhost", 0)) as listener:
        assert isinstance(listener.address, Address)
        assert listener.address.port > 0
