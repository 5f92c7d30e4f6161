"""What only streams meet: connections that stall, lie about lengths, are cut, or never say a word."""

from __future__ import annotations

import random
import socket
import struct
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise

import pytest
from channel_pair import KEY, Clock, Remote, receive_all
from wire_messages import make_action, make_hello, make_observation

from netlab.errors import ConnectionLost
from netlab.wire.codec import encode
from netlab.wire.handshake import Initiator
from netlab.wire.pulse import Timing
from netlab.wire.seal import Sealer
from netlab.wire.sealed_stream import MAX_QUEUE_BYTES
from netlab.wire.session import Session
from netlab.wire.statistics import Rejection
from netlab.wire.stream import StreamChannel
from netlab.wire.stream_frames import MAX_STREAM_FRAME_BYTES, FrameReader, add_length
from netlab.wire.stream_port import MAX_STRANGERS


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def remote(clock: Clock) -> Iterator[Remote]:
    remote = Remote("stream", clock, timing=Timing(heartbeat_s=0.5, silence_s=3.0, attempt_s=5.0))
    with remote.listener:
        yield remote


@pytest.fixture
def pair(remote: Remote) -> Iterator[tuple[StreamChannel, Session]]:
    channel, session = remote.connect()
    assert isinstance(channel, StreamChannel)
    yield channel, session
    channel.close()


@pytest.fixture
def stranger(remote: Remote) -> Iterator[socket.socket]:
    with socket.create_connection(remote.listener.address) as sock:
        sock.settimeout(2.0)
        remote.serve(0.5)
        yield sock


def is_cut(sock: socket.socket) -> bool:
    sock.setblocking(False)
    try:
        return sock.recv(1000) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def test_oversize_length_of_a_stranger_is_cut_before_anything_is_kept(
    remote: Remote, stranger: socket.socket
) -> None:
    tracemalloc.start()
    stranger.send(struct.pack(">I", 2**32 - 1) + b"x" * 100)
    remote.until(lambda: is_cut(stranger))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert remote.listener.statistics.rejected == {Rejection.OVERSIZE: 1}
    assert peak < 500_000


def test_a_stranger_may_not_send_a_proofs_worth_before_an_ask(remote: Remote, stranger: socket.socket) -> None:
    stranger.send(struct.pack(">I", 50_000))
    remote.until(lambda: is_cut(stranger))
    assert remote.listener.statistics.rejected == {Rejection.OVERSIZE: 1}


def test_oversize_length_on_a_session_loses_it(remote: Remote, pair: tuple[StreamChannel, Session]) -> None:
    channel, session = pair
    channel._socket.send(struct.pack(">I", MAX_STREAM_FRAME_BYTES + 1))
    remote.until(lambda: bool(remote.closed))
    assert str(MAX_STREAM_FRAME_BYTES + 1) in remote.closed[0].reason
    assert session.statistics.rejected == {Rejection.OVERSIZE: 1}


def test_a_recorded_ask_is_not_answered_for_ever(remote: Remote, stranger: socket.socket) -> None:
    """A stream brings an ask and a proof: more is not what an edge sends."""
    ask = add_length(Initiator(KEY, make_hello()).request)
    stranger.send(ask * 500)
    remote.until(lambda: is_cut(stranger))
    assert remote.listener.statistics.rejected == {Rejection.CROWDED: 1}


def test_slow_loris_is_cut_at_the_deadline(remote: Remote, stranger: socket.socket, clock: Clock) -> None:
    """One byte a second of a good ask: cut after 5 s, whatever it has sent by then."""
    ask = add_length(Initiator(KEY, make_hello()).request)
    for i in range(5):
        stranger.send(ask[i : i + 1])
        remote.serve(0.01)
        assert not is_cut(stranger)
        clock.now_s += 1.01
    remote.until(lambda: is_cut(stranger))
    assert remote.listener.statistics.rejected == {Rejection.SLOW: 1}
    assert "5 s" in str(remote.refused[0].error)
    assert remote.opened == []


def test_silent_connection_is_cut_at_the_deadline(remote: Remote, stranger: socket.socket, clock: Clock) -> None:
    clock.now_s += 4.9
    remote.serve()
    assert not is_cut(stranger)
    clock.now_s += 0.3
    remote.until(lambda: is_cut(stranger))


def test_half_open_session_is_closed_by_its_silence(
    remote: Remote, pair: tuple[StreamChannel, Session], clock: Clock
) -> None:
    """The edge's host has lost power: no FIN comes, the connection looks well."""
    _, session = pair
    clock.now_s += 3.5
    remote.until(lambda: bool(remote.closed))
    assert remote.closed[0].session is session
    assert "silent" in remote.closed[0].reason


