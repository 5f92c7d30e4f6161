"""Seal: the AEAD around each frame, its sequence number, and the memory that refuses a second showing.

Pure: no socket, no clock. One ``Sealer`` and one opener a direction of a session; their keys come from the
handshake and serve nothing else.

::

    0      1                 9                 17                                   n-16      n
    +------+-----------------+-----------------+------------------------------------+---------+
    | kind | session         | sequence number | message, encrypted                 | tag     |
    | 0x04 | 64 bits         | 64 bits         |                                    | 128 bits|
    +------+-----------------+-----------------+------------------------------------+---------+
    `------------- header: authenticated, in the clear ------------'
                    `-- bytes 5 .. 16 are the nonce --'

A number is used once a key: it counts up from 0 and the key is given up long before it could wrap. Three kinds
of opener, all of them a ``FrameReader`` with a rule of its own: ``Opener`` for datagrams takes frames in any
order, each once, unless they are older than its window; ``OrderedOpener`` for streams takes number n only after
n - 1, so a frame cannot vanish unseen; ``CopyOpener`` for those who measure is in ``copy_opener.py``.

Source: AES-GCM, NIST SP 800-38D (unique nonces by counter, section 8.2.1); the sliding window of RFC 4303,
section 3.4.3. Measured beside ChaCha20-Poly1305 before choosing: docs/wire.md.
"""

from __future__ import annotations

import struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from netlab.errors import AuthError, ConnectionLost, RemoteProtocolError
from netlab.wire.statistics import Rejection, Statistics

__all__ = [
    "FRAME_LIMIT",
    "HEADER_BYTES",
    "KIND_SEALED",
    "SEAL_BYTES",
    "TAG_BYTES",
    "WINDOW_FRAMES",
    "FrameReader",
    "Opener",
    "OrderedOpener",
    "Sealer",
]

KIND_SEALED = 4
"""First byte of a sealed frame; 1 .. 3 and 5, 6 are the handshake's."""
HEADER_BYTES = 17
TAG_BYTES = 16
SEAL_BYTES = HEADER_BYTES + TAG_BYTES
"""What sealing adds to a message."""
WINDOW_FRAMES = 2048
"""How far behind the newest frame a datagram may still arrive: 4 s at 500 Hz."""
FRAME_LIMIT = 1 << 32
"""Frames one key may seal: 99 days at 500 Hz. 2^32 frames of 60 kB are 2^44 blocks, which leaves whoever would
tell the cipher from chance an advantage of about 2^-41."""

_NONCE_START = 5
_WINDOW_MASK = (1 << WINDOW_FRAMES) - 1
_header = struct.Struct(">BQQ")
_pack_header = _header.pack
_unpack_header = _header.unpack_from


class Sealer:
    """Seals one direction of one session.

    Args:
        secret: Key of this direction, 32 bytes.
        session: Identity of the session, 64 bits.
        frame_limit: Frames after which the key is given up.
    """

    __slots__ = ("_encrypt", "_frame_limit", "_next", "_session")

    def __init__(self, secret: bytes, session: int, *, frame_limit: int = FRAME_LIMIT) -> None:
        self._encrypt = AESGCM(secret).encrypt
        self._session = session
        self._frame_limit = frame_limit
        self._next = 0

    def seal(self, message: bytes) -> bytes:
        """Return a message as a sealed frame with the next number.

        Raises:
            ConnectionLost: The key has sealed all the frames it may; a new session brings a new one.
        """
        number = self._next
        if number >= self._frame_limit:
            raise ConnectionLost(
                f"this session's key has sealed {number} frames, all it may",
                hint="dial again: a new session has a new key",
            )
        self._next = number + 1
        header = _pack_header(KIND_SEALED, self._session, number)
        return header + self._encrypt(header[_NONCE_START:], message, header)


