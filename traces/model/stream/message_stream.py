"""MessageStream: messages over one modelled TCP connection, as netlab's stream channel sends them.

::

    send -> [outbox, bounded: the oldest goes] -> [a little that the kernel holds unsent] -> StreamConnection
    take <- in order, each when its last byte has arrived in order

Knows messages by their length alone.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from netlab.traces.model.stream.connection import StreamConnection

__all__ = ["MessageStream"]

Message = TypeVar("Message")


class _Way(Generic[Message]):
    """What one direction holds."""

    __slots__ = ("outbox", "outbox_bytes", "under_way", "written_bytes")

    def __init__(self) -> None:
        self.outbox: deque[tuple[int, Message]] = deque()
        self.outbox_bytes = 0
        self.under_way: deque[tuple[int, Message]] = deque()
        self.written_bytes = 0


class MessageStream(Generic[Message]):
    """Two directions of messages.

    Args:
        connection: A connection that nothing has been written to.
        unsent_bytes: How much the kernel may hold unsent before it takes no more.
        outbox_bytes: How much may wait for the kernel; beyond, the oldest message goes.

    Attributes:
        dropped: Messages that went so.
    """

    def __init__(self, connection: StreamConnection, unsent_bytes: int, outbox_bytes: int) -> None:
        self.dropped = 0
        self._connection = connection
        self._unsent_bytes = unsent_bytes
        self._outbox_bytes = outbox_bytes
        self._ways: tuple[_Way[Message], _Way[Message]] = (_Way(), _Way())
        self._arrived: deque[tuple[int, int, Message]] = deque()
        connection.refill = self._flush

    def send(self, now_ns: int, way: int, length_bytes: int, message: Message) -> None:
        """Send a message, or keep it until the kernel takes it.

        Args:
            now_ns: The clock; never earlier than what ``take`` returned or was asked for.
            way: 0 is forward, 1 back.
            length_bytes: How many bytes of the stream it is.
            message: The message.
        """
        side = self._ways[way]
        side.outbox.append((length_bytes, message))
        side.outbox_bytes += length_bytes
        self._flush(now_ns, way)
        while side.outbox_bytes > self._outbox_bytes and len(side.outbox) > 1:
            side.outbox_bytes -= side.outbox.popleft()[0]
            self.dropped += 1

    def take(self, until_ns: int) -> tuple[int, int, Message] | None:
        """Take out what arrives next; return when, on which way, and what; None where nothing does until then."""
        while not self._arrived:
            news = self._connection.advance(until_ns)
            if news is None:
                return None
            now_ns, way = news
            received = self._connection.received_bytes(way)
            under_way = self._ways[way].under_way
            while under_way and under_way[0][0] <= received:
                self._arrived.append((now_ns, way, under_way.popleft()[1]))
        if self._arrived[0][0] > until_ns:
            return None
        return self._arrived.popleft()

    def _flush(self, now_ns: int, way: int) -> None:
        """Give the kernel what it takes."""
        side, connection = self._ways[way], self._connection
        while side.outbox and connection.unsent_bytes(way) < self._unsent_bytes:
            length_bytes, message = side.outbox.popleft()
            side.outbox_bytes -= length_bytes
            side.written_bytes += length_bytes
            side.under_way.append((side.written_bytes, message))
            connection.write(now_ns, way, length_bytes)
