"""Channel: messages both ways between an edge and its remote, whatever carries them.

The contract, without an implementation: what ``control`` and the services may count on, and what a fake in a
test must keep. tests/loopback/test_channel.py runs one suite against every implementation.

::

    service --send(message)--> [ channel ] --frames--> network --frames--> [ session of a listener ]
            <--receive()------

A channel never waits unless asked to, never grows, and never hides a loss: what does not leave is counted
where it stays, what is not believed is counted by reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from netlab.messages import Message
from netlab.wire.statistics import Statistics

if TYPE_CHECKING:
    from netlab.wire.session import Session

__all__ = ["Channel", "Received", "Transport"]

Transport = Literal["datagram", "stream"]
"""UDP or TCP: chosen once, where a service starts."""


class Received(Struct, frozen=True, gc=False):
    """A message that has arrived.

    Attributes:
        message: The message.
        arrival_s: When it was taken from the socket, on the channel's clock.
        session: Which edge it is from; None on a channel, which has one peer.
    """

    message: Message
    arrival_s: float
    session: Session | None = None


class Channel(Protocol):
    """Messages both ways to one peer.

    Attributes:
        statistics: What went through and what did not.
        peer: Who is at the other end, for a person to read.
    """

    statistics: Statistics
    peer: str

    def send(self, message: Message) -> bool:
        """Send a message now or never; does not wait.

        Returns:
            False where it was dropped (buffer full, peer gone), which ``statistics.send_dropped`` counts.

        Raises:
            LocalProtocolError: The message cannot be sent at all, or the channel is closed.
        """

    def receive(self, timeout_s: float = 0.0) -> list[Received]:
        """Take all messages that have arrived, in order of arrival; also keeps the heartbeat going.

        Call it at least a few times a second. Heartbeats themselves are not returned.

        Args:
            timeout_s: How long to wait for the first one; 0 does not wait.

        Raises:
            ConnectionLost: The peer is gone, silent or has said goodbye; what it sent before was returned.
            LocalProtocolError: The channel is closed.
        """

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when something arrives; -1 once closed."""

    def close(self, reason: str = "closed") -> None:
        """Say goodbye where that is possible at once, and let go of the socket. May be called again."""
