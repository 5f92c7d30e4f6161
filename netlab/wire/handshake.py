"""Handshake: two state machines that prove one key to each other over a network that loses and repeats.

No socket, no clock: bytes and the time come in as arguments, bytes go out. The edge is the ``Initiator``,
the listener a ``Responder``.

::

    edge                                                     listener
      |  ask: one-time share, MAC by the key  ----------------> | knows the key? else: refusal
      |                                                         | (keeps nothing)
      | <---- challenge: session, share, MAC over ask and it    |
      |  knows the key, and now, not in a recording             |
      |                                                         |
      |  proof: Hello, sealed by key + both shares -----------> | knows the key, and now: session opens
      | <------------------------- first sealed frame (Welcome) |

Nothing is lost for good: the initiator repeats ``request`` until the next packet comes, and every answer
is a function of the question. Nobody without the key can make the listener hold state or do more than three
MACs: a session's identity is a MAC of the edge's share, so nothing is kept between challenge and proof, and
a proof is looked into only once its MAC is right. A proof recorded and shown again opens nothing: the
sessions that a share of the listener's has opened are remembered as long as that share lives. No answer is
larger than its question.
"""

from __future__ import annotations

import hmac
import os
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from netlab.errors import AuthError, RemoteProtocolError, WireError
from netlab.messages import PROTOCOL_VERSION, Hello
from netlab.wire import key_agreement as packets
from netlab.wire.codec import decode, encode, version_error
from netlab.wire.key import Key
from netlab.wire.key_agreement import Agreement, Kind, Refusal
from netlab.wire.statistics import Rejection, Statistics

__all__ = ["Accepted", "Initiator", "Reply", "Responder"]

SHARE_LIFE_S = 60.0
"""How long a listener uses one X25519 share; it is believed for as long again."""
MAX_OPENED = 1024
"""Sessions one share may open before it is replaced early."""

WRONG_KEY_HINT = (
    "the keys differ, or one side was started without --key-file: give both the same key file "
    "(compare with `sha256sum`; a lab makes its own key)"
)


class Initiator:
    """The edge's half.

    Args:
        key: The shared key.
        hello: What to say once the listener has proven the key.

    Raises:
        LocalProtocolError: The Hello is too large.

    Attributes:
        request: The packet to send now, and again until something changes.
        agreement: Set once the listener has proven the key; ``request`` is the proof from then on.
        refusal: What a refusal said. Nobody signs a refusal, so it is a hint, not a fact.
        refusals: How many refusals have come.
    """

    def __init__(self, key: Key, hello: Hello) -> None:
        self._key = key
        self._hello = encode(hello)
        packets.check_hello(self._hello)
        self._private: X25519PrivateKey | None = X25519PrivateKey.generate()
        self._share = self._private.public_key().public_bytes_raw()
        self._secret = packets.derive_greeting_secret(key)
        self._ask = packets.build_ask(self._secret, self._share)
        self.request = self._ask
        self.agreement: Agreement | None = None
        self.refusal: WireError | None = None
        self.refusals = 0

    def receive(self, packet: bytes) -> bool:
        """Take a packet from the network; whatever it holds, this does not raise.

        Returns:
            Whether it changed anything: True for the first good challenge and for a refusal.
        """
        refusal = packets.read_refusal(packet)
        if refusal is not None:
            return self._take_refusal(*refusal)
        challenge = packets.read_challenge(packet)
        if challenge is None or self._private is None:
            return False
        if not packets.is_authentic(self._secret, packet, before=self._ask):
            return False
        _, listener_share = challenge
        try:
            agreement = packets.derive_agreement(self._key, self._private, listener_share, self._ask, packet)
        except ValueError:
            return False
        self.request = packets.build_proof(self._secret, agreement, self._share, listener_share, self._hello)
        self.agreement = agreement
        self._private = None  # forward secrecy: from here on nobody can derive these keys again
        return True

    def _take_refusal(self, reason: int, version: int, share: bytes) -> bool:
        if not hmac.compare_digest(share, self._share):
            return False
        self.refusals += 1
        if version != PROTOCOL_VERSION or reason == Refusal.VERSION:
            self.refusal = version_error(version, "the listener")
        elif reason == Refusal.HELLO:
            self.refusal = RemoteProtocolError(
                "the listener finds our Hello malformed", hint="install the same netlab on both hosts"
            )
        else:
            self.refusal = AuthError("the listener refuses our key", hint=WRONG_KEY_HINT)
        return True


@dataclass(frozen=True, slots=True)
class Reply:
    """A packet to send back to where the question came from.

    Attributes:
        packet: The bytes; never more than the question had.
        refusal: Why the peer is turned away; None where it is not.
    """

    packet: bytes
    refusal: WireError | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """A peer has proven the key, freshly; happens once a session.

    Attributes:
        agreement: The session's identity and keys, from the listener's side.
        hello: What the edge said.
    """

    agreement: Agreement
    hello: Hello