def test_trickle_on_a_session_is_no_sign_of_life(
    remote: Remote, pair: tuple[StreamChannel, Session], clock: Clock
) -> None:
    channel, _ = pair
    frame = add_length(channel._stream._seal(encode(make_observation(1))))
    for i in range(4):
        channel._socket.send(frame[i : i + 1])
        remote.serve(0.01)
        clock.now_s += 0.9
    remote.until(lambda: bool(remote.closed))
    assert "silent" in remote.closed[0].reason


def test_strangers_are_bounded_and_the_oldest_goes(remote: Remote) -> None:
    """n = 100 connections that say nothing; an edge with the key still gets in."""
    crowd = []
    try:
        for _ in range(100):
            crowd.append(socket.create_connection(remote.listener.address))
            remote.serve()
        remote.until(lambda: remote.listener.statistics.rejected[Rejection.CROWDED] == 100 - MAX_STRANGERS)
        assert is_cut(crowd[0])
        assert not is_cut(crowd[-1])
        channel, _ = remote.connect()
        channel.close()
    finally:
        for sock in crowd:
            sock.close()


def test_flipped_bit_loses_the_connection_and_is_counted(
    remote: Remote, pair: tuple[StreamChannel, Session]
) -> None:
    channel, session = pair
    frame = bytearray(channel._stream._seal(encode(make_observation(1))))
    frame[30] ^= 1
    channel._socket.send(add_length(bytes(frame)))
    remote.until(lambda: bool(remote.closed))
    assert "does not verify" in remote.closed[0].reason
    assert session.statistics.rejected == {Rejection.AUTH: 1}


def test_damage_on_the_way_to_the_edge_is_worth_a_new_dial(
    remote: Remote, pair: tuple[StreamChannel, Session]
) -> None:
    channel, session = pair
    session.socket.send(add_length(b"\4" + bytes(60)))  # type: ignore[attr-defined]
    with pytest.raises(ConnectionLost, match="damaged"):
        receive_all(channel, 1)
    assert channel.statistics.rejected.total() == 1
    again, _ = remote.connect()
    again.close()


def test_replayed_and_skipped_frames_lose_the_connection(remote: Remote, clock: Clock) -> None:
    for i, order in enumerate(((0, 0), (1,))):
        channel, session = remote.connect(run=i)
        assert isinstance(channel, StreamChannel)
        frames = [channel._stream._seal(encode(make_observation(tick))) for tick in range(2)]
        for j in order:
            channel._socket.send(add_length(frames[j]))
        remote.until(lambda: len(remote.closed) == i + 1)  # noqa: B023 - called at once
        assert session.statistics.rejected == {Rejection.REPLAY: 1}
        assert "is due" in remote.closed[-1].reason
        channel.close()


def test_sealed_nonsense_is_counted_and_the_stream_goes_on(
    remote: Remote, pair: tuple[StreamChannel, Session]
) -> None:
    channel, session = pair
    channel._socket.send(add_length(channel._stream._seal(b"nonsense")))
    channel.send(make_observation(1))
    remote.until(lambda: remote.messages == [make_observation(1)])
    assert session.statistics.rejected == {Rejection.MALFORMED: 1}


def test_cut_connection_is_a_loss_after_what_came_before(
    remote: Remote, pair: tuple[StreamChannel, Session]
) -> None:
    channel, session = pair
    session.send(make_action(1))
    remote.listener._port.forget(session.socket)  # type: ignore[attr-defined]
    assert receive_all(channel, 1) == [make_action(1)]
    with pytest.raises(ConnectionLost, match="closed the connection"):
        receive_all(channel, 1)
    assert not channel.send(make_observation(1))


def test_reset_connection_closes_the_session(remote: Remote, pair: tuple[StreamChannel, Session]) -> None:
    channel, _ = pair
    channel._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    channel._socket.close()
    remote.until(lambda: bool(remote.closed))
    assert remote.closed[0].reason


def test_frames_that_come_with_the_proof_are_taken(remote: Remote, stranger: socket.socket) -> None:
    """A listener busy elsewhere finds proof and first frames in one read."""
    initiator = Initiator(KEY, make_hello())
    stranger.send(add_length(initiator.request))
    remote.serve(0.5)
    (challenge,) = FrameReader(1000).feed(stranger.recv(1000))
    assert initiator.receive(challenge)
    assert initiator.agreement is not None
    sealer = Sealer(initiator.agreement.sending, initiator.agreement.session)
    frames = [sealer.seal(encode(make_observation(tick))) for tick in range(3)]
    stranger.send(b"".join(map(add_length, [initiator.request, *frames])))
    remote.until(lambda: len(remote.messages) == 3)
    assert remote.messages == [make_observation(tick) for tick in range(3)]


