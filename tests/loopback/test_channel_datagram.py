"""What only datagrams meet: loss, repetition, forged addresses, floods, a peer that has moved or restarted."""

from __future__ import annotations

import random
import socket
import tracemalloc
from collections.abc import Iterator

import pytest
from channel_pair import KEY, Clock, Remote, receive_all
from wire_messages import make_action, make_hello, make_observation

from netlab.errors import AuthError, ConnectionLost, LocalProtocolError
from netlab.messages import PROTOCOL_VERSION, Welcome
from netlab.wire.codec import encode
from netlab.wire.datagram import MAX_DATAGRAM_BYTES, DatagramChannel
from netlab.wire.dialer import Dialer
from netlab.wire.handshake import Initiator
from netlab.wire.key_agreement import MIN_PROOF_BYTES, Refusal, build_refusal, build_unknown
from netlab.wire.listener import Listener
from netlab.wire.pulse import Timing
from netlab.wire.seal import Sealer
from netlab.wire.session import Session
from netlab.wire.statistics import Rejection


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def remote(clock: Clock) -> Iterator[Remote]:
    remote = Remote("datagram", clock, timing=Timing(heartbeat_s=0.5, silence_s=3.0))
    with remote.listener:
        yield remote


@pytest.fixture
def pair(remote: Remote) -> Iterator[tuple[DatagramChannel, Session]]:
    channel, session = remote.connect()
    assert isinstance(channel, DatagramChannel)
    yield channel, session
    channel.close()


@pytest.fixture
def stranger(remote: Remote) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(remote.listener.address)
        sock.settimeout(0.5)
        yield sock


def test_replayed_frames_are_counted_and_shown_to_nobody(
    remote: Remote, pair: tuple[DatagramChannel, Session], stranger: socket.socket
) -> None:
    channel, session = pair
    frame = channel._seal(encode(make_observation(1)))
    for _ in range(5):
        stranger.send(frame)
    remote.until(lambda: session.statistics.rejected[Rejection.REPLAY] == 4)
    assert remote.messages == [make_observation(1)]


def test_truncated_and_flipped_frames_are_counted(
    remote: Remote, pair: tuple[DatagramChannel, Session], stranger: socket.socket
) -> None:
    channel, session = pair
    frame = channel._seal(encode(make_observation(1)))
    stranger.send(frame[:-1])
    stranger.send(frame[:40] + bytes((frame[40] ^ 1,)) + frame[41:])
    remote.until(lambda: session.statistics.rejected[Rejection.AUTH] == 2)
    stranger.send(frame[:20])
    remote.until(lambda: remote.listener.statistics.rejected[Rejection.MALFORMED] == 1)
    stranger.send(frame)
    remote.until(lambda: remote.messages == [make_observation(1)])


def test_sealed_nonsense_is_counted_not_raised(
    remote: Remote, pair: tuple[DatagramChannel, Session], stranger: socket.socket
) -> None:
    """A peer with the right key can still be broken."""
    channel, session = pair
    stranger.send(channel._seal(b"nonsense"))
    remote.until(lambda: session.statistics.rejected[Rejection.MALFORMED] == 1)
    assert isinstance(session._seal, object)
    remote.listener._port.send_frame(session, session._seal(b"nonsense"))  # type: ignore[attr-defined]
    assert channel.receive(0.5) == []
    assert channel.statistics.rejected == {Rejection.MALFORMED: 1}


def test_frames_that_overtake_are_taken(remote: Remote, pair: tuple[DatagramChannel, Session]) -> None:
    channel, _ = pair
    frames = [channel._seal(encode(make_observation(tick))) for tick in range(10)]
    for frame in reversed(frames):
        channel._socket.send(frame)
    remote.until(lambda: len(remote.messages) == 10)
    assert remote.messages == [make_observation(tick) for tick in reversed(range(10))]


def test_oversize_datagrams_are_counted(
    remote: Remote, pair: tuple[DatagramChannel, Session], stranger: socket.socket
) -> None:
    channel, _ = pair
    stranger.send(bytes((4,)) + bytes(MAX_DATAGRAM_BYTES + 100))
    remote.until(lambda: remote.listener.statistics.rejected[Rejection.OVERSIZE] == 1)
    host, port = channel._socket.getsockname()
    remote.listener._port._socket.sendto(bytes(MAX_DATAGRAM_BYTES + 1), (host, port))  # type: ignore[attr-defined]
    assert channel.receive(0.5) == []
    assert channel.statistics.rejected == {Rejection.OVERSIZE: 1}


