"""Key agreement: the handshake's packets as bytes and the derivations that both halves share.

Pure. Each packet has one layout, in network byte order, and one place that builds and reads it; who sends
what when is ``handshake.py``'s business.

::

    ask        | 1 | "netlab" | version 2 | edge's X25519 share 32 | MAC 16 |                       57 bytes
    challenge  | 2 | session 8 | listener's X25519 share 32 | MAC 16 |                              57 bytes
    proof      | 3 | session 8 | edge's share 32 | listener's share 32 | sealed Hello | MAC 16 | >= 1200 bytes
    refusal    | 5 | reason 1 | version 2 | edge's share 32 |                                       36 bytes
    unknown    | 6 | session 8 |                                                                     9 bytes

``1 | "netlab" | version`` and the whole of ``refusal`` keep their place in every version to come: that is
how two versions can tell each other apart.

Source: X25519, RFC 7748; HKDF, RFC 5869; HMAC, RFC 2104.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass
from enum import IntEnum

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from netlab.errors import LocalProtocolError
from netlab.messages import PROTOCOL_VERSION
from netlab.wire.key import Key
from netlab.wire.seal import TAG_BYTES

__all__ = ["MAX_PROOF_BYTES", "MIN_PROOF_BYTES", "Agreement", "Kind", "Refusal"]

MAGIC = b"netlab"
SHARE_BYTES = 32
MAC_BYTES = 16
SECRET_BYTES = 32

ASK_BYTES = 57
CHALLENGE_BYTES = 57
REFUSAL_BYTES = 36
UNKNOWN_BYTES = 9
PROOF_HEADER_BYTES = 73
MIN_PROOF_BYTES = 1200
"""A proof is padded to this: what answers it, the Welcome, may not be larger."""
MAX_PROOF_BYTES = 60_000
"""Large enough for a Hello with thousands of bounds, small enough for one datagram."""

_AROUND_BODY_BYTES = PROOF_HEADER_BYTES + TAG_BYTES + MAC_BYTES
MAX_HELLO_BYTES = MAX_PROOF_BYTES - _AROUND_BODY_BYTES - 4

_ask = struct.Struct(f">B6sH{SHARE_BYTES}s")
_challenge = struct.Struct(f">BQ{SHARE_BYTES}s")
_proof = struct.Struct(f">BQ{SHARE_BYTES}s{SHARE_BYTES}s")
_refusal = struct.Struct(f">BBH{SHARE_BYTES}s")
_unknown = struct.Struct(">BQ")
_length = struct.Struct(">I")
# The key of a proof seals exactly one plaintext: a retransmission is the same bytes again.
_PROOF_NONCE = bytes(12)


class Kind(IntEnum):
    """First byte of a packet of the handshake."""

    ASK = 1
    CHALLENGE = 2
    PROOF = 3
    REFUSAL = 5
    UNKNOWN = 6


class Refusal(IntEnum):
    """Why a listener turns an edge away before it has proven anything."""

    WRONG_KEY = 1
    VERSION = 2
    HELLO = 3


@dataclass(frozen=True, slots=True, repr=False)
class Agreement:
    """What both halves know once they agree.

    Attributes:
        session: Identity of the session, 64 bits.
        sending: Key that seals what this side sends, 32 bytes.
        receiving: Key that opens what this side receives, 32 bytes.
        proof: Key that seals the Hello, used once.
    """

    session: int
    sending: bytes
    receiving: bytes
    proof: bytes

    def reversed(self) -> Agreement:
        """Return the agreement as the other side sees it."""
        return Agreement(self.session, self.receiving, self.sending, self.proof)

    def __repr__(self) -> str:
        return f"Agreement(session={self.session:016x})"


def derive_greeting_secret(key: Key) -> bytes:
    """Return the secret that authenticates asks and challenges; the key itself serves derivation alone."""
    return _expand(key.reveal(), salt=b"", info=b"netlab wire greeting", n_bytes=SECRET_BYTES)


def derive_agreement(
    key: Key, private: X25519PrivateKey, peer_share: bytes, ask: bytes, challenge: bytes
) -> Agreement:
    """Return the edge's view of the agreement that a transcript leads to.

    Both secrets enter: the shared key (so that only its owners get there) and the exchange of one-time
    shares (so that the key, stolen later, opens no recording). The transcript is the salt.

    Raises:
        ValueError: The peer's share is one of the few that would make the exchange known to all.
    """
    exchanged = private.exchange(X25519PublicKey.from_public_bytes(peer_share))
    secrets = _expand(
        exchanged + key.reveal(),
        salt=hashlib.sha256(ask + challenge).digest(),
        info=b"netlab wire session",
        n_bytes=3 * SECRET_BYTES,
    )
    session = _challenge.unpack_from(challenge)[1]
    return Agreement(session, secrets[:32], secrets[32:64], secrets[64:])


def build_ask(greeting_secret: bytes, share: bytes, version: int = PROTOCOL_VERSION) -> bytes:
    """Return an ask."""
    body = _ask.pack(Kind.ASK, MAGIC, version, share)
    return body + _mac(greeting_secret, body)


def read_ask(packet: bytes) -> tuple[int, bytes] | None:
    """Return version and share of an ask, or None where it is none; the MAC is not looked at."""
    if len(packet) < _ask.size or packet[0] != Kind.ASK:
        return None
    _, magic, version, share = _ask.unpack_from(packet)
    if magic != MAGIC or (version == PROTOCOL_VERSION and len(packet) != ASK_BYTES):
        return None
    return version, share


def build_challenge(greeting_secret: bytes, session: int, share: bytes, ask: bytes) -> bytes:
    """Return the challenge that answers an ask."""
    body = _challenge.pack(Kind.CHALLENGE, session, share)
    return body + _mac(greeting_secret, ask + body)


def read_challenge(packet: bytes) -> tuple[int, bytes] | None:
    """Return session and share of a challenge, or None where it is none; the MAC is not looked at."""
    if len(packet) != CHALLENGE_BYTES or packet[0] != Kind.CHALLENGE:
        return None
    _, session, share = _challenge.unpack_from(packet)
    return session, share


def is_authentic(greeting_secret: bytes, packet: bytes, before: bytes = b"") -> bool:
    """Whether the MAC at a packet's end is right, given the packets before it."""
    return hmac.compare_digest(_mac(greeting_secret, before + packet[:-MAC_BYTES]), packet[-MAC_BYTES:])