def test_what_the_network_does_not_take_is_bounded_and_the_oldest_goes(
    remote: Remote, pair: tuple[StreamChannel, Session]
) -> None:
    """The edge does not read: the queue stays bounded, and what comes out at last ends with the newest."""
    channel, session = pair
    n, payload = 3000, bytes(4000)
    for tick in range(n):
        assert session.send(make_observation(tick, payload))
        stream = session.stream  # type: ignore[attr-defined]
        assert stream._queue_bytes <= MAX_QUEUE_BYTES
    dropped = session.statistics.send_dropped
    assert dropped > 0
    ticks: list[int] = []

    def read_on() -> bool:
        ticks.extend(received.message.tick for received in channel.receive())  # type: ignore[union-attr]
        return bool(ticks) and ticks[-1] == n - 1

    remote.until(read_on)
    assert ticks == sorted(set(ticks))
    assert len(ticks) == n - dropped
    assert session.statistics.frames_sent == len(ticks) + 1  # the welcome


def test_the_edges_own_queue_is_bounded_too(remote: Remote, pair: tuple[StreamChannel, Session]) -> None:
    channel, _ = pair
    n, payload = 3000, bytes(4000)
    for tick in range(n):
        channel.send(make_observation(tick, payload))
    assert channel.statistics.send_dropped > 0
    assert channel._stream._queue_bytes <= MAX_QUEUE_BYTES

    def pump() -> bool:
        channel.receive()
        return bool(remote.messages) and remote.messages[-1] == make_observation(n - 1, payload)

    remote.until(pump)
    assert len(remote.messages) == n - channel.statistics.send_dropped


def test_refused_connection_is_tried_again_with_growing_pauses(clock: Clock) -> None:
    remote = Remote("stream", clock)
    dialer = remote.dialer()
    remote.listener.close()
    begin_s, attempts = clock.now_s, []
    while clock.now_s - begin_s < 20.0:
        before = dialer.attempts
        assert dialer.poll() is None
        if dialer.attempts > before:
            attempts.append(clock.now_s - begin_s)
        clock.now_s += 0.01
    pauses = [after - before for before, after in pairwise(attempts)]
    assert 10 <= len(attempts) <= 30
    assert pauses[0] <= 0.12
    assert all(pause <= 2.03 for pause in pauses)
    assert max(pauses) > 1.0
    assert len({round(pause, 3) for pause in pauses[-6:]}) > 1  # jitter
    assert "ECONNREFUSED" in str(dialer.last_error)


def test_live_listener_under_random_and_mutated_connections(
    remote: Remote, pair: tuple[StreamChannel, Session]
) -> None:
    """n = 1,500 connections with 20 chunks each, seed fixed: no crash, no session, no growth."""
    channel, session = pair
    rng = random.Random(31)
    ask = add_length(Initiator(KEY, make_hello()).request)
    remote.serve()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for i in range(1500):
        with socket.create_connection(remote.listener.address) as sock:
            for _ in range(20):
                mutable = bytearray(ask if i % 2 else add_length(rng.randbytes(rng.randrange(1, 80))))
                mutable[rng.randrange(len(mutable))] ^= rng.randrange(256)
                try:
                    sock.send(mutable)
                except ConnectionError:
                    break
            remote.serve()
    for _ in range(50):
        remote.serve(0.001)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 500_000
    assert remote.listener.sessions == [session]
    assert remote.listener.statistics.rejected.total() > 1000
    channel.send(make_observation(7))
    remote.until(lambda: remote.messages == [make_observation(7)])


def test_live_session_under_100_000_random_and_mutated_messages(
    remote: Remote, pair: tuple[StreamChannel, Session]
) -> None:
    """n = 100,000, seed fixed, from a peer that has the key: all counted, no crash, no growth."""
    channel, session = pair
    rng = random.Random(32)
    good = [encode(make_observation(1)), encode(make_action(1)), encode(make_hello())]
    seal, sock = channel._stream._seal, channel._socket
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    taken = 0
    for _ in range(1000):
        batch = bytearray()
        for i in range(100):
            mutable = bytearray(rng.choice(good) if i % 2 else rng.randbytes(rng.randrange(1, 80)))
            mutable[rng.randrange(len(mutable))] ^= rng.randrange(256)
            batch += add_length(seal(bytes(mutable)))
        left = memoryview(bytes(batch))
        while left:
            try:
                left = left[sock.send(left) :]
            except BlockingIOError:
                remote.serve(0.01)
        remote.serve()
        taken += len(remote.messages)
        remote.messages.clear()
    remote.until(
        lambda: taken + len(remote.messages) + session.statistics.rejected[Rejection.MALFORMED] >= 100_000
    )
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 500_000
    assert session.statistics.rejected[Rejection.MALFORMED] > 50_000
    assert remote.listener.sessions == [session]
    remote.messages.clear()
    channel.send(make_observation(7))
    remote.until(lambda: remote.messages == [make_observation(7)])