def test_empty_datagram_is_harmless(remote: Remote, stranger: socket.socket) -> None:
    stranger.send(b"")
    remote.until(lambda: remote.listener.statistics.rejected[Rejection.MALFORMED] == 1)


def test_session_follows_an_edge_whose_address_changes(
    remote: Remote, pair: tuple[DatagramChannel, Session], stranger: socket.socket
) -> None:
    """A router that gives the edge another port: the next new frame from there moves the session."""
    channel, session = pair
    before = session.address
    old = channel._seal(encode(make_observation(1)))
    new = channel._seal(encode(make_observation(2)))
    stranger.send(new)
    remote.until(lambda: remote.messages == [make_observation(2)])
    assert session.address == stranger.getsockname() != before
    session.send(make_action(2))
    assert len(stranger.recv(1000)) > 33
    # An older frame from elsewhere is taken as a message and moves nothing.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as third:
        third.connect(remote.listener.address)
        third.send(old)
        remote.until(lambda: len(remote.messages) == 2)
        assert session.address == stranger.getsockname()
        # A replay moves nothing either.
        third.send(new)
        remote.until(lambda: session.statistics.rejected[Rejection.REPLAY] == 1)
        assert session.address == stranger.getsockname()
    # The true edge speaks again from its old place.
    channel.send(make_observation(3))
    remote.until(lambda: len(remote.messages) == 3)
    assert session.address == before


def test_a_restarted_listener_is_noticed_before_the_silence_ends(clock: Clock) -> None:
    timing = Timing(heartbeat_s=0.5, silence_s=30.0)
    first = Remote("datagram", clock, timing=timing)
    channel, _ = first.connect()
    address = first.listener.address
    first.listener._port.close()  # killed: no goodbye
    assert isinstance(channel, DatagramChannel)
    second = Remote("datagram", clock, timing=timing)
    second.listener.close()
    second.listener = Listener(address, KEY, "datagram", timing=timing, clock=clock)
    with second.listener:
        channel.send(make_observation(1))
        second.until(lambda: second.listener.statistics.rejected[Rejection.UNKNOWN] == 1)
        assert channel.receive(0.5) == []
        clock.now_s += 1.1
        with pytest.raises(ConnectionLost, match="no longer knows this session"):
            channel.receive()
    channel.close()


def test_a_killed_remote_is_noticed_by_its_closed_port(clock: Clock) -> None:
    remote = Remote("datagram", clock, timing=Timing(heartbeat_s=0.5, silence_s=30.0))
    channel, _ = remote.connect()
    remote.listener._port.close()
    channel.send(make_observation(1))
    assert channel.receive() == []
    assert channel.statistics.refused_by_port >= 1
    clock.now_s += 1.1
    with pytest.raises(ConnectionLost, match="cannot be reached"):
        channel.receive()
    channel.close()


def test_forged_hint_does_not_end_a_session_that_is_heard(
    remote: Remote, pair: tuple[DatagramChannel, Session], clock: Clock
) -> None:
    channel, session = pair
    to_edge = channel._socket.getsockname()
    for _ in range(10):
        remote.listener._port._socket.sendto(build_unknown(session.id), to_edge)  # type: ignore[attr-defined]
        session.send(make_action(1))
        receive_all(channel, 1)
        clock.now_s += 0.4
        channel.receive()
        remote.serve()
    assert not channel.statistics.rejected


def test_repeated_proof_brings_the_lost_welcome_again(remote: Remote, stranger: socket.socket) -> None:
    """The welcome is lost: the edge repeats its proof and gets the same sealed bytes, no second session."""
    initiator = Initiator(KEY, make_hello())
    stranger.send(initiator.request)
    remote.serve(0.5)
    assert initiator.receive(stranger.recv(2000))
    welcomes = []
    for _ in range(3):
        stranger.send(initiator.request)
        remote.serve(0.1)
        welcomes.append(stranger.recv(2000))
    assert len(set(welcomes)) == 1
    assert len(welcomes[0]) <= len(initiator.request)
    assert len(remote.opened) == 1