def check_hello(hello: bytes) -> None:
    """Refuse a Hello that no proof can carry.

    Raises:
        LocalProtocolError: It is larger than ``MAX_HELLO_BYTES``.
    """
    if len(hello) > MAX_HELLO_BYTES:
        raise LocalProtocolError(
            f"a Hello of {len(hello)} bytes; a handshake carries {MAX_HELLO_BYTES}",
            hint="leave low and high of the task's spaces empty, and let the policy know the bounds",
        )


def build_proof(
    greeting_secret: bytes, agreement: Agreement, edge_share: bytes, listener_share: bytes, hello: bytes
) -> bytes:
    """Return the proof: the Hello, sealed, padded so that no answer to it is larger.

    The seal alone would prove the key. The MAC around it is cheap to check, so that nobody without the key
    can make the listener compute an exchange.
    """
    header = _proof.pack(Kind.PROOF, agreement.session, edge_share, listener_share)
    body = _length.pack(len(hello)) + hello
    body = body.ljust(MIN_PROOF_BYTES - _AROUND_BODY_BYTES, b"\0")
    sealed = header + AESGCM(agreement.proof).encrypt(_PROOF_NONCE, body, header)
    return sealed + _mac(greeting_secret, sealed)


def read_proof(packet: bytes) -> tuple[int, bytes, bytes] | None:
    """Return session, edge's share and listener's share of a proof, or None; nothing is verified yet."""
    if not MIN_PROOF_BYTES <= len(packet) <= MAX_PROOF_BYTES or packet[0] != Kind.PROOF:
        return None
    _, session, edge_share, listener_share = _proof.unpack_from(packet)
    return session, edge_share, listener_share


def open_proof(agreement: Agreement, packet: bytes) -> bytes:
    """Return the Hello's bytes within a proof.

    Raises:
        cryptography.exceptions.InvalidTag: The peer does not know the key.
        ValueError: The peer knows the key and writes nonsense.
    """
    header = packet[:PROOF_HEADER_BYTES]
    body = AESGCM(agreement.proof).decrypt(_PROOF_NONCE, packet[PROOF_HEADER_BYTES:-MAC_BYTES], header)
    (length,) = _length.unpack_from(body)
    if length > len(body) - _length.size:
        raise ValueError(f"a Hello of {length} bytes in a proof that holds {len(body) - _length.size}")
    return body[_length.size : _length.size + length]


def build_refusal(reason: Refusal, share: bytes) -> bytes:
    """Return a refusal; it echoes the edge's share, which only one who saw the ask can know."""
    return _refusal.pack(Kind.REFUSAL, reason, PROTOCOL_VERSION, share)


def read_refusal(packet: bytes) -> tuple[int, int, bytes] | None:
    """Return reason, the listener's version and the echoed share, or None where it is no refusal."""
    if len(packet) < REFUSAL_BYTES or packet[0] != Kind.REFUSAL:
        return None
    _, reason, version, share = _refusal.unpack_from(packet)
    return reason, version, share


def build_unknown(session: int) -> bytes:
    """Return the hint that a listener knows no such session (any more)."""
    return _unknown.pack(Kind.UNKNOWN, session)


def read_unknown(packet: bytes) -> int | None:
    """Return the session that a listener does not know, or None where the packet says no such thing."""
    if len(packet) != UNKNOWN_BYTES or packet[0] != Kind.UNKNOWN:
        return None
    return int(_unknown.unpack_from(packet)[1])


def _mac(secret: bytes, data: bytes) -> bytes:
    return hmac.digest(secret, data, "sha256")[:MAC_BYTES]


def _expand(secret: bytes, *, salt: bytes, info: bytes, n_bytes: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=n_bytes, salt=salt, info=info).derive(secret)
