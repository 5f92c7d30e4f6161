"""Session: one edge as its listener sees it, and what a listener has to tell.

A session outlives an address (a router may give the edge another one mid-way) but not a restart of either
side: then the edge dials again and gets a new one.

::

    Opened --> Received* --> Closed
    Refused: no session; somebody was turned away
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from msgspec import Struct

from netlab.errors import WireError
from netlab.messages import Goodbye, Hello, Message
from netlab.wire.channel import Received
from netlab.wire.pulse import Pulse, Timing
from netlab.wire.statistics import Statistics

__all__ = ["Closed", "Event", "Opened", "Refused", "Session"]

MAX_REASON_CHARACTERS = 250
"""Even in four-byte characters this fits an answer to a proof."""


class Session(ABC):
    """One edge that has proven the key.

    Args:
        identity: The session's 64 bits.
        hello: What the edge said.
        address: Where it is, as the socket has it.
        timing: Heartbeats and deadlines.
        now_s: The time.

    Attributes:
        id: The session's 64 bits.
        hello: What the edge said.
        statistics: What went through and what did not.
        is_closed: Whether it is over; sending then drops.
    """

    def __init__(
        self, identity: int, hello: Hello, address: tuple[object, ...], timing: Timing, now_s: float
    ) -> None:
        self.id = identity
        self.hello = hello
        self.statistics = Statistics()
        self.pulse = Pulse(timing, self.statistics, now_s)
        self.is_closed = False
        self.address = address
        self.lost = ""
        """Why the transport can no longer carry it; empty while it can."""

    @property
    def peer(self) -> str:
        """Who is at the other end, for a person to read."""
        return f"{self.address[0]}:{self.address[1]}"

    @abstractmethod
    def send(self, message: Message) -> bool:
        """Send a message now or never; does not wait.

        Returns:
            False where it was dropped, which ``statistics.send_dropped`` counts.

        Raises:
            LocalProtocolError: The message cannot be sent at all.
        """

    @abstractmethod
    def release(self) -> None:
        """Let go of what the session alone holds."""

    def close(self, reason: str = "closed", *, refused: bool = False) -> None:
        """Say goodbye and end the session; its listener reports no ``Closed`` for it. May be called again.

        Args:
            reason: Why, for the person at the edge.
            refused: Whether dialling again would be refused again.
        """
        if self.is_closed:
            return
        self.send(Goodbye(reason=reason[:MAX_REASON_CHARACTERS], refused=refused))
        self.is_closed = True
        self.release()

    def __repr__(self) -> str:
        return f"Session({self.id:016x}, {self.peer})"


class Opened(Struct, frozen=True, gc=False):
    """An edge has proven the key and said hello. Answer with a Welcome, or close with ``refused``."""

    session: Session
    hello: Hello
    arrival_s: float


class Closed(Struct, frozen=True, gc=False):
    """A session is over, not by our own ``close``."""

    session: Session
    reason: str


class Refused(Struct, frozen=True, gc=False):
    """Somebody was turned away; told at most once a second, counted always."""

    peer: str
    error: WireError


Event = Opened | Received | Closed | Refused
"""What a listener tells; a ``Received`` from a listener names its session."""