def test_welcome_too_large_to_be_an_answer_is_our_bug(remote: Remote) -> None:
    remote.welcomes = False
    dialer = remote.dialer()
    remote.until(lambda: dialer.poll() is None and bool(remote.opened))
    welcome = Welcome(protocol=PROTOCOL_VERSION, version="\U0001f600" * 200, policy="\U0001f600" * 200)
    with pytest.raises(LocalProtocolError, match=str(MIN_PROOF_BYTES)):
        remote.opened[0].send(welcome)
    dialer.close()


def test_one_forged_refusal_does_not_end_a_dial(remote: Remote, clock: Clock) -> None:
    dialer = remote.dialer()
    assert dialer.poll() is None  # the ask is under way
    attempt = dialer._attempt
    assert attempt is not None
    share = attempt._initiator.request[9:41]
    forged = build_refusal(Refusal.WRONG_KEY, share)
    remote.listener._port._socket.sendto(forged, attempt._socket.getsockname())  # type: ignore[attr-defined]
    channel = remote.complete(dialer)
    channel.close()


def test_refusals_are_believed_when_they_persist(remote: Remote, clock: Clock) -> None:
    before_s = clock.now_s
    error = remote.error_of(remote.dialer(key=type(KEY).new()))
    assert isinstance(error, AuthError)
    assert 0.2 <= clock.now_s - before_s < 2.0


class LossyRelay:
    """Sits between one edge and a listener; loses, repeats and reorders by a seeded die."""

    def __init__(self, remote: Remote, seed: int, loss: float) -> None:
        self.remote = remote
        self.rng = random.Random(seed)
        self.loss = loss
        self.edge_side = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.edge_side.bind(("127.0.0.1", 0))
        self.far_side = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.far_side.connect(remote.listener.address)
        for sock in (self.edge_side, self.far_side):
            sock.setblocking(False)
        self.edge_address: object = None
        self.held: list[tuple[socket.socket, bytes]] = []

    def pump(self) -> None:
        for sock, out in ((self.edge_side, self.far_side), (self.far_side, self.edge_side)):
            while True:
                try:
                    packet, address = sock.recvfrom(65536)
                except OSError:
                    break
                if sock is self.edge_side:
                    self.edge_address = address
                for _ in range(1 + (self.rng.random() < 0.3)):
                    if self.rng.random() >= self.loss:
                        self.held.append((out, packet))
        self.rng.shuffle(self.held)
        for _ in range(self.rng.randrange(len(self.held) + 1)):
            out, packet = self.held.pop()
            if out is self.edge_side:
                out.sendto(packet, self.edge_address)  # type: ignore[arg-type]
            else:
                out.send(packet)

    def close(self) -> None:
        self.edge_side.close()
        self.far_side.close()


@pytest.mark.parametrize("seed", range(10))
def test_handshake_gets_through_a_network_that_loses_30_percent(remote: Remote, clock: Clock, seed: int) -> None:
    """Also repeats 30 % and reorders; 10 seeds, at most 60 s on the sessions' clock."""
    relay = LossyRelay(remote, seed, loss=0.3)
    dialer = Dialer(relay.edge_side.getsockname(), KEY, make_hello(), clock=clock, timing=remote.timing)
    begin_s = clock.now_s
    while (channel := dialer.poll()) is None:
        relay.pump()
        remote.serve(0.0005)
        relay.pump()
        clock.now_s += 0.02
        assert clock.now_s - begin_s < 60.0
    sent = 0
    while len(remote.messages) < 50:
        channel.send(make_observation(sent))
        sent += 1
        relay.pump()
        remote.serve(0.0005)
        clock.now_s += 0.02
        channel.receive()
        assert sent < 500
    assert len({message.tick for message in remote.messages}) == len(remote.messages)  # type: ignore[union-attr]
    channel.close()
    relay.close()