class FrameReader:
    """Reads the frames of one direction of one session: the number, then, if its opener wants it, the message.

    Args:
        secret: Key of this direction, 32 bytes.
        session: Identity of the session.
        statistics: Where refusals are counted.
    """

    __slots__ = ("_decrypt", "_session", "_statistics")

    def __init__(self, secret: bytes, session: int, statistics: Statistics) -> None:
        self._decrypt = AESGCM(secret).decrypt
        self._session = session
        self._statistics = statistics

    def number_of(self, frame: bytes) -> int:
        """Return the sequence number that a frame bears; nothing has verified yet.

        Raises:
            RemoteProtocolError: Not a frame of this session.
        """
        if len(frame) < SEAL_BYTES:
            self._statistics.rejected[Rejection.MALFORMED] += 1
            raise RemoteProtocolError(f"a frame of {len(frame)} bytes; a sealed one has {SEAL_BYTES} or more")
        kind, session, number = _unpack_header(frame)
        if kind != KIND_SEALED:
            self._statistics.rejected[Rejection.MALFORMED] += 1
            raise RemoteProtocolError(f"a frame of kind {kind} where a sealed one ({KIND_SEALED}) is due")
        if session != self._session:
            self._statistics.rejected[Rejection.UNKNOWN] += 1
            raise RemoteProtocolError(f"a frame of session {session:016x}, which is not this one")
        return int(number)

    def message_of(self, frame: bytes, number: int) -> bytes:
        """Return the message in a frame; only now may it change what its opener remembers.

        Raises:
            AuthError: The seal does not verify.
        """
        try:
            return self._decrypt(frame[_NONCE_START:HEADER_BYTES], frame[HEADER_BYTES:], frame[:HEADER_BYTES])
        except InvalidTag:
            self._statistics.rejected[Rejection.AUTH] += 1
            raise AuthError(
                f"the seal of frame {number} does not verify",
                hint="damaged on the way, or somebody without the key sends to this port",
            ) from None

    def refuse(self, problem: str) -> RemoteProtocolError:
        """Return the error of a frame that its opener does not take now, counted."""
        self._statistics.rejected[Rejection.REPLAY] += 1
        return RemoteProtocolError(problem)


class Opener(FrameReader):
    """Opens the frames of one direction of one session as datagrams bring them: late, twice, not at all.

    Args:
        secret: Key of this direction, 32 bytes.
        session: Identity of the session.
        statistics: Where refusals are counted.

    Attributes:
        newest: Whether the frame opened last is the newest so far: only such a one may move an address.
    """

    __slots__ = ("_highest", "_run", "_seen", "newest")

    def __init__(self, secret: bytes, session: int, statistics: Statistics) -> None:
        super().__init__(secret, session, statistics)
        self._highest = -1
        # Frames mostly come in order: those are only counted, and enter the bit map when one does not.
        self._run = 0  # numbers highest - run + 1 .. highest have been opened
        self._seen = 0  # bit i: number highest - run - i has been opened
        self.newest = False

    def open(self, frame: bytes) -> bytes:
        """Return the message in a frame.

        Raises:
            AuthError: The seal does not verify.
            RemoteProtocolError: Not a frame of this session, or opened before, or older than the window.
        """
        number = self.number_of(frame)
        ahead = number - self._highest
        if ahead <= 0 and self._was_seen(-ahead):
            raise self.refuse(f"frame {number} was opened before or is too old (at {self._highest})")
        message = self.message_of(frame, number)
        if ahead == 1:
            self._run += 1
            self._highest = number
            self.newest = True
        else:
            self._mark(ahead)
        return message

    def _was_seen(self, behind: int) -> bool:
        """Whether number ``highest - behind`` was opened, or is too old to know."""
        if behind < self._run or behind >= WINDOW_FRAMES:
            return True
        return bool(self._seen >> (behind - self._run) & 1)

    def _mark(self, ahead: int) -> None:
        """Mark number ``highest + ahead`` as opened; bounded, so that no step makes a huge integer."""
        run, self._run = self._run, 0
        if run >= WINDOW_FRAMES:
            self._seen = _WINDOW_MASK
        else:
            self._seen = (self._seen << run | (1 << run) - 1) & _WINDOW_MASK
        self.newest = ahead > 0
        if ahead <= 0:
            self._seen |= 1 << -ahead
            return
        self._highest += ahead
        self._seen = (self._seen << ahead | 1) & _WINDOW_MASK if ahead < WINDOW_FRAMES else 1


class OrderedOpener(FrameReader):
    """Opens the frames of one direction of one session as a stream brings them: all, in order.

    Args:
        secret: Key of this direction, 32 bytes.
        session: Identity of the session.
        statistics: Where refusals are counted.
    """

    __slots__ = ("_next",)

    def __init__(self, secret: bytes, session: int, statistics: Statistics) -> None:
        super().__init__(secret, session, statistics)
        self._next = 0

    def open(self, frame: bytes) -> bytes:
        """Return the message in a frame. After an error the stream is of no more use: close it.

        Raises:
            AuthError: The seal does not verify.
            RemoteProtocolError: Not a frame of this session, or not the next one.
        """
        number = self.number_of(frame)
        if number != self._next:
            raise self.refuse(f"frame {number} on a stream where {self._next} is due")
        message = self.message_of(frame, number)
        self._next = number + 1
        return message