class _Share:
    """A listener's one-time share and the sessions it has opened."""

    def __init__(self, now_s: float) -> None:
        self.private = X25519PrivateKey.generate()
        self.public = self.private.public_key().public_bytes_raw()
        self.made_s = now_s
        self.opened: dict[int, bytes] = {}
        """Sessions opened with it, and the frame that answers a repeated proof (empty: nothing does)."""
        self._secret = os.urandom(32)

    def session_of(self, edge_share: bytes) -> int:
        """Return the session that an edge's share leads to; unpredictable for others, the same each time."""
        return int.from_bytes(hmac.digest(self._secret, edge_share, "sha256")[:8], "big")


class Responder:
    """The listener's half: one for all edges, keeping nothing of those that have not proven the key.

    Args:
        key: The shared key.
        statistics: Where refusals are counted.
        now_s: The time.
    """

    def __init__(self, key: Key, statistics: Statistics, now_s: float) -> None:
        self._key = key
        self._statistics = statistics
        self._secret = packets.derive_greeting_secret(key)
        self._share = _Share(now_s)
        self._previous: _Share | None = None

    def receive(self, packet: bytes, now_s: float) -> Reply | Accepted | None:
        """Answer a packet of the handshake.

        Args:
            packet: From the network, not longer than ``MAX_PROOF_BYTES``.
            now_s: The time.

        Returns:
            What to send back, or a session that opens, or None where the packet deserves no answer; every
            refusal is counted.
        """
        self.rotate(now_s)
        if packet and packet[0] == Kind.PROOF:
            return self._take_proof(packet)
        ask = packets.read_ask(packet)
        if ask is None:
            return self._ignore(Rejection.MALFORMED)
        return self._take_ask(packet, *ask)

    def remember(self, session: int, frame: bytes) -> None:
        """Keep the frame that answers a repeated proof: the first of the session, in case it was lost."""
        for share in (self._share, self._previous):
            if share is not None and session in share.opened and len(frame) <= packets.MIN_PROOF_BYTES:
                share.opened[session] = frame

    def rotate(self, now_s: float) -> None:
        """Replace the share once it is old or well used; the one before it is forgotten."""
        if now_s - self._share.made_s >= SHARE_LIFE_S or len(self._share.opened) >= MAX_OPENED:
            self._previous = self._share
            self._share = _Share(now_s)

    def _take_ask(self, packet: bytes, version: int, edge_share: bytes) -> Reply:
        if version != PROTOCOL_VERSION:
            self._statistics.rejected[Rejection.VERSION] += 1
            return Reply(packets.build_refusal(Refusal.VERSION, edge_share), version_error(version, "an edge"))
        if not packets.is_authentic(self._secret, packet):
            self._statistics.rejected[Rejection.AUTH] += 1
            error = AuthError("an edge does not have our key", hint=WRONG_KEY_HINT)
            return Reply(packets.build_refusal(Refusal.WRONG_KEY, edge_share), error)
        session = self._share.session_of(edge_share)
        return Reply(packets.build_challenge(self._secret, session, self._share.public, packet))

    def _take_proof(self, packet: bytes) -> Reply | Accepted | None:
        proof = packets.read_proof(packet)
        if proof is None:
            return self._ignore(Rejection.MALFORMED)
        session, edge_share, listener_share = proof
        share = self._find_share(listener_share)
        if share is None or share.session_of(edge_share) != session:
            return self._ignore(Rejection.UNKNOWN)
        if not packets.is_authentic(self._secret, packet):
            return self._ignore(Rejection.AUTH)
        if session in share.opened:
            frame = share.opened[session]
            return Reply(frame) if frame else self._ignore(Rejection.REPLAY)
        return self._open_session(packet, share, session, edge_share)

    def _open_session(
        self, packet: bytes, share: _Share, session: int, edge_share: bytes
    ) -> Reply | Accepted | None:
        if len(share.opened) >= MAX_OPENED:
            return self._ignore(Rejection.CROWDED)
        ask = packets.build_ask(self._secret, edge_share)
        challenge = packets.build_challenge(self._secret, session, share.public, ask)
        try:
            agreement = packets.derive_agreement(self._key, share.private, edge_share, ask, challenge)
            hello = decode(packets.open_proof(agreement, packet))
        except InvalidTag:
            return self._ignore(Rejection.AUTH)
        except (ValueError, RemoteProtocolError) as error:
            return self._refuse_hello(edge_share, str(error))
        if not isinstance(hello, Hello):
            return self._refuse_hello(edge_share, f"it is a {type(hello).__name__}")
        share.opened[session] = b""
        return Accepted(agreement.reversed(), hello)

    def _find_share(self, public: bytes) -> _Share | None:
        for share in (self._share, self._previous):
            if share is not None and share.public == public:
                return share
        return None

    def _refuse_hello(self, edge_share: bytes, words: str) -> Reply:
        self._statistics.rejected[Rejection.MALFORMED] += 1
        error = RemoteProtocolError(f"an edge's Hello is malformed: {words}")
        return Reply(packets.build_refusal(Refusal.HELLO, edge_share), error)

    def _ignore(self, reason: Rejection) -> Reply | None:
        """Count a packet that deserves no answer."""
        self._statistics.rejected[reason] += 1
        return None
