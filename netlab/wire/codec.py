"""Messages as bytes: MessagePack with a tag, one message a frame, nothing read before its size is known.

Pure: knows no socket, no key, no clock. What comes in is hostile until proven otherwise, so ``decode`` has
one way to fail: ``RemoteProtocolError``. Bytes come from the peer even when the seal was good, since a peer
with the right key can still be broken.

::

    Message --encode--> bytes --(seal, socket, open)--> bytes --decode--> Message | RemoteProtocolError

The messages of every tick are MessagePack arrays (no field names travel); those of a session's start and end
are maps, so that a person can read them in a dump. The first byte tells the two apart.

Source: the MessagePack specification (first-byte ranges of array and map).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from netlab.errors import LocalProtocolError, RemoteProtocolError
from netlab.messages import (
    MAX_PAYLOAD_BYTES,
    PROTOCOL_VERSION,
    Action,
    Goodbye,
    Heartbeat,
    Hello,
    Message,
    Observation,
    Welcome,
)

__all__ = ["MAX_MESSAGE_BYTES", "decode", "encode", "version_error"]

MAX_MESSAGE_BYTES = MAX_PAYLOAD_BYTES
"""The largest message in bytes, envelope included; a transport may allow less."""

_FIXED_ARRAY = 0x90
_HIGH_NIBBLE = 0xF0

_encode = msgspec.msgpack.Encoder().encode
_TickMessage = Observation | Action | Heartbeat
_Greeting = Hello | Welcome | Goodbye
_decode_array: Callable[[bytes | memoryview], _TickMessage] = msgspec.msgpack.Decoder(_TickMessage).decode
_decode_map: Callable[[bytes | memoryview], _Greeting] = msgspec.msgpack.Decoder(_Greeting).decode


def encode(message: Message) -> bytes:
    """Return a message as bytes.

    Raises:
        LocalProtocolError: The message is larger than ``MAX_MESSAGE_BYTES`` or holds a value that no
            message may hold: a bug of the caller.
    """
    try:
        data = _encode(message)
    except (TypeError, ValueError, OverflowError) as error:
        raise LocalProtocolError(f"{type(message).__name__} cannot be encoded: {error}") from error
    if len(data) > MAX_MESSAGE_BYTES:
        raise LocalProtocolError(
            f"{type(message).__name__} is {len(data)} bytes on the wire; {MAX_MESSAGE_BYTES} are allowed"
        )
    return data


def decode(data: bytes | memoryview) -> Message:
    """Return the message that bytes from a peer hold.

    Time and memory are bounded by ``len(data)``: a length written inside it is believed only as far as
    bytes follow.

    Raises:
        RemoteProtocolError: Anything but exactly one valid message of our protocol version.
    """
    if not 0 < len(data) <= MAX_MESSAGE_BYTES:
        raise RemoteProtocolError(f"a message of {len(data)} bytes; 1 .. {MAX_MESSAGE_BYTES} are allowed")
    message: Message
    try:
        if data[0] & _HIGH_NIBBLE == _FIXED_ARRAY:
            return _decode_array(data)
        message = _decode_map(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise RemoteProtocolError(f"a message of {len(data)} bytes is malformed: {error}") from error
    if isinstance(message, Hello | Welcome):
        _check_agreement(message)
    return message


def version_error(theirs: int, where: str = "") -> RemoteProtocolError:
    """Return the error for a peer that speaks another version of the protocol.

    Args:
        theirs: The peer's protocol version.
        where: Who it is, as text; empty for "the peer".
    """
    return RemoteProtocolError(
        f"{where or 'the peer'} speaks protocol version {theirs}, this netlab version {PROTOCOL_VERSION}",
        hint="install the same netlab on both hosts; `netlab --version` shows what is there",
    )


def _check_agreement(message: Hello | Welcome) -> None:
    """Refuse a greeting of another version, or with spaces that nobody could allocate."""
    if message.protocol != PROTOCOL_VERSION:
        raise version_error(message.protocol)
    if isinstance(message, Hello):
        for name, space in (("observation", message.task.observation), ("action", message.task.action)):
            problem = space.problem()
            if problem:
                raise RemoteProtocolError(f"the task's {name} space: {problem}")