def test_flood_of_strangers_neither_grows_the_listener_nor_starves_its_edges(
    remote: Remote, pair: tuple[DatagramChannel, Session], stranger: socket.socket
) -> None:
    """n = 20,000 asks of strangers, each with a share of its own; an edge is served all the while."""
    channel, _ = pair
    stranger.setblocking(False)
    rng = random.Random(1)
    ask = bytearray(Initiator(type(KEY).new(), make_hello()).request)
    answered = 0
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for i in range(20_000):
        ask[9:41] = rng.randbytes(32)
        stranger.send(ask)
        if i % 100 == 0:
            channel.send(make_observation(i))
            remote.until(lambda: len(remote.messages) > answered)  # noqa: B023 - called at once
            answered += 1
            while _drain_one(stranger):
                pass
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert answered == 200
    assert len(remote.listener.sessions) == 1
    assert remote.listener.statistics.rejected[Rejection.AUTH] > 10_000
    assert len(remote.refused) <= 1  # told once a second; the test's clock stands still
    assert grown < 500_000


def _drain_one(sock: socket.socket) -> bool:
    try:
        sock.recv(2000)
    except OSError:
        return False
    return True


def test_live_listener_under_100_000_random_and_mutated_datagrams(
    remote: Remote, pair: tuple[DatagramChannel, Session], stranger: socket.socket
) -> None:
    """n = 100,000, seed fixed: no crash, no session, no growth beyond 500 kB; the edge is still served."""
    channel, session = pair
    rng = random.Random(20260202)
    initiator = Initiator(KEY, make_hello(run=2))
    stranger.send(initiator.request)
    remote.serve(0.5)
    good = [initiator.request, stranger.recv(2000)]
    initiator.receive(good[1])
    good += [initiator.request, channel._seal(encode(make_observation(1))), build_unknown(session.id)]
    stranger.setblocking(False)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for i in range(100_000):
        if i % 3 == 0:
            packet = bytes((rng.randrange(8),)) + rng.randbytes(rng.randrange(0, 100))
        else:
            mutable = bytearray(rng.choice(good))
            mutable[rng.randrange(len(mutable))] ^= rng.randrange(1, 256)
            packet = bytes(mutable)
        stranger.send(packet)
        if i % 50 == 0:
            remote.serve()
            while _drain_one(stranger):
                pass
    while remote.serve():
        pass
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 500_000
    assert remote.listener.sessions == [session]
    assert remote.messages == []
    assert remote.listener.statistics.rejected.total() + session.statistics.rejected.total() == 100_000
    channel.send(make_observation(7))
    remote.until(lambda: remote.messages == [make_observation(7)])


def test_live_channel_under_20_000_forged_datagrams(remote: Remote, pair: tuple[DatagramChannel, Session]) -> None:
    """n = 20,000 that seem to come from the listener's own address."""
    channel, session = pair
    to_edge = channel._socket.getsockname()
    rng = random.Random(4)
    frame = session._seal(encode(make_action(1)))  # type: ignore[attr-defined]
    from_listener = remote.listener._port._socket  # type: ignore[attr-defined]
    for i in range(20_000):
        mutable = bytearray(frame)
        mutable[rng.randrange(len(mutable))] ^= rng.randrange(1, 256)
        from_listener.sendto(bytes(mutable[: rng.randrange(1, len(mutable) + 1)]), to_edge)
        if i % 50 == 0:
            assert channel.receive() == []
    assert channel.receive() == []
    assert channel.statistics.rejected.total() > 15_000
    session.send(make_action(9))
    assert receive_all(channel, 1) == [make_action(9)]


def test_used_up_key_loses_the_channel_and_a_new_dial_brings_a_new_one(
    remote: Remote, pair: tuple[DatagramChannel, Session]
) -> None:
    channel, session = pair
    channel._seal = Sealer(bytes(32), session.id, frame_limit=2).seal
    assert channel.send(make_observation(1))
    assert channel.send(make_observation(2))
    assert not channel.send(make_observation(3))
    with pytest.raises(ConnectionLost, match="sealed 2 frames"):
        channel.receive()
    again, _ = remote.connect(run=1)
    again.close()


def test_used_up_key_of_a_session_closes_it(
    remote: Remote, pair: tuple[DatagramChannel, Session], clock: Clock
) -> None:
    _, session = pair
    session._seal = Sealer(bytes(32), session.id, frame_limit=0).seal  # type: ignore[attr-defined]
    assert not session.send(make_action(1))
    clock.now_s += 0.3
    remote.until(lambda: bool(remote.closed))
    assert "sealed 0 frames" in remote.closed[0].reason
