"""What the keys of a session depend on, and the bytes that another netlab must be able to read."""

from __future__ import annotations

import hashlib

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from netlab.messages import PROTOCOL_VERSION
from netlab.wire import key_agreement
from netlab.wire.handshake import Responder
from netlab.wire.key import Key
from netlab.wire.key_agreement import Agreement, Refusal
from netlab.wire.seal import Sealer
from netlab.wire.statistics import Rejection, Statistics

KEY = Key(bytes(range(32)))
EDGE = X25519PrivateKey.from_private_bytes(b"\1" * 32)
LISTENER = X25519PrivateKey.from_private_bytes(b"\2" * 32)
SESSION = 0x0102030405060708


def derive(
    key: Key = KEY,
    edge: X25519PrivateKey = EDGE,
    listener: X25519PrivateKey = LISTENER,
    ask: bytes = b"ask",
    session: int = SESSION,
) -> Agreement:
    secret = key_agreement.derive_greeting_secret(KEY)
    challenge = key_agreement.build_challenge(secret, session, listener.public_key().public_bytes_raw(), ask)
    return key_agreement.derive_agreement(key, edge, listener.public_key().public_bytes_raw(), ask, challenge)


def secrets_of(agreement: Agreement) -> tuple[bytes, ...]:
    return agreement.sending, agreement.receiving, agreement.proof


def test_every_input_enters_every_secret() -> None:
    other = X25519PrivateKey.from_private_bytes(b"\3" * 32)
    changed = [
        derive(),
        derive(key=Key(bytes(32))),
        derive(edge=other),
        derive(listener=other),
        derive(ask=b"another"),
        derive(session=SESSION + 1),
    ]
    assert len({secret for agreement in changed for secret in secrets_of(agreement)}) == 3 * len(changed)


def test_the_exchange_enters_even_where_the_transcript_is_the_same() -> None:
    """Whoever has the key and a recording still lacks the exchange of one-time shares."""
    share = LISTENER.public_key().public_bytes_raw()
    secret = key_agreement.derive_greeting_secret(KEY)
    challenge = key_agreement.build_challenge(secret, SESSION, share, b"ask")
    other = X25519PrivateKey.from_private_bytes(b"\3" * 32)
    true = key_agreement.derive_agreement(KEY, EDGE, share, b"ask", challenge)
    guessed = key_agreement.derive_agreement(KEY, other, share, b"ask", challenge)
    assert not set(secrets_of(true)) & set(secrets_of(guessed))


def test_the_key_enters_even_where_everything_else_is_known() -> None:
    share = LISTENER.public_key().public_bytes_raw()
    challenge = key_agreement.build_challenge(bytes(32), SESSION, share, b"ask")
    true = key_agreement.derive_agreement(KEY, EDGE, share, b"ask", challenge)
    guessed = key_agreement.derive_agreement(Key(bytes(32)), EDGE, share, b"ask", challenge)
    assert not set(secrets_of(true)) & set(secrets_of(guessed))


def test_reversed_swaps_the_directions() -> None:
    agreement = derive()
    assert agreement.reversed().sending == agreement.receiving
    assert agreement.reversed().reversed() == agreement


def test_bytes_of_version_2_do_not_change() -> None:
    """Whoever changes these breaks every netlab in the field: raise PROTOCOL_VERSION, then the values."""
    assert PROTOCOL_VERSION == 2
    secret = key_agreement.derive_greeting_secret(KEY)
    edge_share = EDGE.public_key().public_bytes_raw()
    listener_share = LISTENER.public_key().public_bytes_raw()
    ask = key_agreement.build_ask(secret, edge_share)
    challenge = key_agreement.build_challenge(secret, SESSION, listener_share, ask)
    agreement = key_agreement.derive_agreement(KEY, EDGE, listener_share, ask, challenge)
    proof = key_agreement.build_proof(secret, agreement, edge_share, listener_share, b"hello")
    parts = [
        ask,
        challenge,
        *secrets_of(agreement),
        proof,
        key_agreement.build_refusal(Refusal.WRONG_KEY, edge_share),
        key_agreement.build_unknown(SESSION),
        Sealer(agreement.sending, SESSION).seal(b"message"),
    ]
    assert [len(part) for part in parts] == [57, 57, 32, 32, 32, 1200, 36, 9, 40]
    assert hashlib.sha256(b"".join(parts)).hexdigest() == GOLDEN


GOLDEN = "b175d4d14ff5917bc717e56077e4db14e239a6826fbdadc5d20dae53651f5e73"


def test_what_is_not_netlabs_gets_no_answer() -> None:
    """A stray packet of another protocol that begins with the same byte."""
    statistics = Statistics()
    responder = Responder(KEY, statistics, 0.0)
    ask = key_agreement.build_ask(key_agreement.derive_greeting_secret(KEY), bytes(32))
    assert responder.receive(ask, 0.0) is not None
    assert responder.receive(ask[:1] + b"notlab" + ask[7:], 0.0) is None
    assert responder.receive(ask[:1] + b"notlab" + b"\0\2" + ask[9:], 0.0) is None
    assert statistics.rejected == {Rejection.MALFORMED: 2}
