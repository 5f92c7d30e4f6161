"""The handshake over a network that loses, repeats, reorders, forges and listens."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_messages import WELCOME, make_hello

from netlab.errors import AuthError, LocalProtocolError, RemoteProtocolError
from netlab.messages import PROTOCOL_VERSION, Space, TaskDescription
from netlab.wire import handshake, key_agreement
from netlab.wire.codec import encode
from netlab.wire.handshake import MAX_OPENED, SHARE_LIFE_S, Accepted, Initiator, Reply, Responder
from netlab.wire.key import Key
from netlab.wire.key_agreement import MIN_PROOF_BYTES, Refusal
from netlab.wire.statistics import Rejection, Statistics

KEY = Key(bytes(range(32)))
HELLO = make_hello(run=42)


def make_responder(key: Key = KEY) -> tuple[Responder, Statistics]:
    statistics = Statistics()
    return Responder(key, statistics, 0.0), statistics


def challenge_of(responder: Responder, ask: bytes, now_s: float = 0.0) -> bytes:
    reply = responder.receive(ask, now_s)
    assert isinstance(reply, Reply)
    return reply.packet


def open_session(responder: Responder, now_s: float = 0.0) -> tuple[Initiator, Accepted]:
    initiator = Initiator(KEY, HELLO)
    assert initiator.receive(challenge_of(responder, initiator.request, now_s))
    accepted = responder.receive(initiator.request, now_s)
    assert isinstance(accepted, Accepted)
    return initiator, accepted


def test_both_sides_agree() -> None:
    responder, statistics = make_responder()
    initiator, accepted = open_session(responder)
    assert accepted.hello == HELLO
    assert initiator.agreement == accepted.agreement.reversed()
    assert accepted.agreement.sending != accepted.agreement.receiving
    assert not statistics.rejected


def test_every_session_has_its_own_identity_and_keys() -> None:
    responder, _ = make_responder()
    agreements = [open_session(responder)[1].agreement for _ in range(20)]
    assert len({agreement.session for agreement in agreements}) == 20
    keys = {
        secret for agreement in agreements for secret in (agreement.sending, agreement.receiving, agreement.proof)
    }
    assert len(keys) == 60


def test_the_hello_travels_in_nobodys_sight() -> None:
    responder, _ = make_responder()
    initiator = Initiator(KEY, HELLO)
    ask = initiator.request
    challenge = challenge_of(responder, ask)
    initiator.receive(challenge)
    for packet in (ask, challenge, initiator.request):
        assert b"CartPole" not in packet


def test_agreement_is_not_printed() -> None:
    responder, _ = make_responder()
    initiator, accepted = open_session(responder)
    for secret in (accepted.agreement.sending, accepted.agreement.receiving):
        assert repr(secret) not in repr(accepted)
        assert repr(secret) not in repr(initiator.agreement)


def test_no_answer_is_larger_than_its_question() -> None:
    responder, _ = make_responder()
    initiator = Initiator(KEY, HELLO)
    ask = initiator.request
    challenge = challenge_of(responder, ask)
    assert len(challenge) <= len(ask)
    initiator.receive(challenge)
    accepted = responder.receive(initiator.request, 0.0)
    assert isinstance(accepted, Accepted)
    responder.remember(accepted.agreement.session, bytes(MIN_PROOF_BYTES))
    again = responder.receive(initiator.request, 0.0)
    assert isinstance(again, Reply)
    assert len(again.packet) <= len(initiator.request)
    refused = make_responder(Key.new())[0].receive(ask, 0.0)
    assert isinstance(refused, Reply)
    assert len(refused.packet) <= len(ask)
    other = key_agreement.build_ask(bytes(32), bytes(32), version=PROTOCOL_VERSION + 1)
    refused = responder.receive(other, 0.0)
    assert isinstance(refused, Reply)
    assert len(refused.packet) <= len(other)


def test_an_answer_too_large_is_not_remembered() -> None:
    responder, _ = make_responder()
    initiator, accepted = open_session(responder)
    responder.remember(accepted.agreement.session, bytes(MIN_PROOF_BYTES + 1))
    assert responder.receive(initiator.request, 0.0) is None


def test_repeated_packets_change_nothing() -> None:
    responder, statistics = make_responder()
    initiator = Initiator(KEY, HELLO)
    ask = initiator.request
    challenges = {challenge_of(responder, ask) for _ in range(5)}
    assert len(challenges) == 1
    (challenge,) = challenges
    assert initiator.receive(challenge)
    assert not initiator.receive(challenge)
    proof = initiator.request
    accepted = responder.receive(proof, 0.0)
    assert isinstance(accepted, Accepted)
    assert responder.receive(proof, 0.0) is None  # nothing to repeat yet
    responder.remember(accepted.agreement.session, b"the sealed welcome")
    for _ in range(3):
        assert responder.receive(proof, 0.0) == Reply(b"the sealed welcome")
    assert statistics.rejected == {Rejection.REPLAY: 1}


def test_wrong_key_is_told_to_both_sides_with_a_hint() -> None:
    responder, statistics = make_responder(Key.new())
    initiator = Initiator(KEY, HELLO)
    reply = responder.receive(initiator.request, 0.0)
    assert isinstance(reply, Reply)
    assert isinstance(reply.refusal, AuthError)
    assert "same key" in reply.refusal.hint
    assert "the keys differ, or one side was started without --key-file" in reply.refusal.hint
    assert initiator.receive(reply.packet)
    assert isinstance(initiator.refusal, AuthError)
    assert "same key" in initiator.refusal.hint
    assert initiator.agreement is None
    assert statistics.rejected == {Rejection.AUTH: 1}


def test_a_refusal_is_believed_only_from_one_who_saw_the_ask() -> None:
    initiator = Initiator(KEY, HELLO)
    assert not initiator.receive(key_agreement.build_refusal(Refusal.WRONG_KEY, bytes(32)))
    assert initiator.refusal is None


def test_a_forged_refusal_does_not_stop_a_good_handshake() -> None:
    responder, _ = make_responder()
    initiator = Initiator(KEY, HELLO)
    share = initiator.request[9:41]
    assert initiator.receive(key_agreement.build_refusal(Refusal.WRONG_KEY, share))
    assert initiator.receive(challenge_of(responder, initiator.request))
    assert initiator.agreement is not None


@pytest.mark.parametrize("theirs", [0, 1, PROTOCOL_VERSION + 1, 999, 65535])
def test_other_version_is_named_on_both_sides(theirs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    responder, statistics = make_responder()
    private = X25519PrivateKey.generate().public_key().public_bytes_raw()
    ask = key_agreement.build_ask(bytes(32), private, version=theirs) + b"something new in that version"
    reply = responder.receive(ask, 0.0)
    assert isinstance(reply, Reply)
    assert isinstance(reply.refusal, RemoteProtocolError)
    assert f"version {theirs}" in str(reply.refusal)
    assert f"version {PROTOCOL_VERSION}" in str(reply.refusal)
    assert statistics.rejected == {Rejection.VERSION: 1}
    initiator = Initiator(KEY, HELLO)
    monkeypatch.setattr(key_agreement, "PROTOCOL_VERSION", theirs)  # a listener of that version refuses us
    refusal = key_agreement.build_refusal(Refusal.VERSION, initiator.request[9:41])
    assert initiator.receive(refusal)
    assert isinstance(initiator.refusal, RemoteProtocolError)
    assert f"version {theirs}" in str(initiator.refusal)
    assert "same netlab" in initiator.refusal.hint


def test_malformed_hello_of_one_who_has_the_key_is_told() -> None:
    responder, statistics = make_responder()
    initiator = Initiator(KEY, HELLO)
    initiator._hello = encode(WELCOME)
    share = initiator.request[9:41]
    initiator.receive(challenge_of(responder, initiator.request))
    reply = responder.receive(initiator.request, 0.0)
    assert isinstance(reply, Reply)
    assert "Welcome" in str(reply.refusal)
    assert reply.packet[4:] == share
    assert initiator.receive(reply.packet)
    assert isinstance(initiator.refusal, RemoteProtocolError)
    assert statistics.rejected == {Rejection.MALFORMED: 1}


def test_hello_too_large_for_a_proof_is_our_bug() -> None:
    box = Space(kind="box", dtype="float64", shape=(4096,), low=(0.1,) * 4096, high=(0.9,) * 4096)
    task = TaskDescription(name="big", rate_hz=1.0, observation=box, action=box)
    with pytest.raises(LocalProtocolError, match="a handshake carries"):
        Initiator(KEY, make_hello(task=task))


def test_large_hello_passes() -> None:
    box = Space(kind="box", dtype="float64", shape=(1500,), low=(0.1,) * 1500, high=(0.9,) * 1500)
    hello = make_hello(task=TaskDescription(name="big", rate_hz=1.0, observation=box, action=box))
    responder, _ = make_responder()
    initiator = Initiator(KEY, hello)
    initiator.receive(challenge_of(responder, initiator.request))
    accepted = responder.receive(initiator.request, 0.0)
    assert isinstance(accepted, Accepted)
    assert accepted.hello == hello


def test_recorded_handshake_opens_nothing_again() -> None:
    """Within the life of the share its sessions are remembered; after it the share itself is gone."""
    responder, statistics = make_responder()
    initiator = Initiator(KEY, HELLO)
    ask = initiator.request
    initiator.receive(challenge_of(responder, ask))
    proof = initiator.request
    assert isinstance(responder.receive(proof, 0.0), Accepted)
    now_s = 0.0
    while now_s < 4 * SHARE_LIFE_S:
        now_s += SHARE_LIFE_S / 4
        responder.receive(ask, now_s)
        assert responder.receive(proof, now_s) is None
    assert statistics.rejected[Rejection.REPLAY] > 0
    assert statistics.rejected[Rejection.UNKNOWN] > 0


def test_proof_survives_one_change_of_share() -> None:
    responder, _ = make_responder()
    initiator = Initiator(KEY, HELLO)
    initiator.receive(challenge_of(responder, initiator.request, SHARE_LIFE_S - 1.0))
    assert isinstance(responder.receive(initiator.request, SHARE_LIFE_S + 1.0), Accepted)


def test_recorded_proof_is_of_no_use_at_another_listener() -> None:
    responder, _ = make_responder()
    other, statistics = make_responder()
    initiator = Initiator(KEY, HELLO)
    initiator.receive(challenge_of(responder, initiator.request))
    assert other.receive(initiator.request, 0.0) is None
    assert statistics.rejected == {Rejection.UNKNOWN: 1}


def test_a_listener_that_does_not_know_the_key_gets_nothing() -> None:
    """Someone in the middle answers with a share of his own: no proof, no Hello."""
    initiator = Initiator(KEY, HELLO)
    share = X25519PrivateKey.generate().public_key().public_bytes_raw()
    ask = initiator.request
    challenge = key_agreement.build_challenge(bytes(32), 5, share, ask)
    assert not initiator.receive(challenge)
    assert initiator.request == ask


def test_mirrored_packets_prove_nothing() -> None:
    initiator = Initiator(KEY, HELLO)
    assert not initiator.receive(initiator.request)
    responder, _ = make_responder()
    challenge = challenge_of(responder, initiator.request)
    assert responder.receive(challenge, 0.0) is None


def test_shares_of_small_order_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer with the key sends the point that makes every exchange zero: no exception, no session."""
    responder, _ = make_responder()
    secret = key_agreement.derive_greeting_secret(KEY)
    ask = key_agreement.build_ask(secret, bytes(32))
    challenge = challenge_of(responder, ask)
    found = key_agreement.read_challenge(challenge)
    assert found is not None
    session, listener_share = found
    agreement = key_agreement.Agreement(session, bytes(32), bytes(32), bytes(32))
    proof = key_agreement.build_proof(secret, agreement, bytes(32), listener_share, encode(HELLO))
    reply = responder.receive(proof, 0.0)
    assert reply is None or (isinstance(reply, Reply) and reply.refusal is not None)
    initiator = Initiator(KEY, HELLO)
    assert not initiator.receive(key_agreement.build_challenge(secret, 5, bytes(32), initiator.request))


