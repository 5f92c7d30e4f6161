"""A listener and the channels that edges have to it, in one thread, under a clock that only the test moves."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from netlab.errors import WireError
from netlab.messages import Message
from netlab.wire.channel import Channel, Received, Transport
from netlab.wire.dialer import Dialer
from netlab.wire.key import Key
from netlab.wire.listener import Listener
from netlab.wire.pulse import Timing
from netlab.wire.session import Closed, Event, Opened, Refused, Session

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from wire_messages import WELCOME, make_hello

PATIENCE_S = 30.0
"""How long a test waits for what must come; never a sleep, only a bound."""
KEY = Key(bytes(range(32)))


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class Remote:
    """The other side of a test: a listener that welcomes everyone and notes what it hears."""

    def __init__(
        self,
        transport: Transport,
        clock: Callable[[], float],
        key: Key | None = KEY,
        timing: Timing | None = None,
        max_sessions: int = 8,
    ) -> None:
        self.listener = Listener(
            ("127.0.0.1", 0), key, transport, timing=timing, clock=clock, max_sessions=max_sessions
        )
        self.transport: Transport = transport
        self.clock = clock
        self.key = key
        self.timing = timing
        self.welcomes = True
        self.opened: list[Session] = []
        self.closed: list[Closed] = []
        self.refused: list[Refused] = []
        self.messages: list[Message] = []

    def serve(self, timeout_s: float = 0.0) -> list[Event]:
        events = self.listener.poll(timeout_s)
        for event in events:
            if isinstance(event, Opened):
                self.opened.append(event.session)
                if self.welcomes:
                    event.session.send(WELCOME)
            elif isinstance(event, Received):
                assert event.session in self.opened
                self.messages.append(event.message)
            elif isinstance(event, Closed):
                self.closed.append(event)
            else:
                self.refused.append(event)
        return events

    def dialer(self, run: int = 1, key: Key | None = None, timing: Timing | None = None) -> Dialer:
        return Dialer(
            self.listener.address,
            key or self.key,
            make_hello(run=run),
            self.transport,
            timing=timing or self.timing,
            clock=self.clock,
        )

    def connect(self, run: int = 1) -> tuple[Channel, Session]:
        channel = self.complete(self.dialer(run))
        return channel, self.opened[-1]

    def complete(self, dialer: Dialer) -> Channel:
        channels: list[Channel] = []

        def is_connected() -> bool:
            channel = dialer.poll()
            if channel is not None:
                channels.append(channel)
            return bool(channels)

        self.until(is_connected)
        return channels[0]

    def until(self, condition: Callable[[], bool]) -> None:
        """Serve until something holds; fail if it never does."""
        deadline_s = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline_s, "waited in vain"
            self.serve(0.001)

    def error_of(self, dialer: Dialer) -> WireError:
        """Dial until it fails for good."""
        errors: list[WireError] = []

        def has_failed() -> bool:
            try:
                assert dialer.poll() is None
            except WireError as error:
                errors.append(error)
            if isinstance(self.clock, Clock):
                self.clock.now_s += 0.05
            return bool(errors)

        self.until(has_failed)
        return errors[0]


def receive_all(channel: Channel, n: int) -> list[Message]:
    """Receive until n messages have come; fail if they never do."""
    deadline_s = time.monotonic() + PATIENCE_S
    messages: list[Message] = []
    while len(messages) < n:
        assert time.monotonic() < deadline_s, f"only {len(messages)} of {n} messages came"
        messages += [received.message for received in channel.receive(0.01)]
    return messages
