"""The length of a message's frame on a link: what a rate serves, and what a packet log shows.

Pure: nothing is sealed or sent to know it.
"""

from __future__ import annotations

from netlab.messages import Message
from netlab.wire.codec import encode
from netlab.wire.seal import SEAL_BYTES

__all__ = ["frame_bytes", "stream_bytes"]

_ETHERNET_IP_UDP_BYTES = 14 + 20 + 8
_STREAM_LENGTH_BYTES = 4


def frame_bytes(message: Message) -> int:
    """Return the length of the Ethernet frame that carries a message as a sealed datagram."""
    return _ETHERNET_IP_UDP_BYTES + SEAL_BYTES + len(encode(message))


def stream_bytes(message: Message) -> int:
    """Return how many bytes of a stream a message is, sealed and with its length before it."""
    return _STREAM_LENGTH_BYTES + SEAL_BYTES + len(encode(message))