def test_a_peer_with_the_key_cannot_choose_its_session() -> None:
    """Else it could take the place of another edge's."""
    responder, statistics = make_responder()
    initiator = Initiator(KEY, HELLO)
    initiator.receive(challenge_of(responder, initiator.request))
    assert initiator.agreement is not None
    found = key_agreement.read_proof(initiator.request)
    assert found is not None
    chosen = key_agreement.Agreement(7, bytes(32), bytes(32), initiator.agreement.proof)
    secret = key_agreement.derive_greeting_secret(KEY)
    assert responder.receive(key_agreement.build_proof(secret, chosen, *found[1:], encode(HELLO)), 0.0) is None
    assert statistics.rejected == {Rejection.UNKNOWN: 1}


def test_nothing_is_computed_for_strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who lacks the key cannot make the listener compute an exchange, not even with recorded packets."""
    responder, statistics = make_responder()
    initiator = Initiator(KEY, HELLO)
    initiator.receive(challenge_of(responder, initiator.request))
    proof = initiator.request

    def forbidden(*args: object) -> None:
        raise AssertionError("an exchange was computed")

    monkeypatch.setattr(key_agreement, "derive_agreement", forbidden)
    monkeypatch.setattr(handshake.packets, "derive_agreement", forbidden)
    rng = random.Random(3)
    for _ in range(2000):
        forged = bytearray(proof)
        forged[rng.randrange(1, len(forged))] ^= rng.randrange(1, 256)
        assert responder.receive(bytes(forged), 0.0) is None
    assert statistics.rejected[Rejection.AUTH] > 1500


def test_a_share_opens_a_bounded_number_of_sessions() -> None:
    responder, statistics = make_responder()
    for i in range(MAX_OPENED):
        responder._share.opened[i] = b""
    initiator, _ = open_session(responder)  # a new share is made for it
    previous = responder._previous
    assert previous is not None
    assert len(previous.opened) == MAX_OPENED
    assert len(responder._share.opened) == 1
    assert not statistics.rejected
    assert initiator.agreement is not None


def test_100_000_random_and_mutated_packets_neither_raise_nor_grow() -> None:
    """n = 100,000, seed fixed, both halves; memory after is within 200 kB of memory before."""
    rng = random.Random(5)
    responder, statistics = make_responder()
    initiator = Initiator(KEY, HELLO)
    good = [initiator.request, challenge_of(responder, initiator.request)]
    prover = Initiator(KEY, HELLO)
    prover.receive(challenge_of(responder, prover.request))
    good += [
        prover.request,
        key_agreement.build_refusal(Refusal.WRONG_KEY, bytes(32)),
        key_agreement.build_unknown(1),
    ]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for i in range(100_000):
        if i % 2:
            packet = bytes((rng.randrange(8),)) + rng.randbytes(rng.randrange(0, 120))
        else:
            mutable = bytearray(rng.choice(good))
            mutable[rng.randrange(len(mutable))] ^= rng.randrange(1, 256)
            packet = bytes(mutable)
        outcome = responder.receive(packet, 0.0)
        assert not isinstance(outcome, Accepted)
        assert not isinstance(outcome, Reply) or len(outcome.packet) <= len(packet)
        initiator.receive(packet)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 200_000
    assert not responder._share.opened
    assert initiator.agreement is None
    assert statistics.rejected.total() > 80_000


class Network:
    """Packets under way in both directions; a script decides which one moves, twice or never."""

    def __init__(self) -> None:
        self.responder, self.statistics = make_responder()
        self.initiator = Initiator(KEY, HELLO)
        self.to_listener: list[bytes] = []
        self.to_edge: list[bytes] = []
        self.accepted: list[Accepted] = []

    def step(self, choice: int, index: int) -> None:
        if choice == 0:
            self.to_listener.append(self.initiator.request)
        elif choice in (1, 2) and self.to_listener:
            self.deliver_to_listener(self._take(self.to_listener, index, keep=choice == 2))
        elif choice in (3, 4) and self.to_edge:
            self.initiator.receive(self._take(self.to_edge, index, keep=choice == 4))
        elif choice == 5 and self.to_listener:
            self._take(self.to_listener, index, keep=False)
        elif choice == 6 and self.to_edge:
            self._take(self.to_edge, index, keep=False)

    def deliver_to_listener(self, packet: bytes) -> None:
        outcome = self.responder.receive(packet, 0.0)
        if isinstance(outcome, Accepted):
            self.accepted.append(outcome)
            self.responder.remember(outcome.agreement.session, b"sealed welcome")
            self.to_edge.append(b"sealed welcome")
        elif isinstance(outcome, Reply):
            self.to_edge.append(outcome.packet)

    @staticmethod
    def _take(packets: list[bytes], index: int, *, keep: bool) -> bytes:
        place = index % len(packets)
        return packets[place] if keep else packets.pop(place)


@settings(derandomize=True, max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 20)), max_size=60))
def test_any_loss_repetition_and_order_ends_in_one_session_or_none(script: list[tuple[int, int]]) -> None:
    network = Network()
    for choice, index in script:
        network.step(choice, index)
    assert len(network.accepted) <= 1
    if network.accepted:
        assert network.initiator.agreement == network.accepted[0].agreement.reversed()
    # And whatever came before: once the network delivers again, a session there is.
    for _ in range(3):
        network.step(0, 0)
        while network.to_listener:
            network.step(1, 0)
        while network.to_edge:
            network.step(3, 0)
    assert len(network.accepted) == 1
    assert network.initiator.agreement == network.accepted[0].agreement.reversed()
    assert network.initiator.refusal is None
