"""Dialer: how an edge gets to its remote, and back to it, without ever holding up its loop.

::

    poll() -> attempt -> ConnectionLost -> the host's next address -> attempt -> ... -> channel
                 |         after the last one: wait (doubling, with jitter), look the name up again
                 `-----> AuthError, RemoteProtocolError: raised, since waiting will not mend them

``dial`` is the same for those who can wait.
"""

from __future__ import annotations

import random
import select
import socket
import time
from collections.abc import Callable
from types import TracebackType

from netlab.clock_name import in_virtual_time
from netlab.errors import ConnectionLost, SpecError
from netlab.messages import Hello, Welcome
from netlab.wire.address import Address, choose_key
from netlab.wire.attempt import Attempt, DatagramAttempt, StreamAttempt, Target
from netlab.wire.channel import Channel, Transport
from netlab.wire.key import Key
from netlab.wire.lookup import Lookup
from netlab.wire.pulse import Timing

__all__ = ["Dialer", "dial"]

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0
STEADY_S = 5.0
"""A session that has lived so long was a good one: its loss is followed by a dial at once. After a shorter one
the pauses go on growing, or a remote that fails on each edge's first frame would be dialled without end."""
SHORTEST_ATTEMPT_S = 1.0
"""Where a host has many addresses and an attempt's time is shared between them."""
LOOKUP_INTERVAL_S = 5.0

_ATTEMPTS: dict[str, tuple[socket.SocketKind, Callable[[Target], Attempt]]] = {
    "datagram": (socket.SOCK_DGRAM, DatagramAttempt),
    "stream": (socket.SOCK_STREAM, StreamAttempt),
}


class Dialer:
    """Dials again and again until the remote welcomes us; a state machine that never waits.

    The name is looked up here, which may wait, and again in a thread after all its addresses have failed, for
    which nobody waits. After it has given a channel, the next ``poll`` dials anew: one dialer serves an edge
    for all its life.

    Args:
        address: The remote's address.
        key: The shared key; None only on loopback.
        hello: What to say.
        transport: ``datagram`` (UDP) or ``stream`` (TCP).
        timing: Heartbeats and deadlines.
        clock: Seconds that never go back.
        jitter: Source of the pauses' randomness, so that edges do not all come back in the same moment.

    Attributes:
        welcome: What the remote said, once ``poll`` has given a channel.
        last_error: Why the last attempt failed; None before the first failure.
        attempts: How many attempts have begun.

    Raises:
        AuthError: No key, and the address is not loopback.
        ConnectionLost: The name has no address.
    """

    def __init__(
        self,
        address: Address | tuple[str, int],
        key: Key | None,
        hello: Hello,
        transport: Transport = "datagram",
        *,
        timing: Timing | None = None,
        clock: Callable[[], float] = time.monotonic,
        jitter: random.Random | None = None,
    ) -> None:
        if transport not in _ATTEMPTS:
            raise SpecError(f"{transport!r} is not a transport: {' or '.join(_ATTEMPTS)}")
        kind, self._make_attempt = _ATTEMPTS[transport]
        self._where = Address(*address)
        self._lookup = Lookup(self._where, kind)
        self._endpoints = self._lookup.endpoints
        self._turn = 0
        self._looked_s = clock()
        self._key = choose_key(key, self._where, self._endpoints, "dial")
        self._hello = hello
        self._timing = timing or Timing()
        self._clock = clock
        # By chance in real time alone: two runs in virtual time dial at the same moments.
        self._jitter = jitter or random.Random(0 if in_virtual_time() else None)
        self._attempt: Attempt | None = None
        self._pause_s = FIRST_PAUSE_S
        self._next_attempt_s = clock()
        self._given_s: float | None = None
        self.welcome: Welcome | None = None
        self.last_error: ConnectionLost | None = None
        self.attempts = 0

    def poll(self) -> Channel | None:
        """Do what can be done now; return a channel once there is one.

        Raises:
            AuthError: The listener refuses our key.
            RemoteProtocolError: The listener speaks another version, or refuses this edge for good.
        """
        try:
            if self._attempt is None:
                self._judge_last_channel()
                if self._clock() < self._next_attempt_s:
                    return None
                self.attempts += 1
                self._attempt = self._make_attempt(self._next_target())
            channel = self._attempt.poll()
        except ConnectionLost as error:
            self._take_failure(error)
            return None
        except BaseException:
            self.close()
            raise
        if channel is not None:
            self.welcome = self._attempt.welcome
            self._attempt = None
            self._given_s = self._clock()
        return channel

    def wait(self, timeout_s: float) -> None:
        """Wait until ``poll`` has something to do or the time is up; for those with no loop of their own.

        Args:
            timeout_s: How long at most, rounded up to a millisecond.
        """
        now_s = self._clock()
        if self._attempt is None:
            time.sleep(max(0.0, min(timeout_s, self._next_attempt_s - now_s)))
            return
        wait_s = max(0.0, min(timeout_s, self._attempt.next_s() - now_s))
        poll = select.poll()
        poll.register(self._attempt, select.POLLOUT if self._attempt.wants_write else select.POLLIN)
        poll.poll(wait_s * 1e3)

    def describe_failure(self, waited_s: float) -> ConnectionLost:
        """Return the error of one who has waited in vain for some seconds: what the last attempt met."""
        if self._attempt is not None:
            return self._attempt.describe_silence(waited_s)
        error = self.last_error or ConnectionLost(f"{self._where} was not dialled")
        return ConnectionLost(f"{error}; waited {waited_s:g} s", hint=error.hint)

    def close(self) -> None:
        """Give up an attempt that is under way. A channel that was given is not touched."""
        if self._attempt is not None:
            self._attempt.close()
            self._attempt = None

    def __enter__(self) -> Dialer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _next_target(self) -> Target:
        found = self._lookup.take()
        if found and found != self._endpoints:
            # Without a key a name may not lead off loopback later either.
            choose_key(self._key, self._where, found, "dial")
            self._endpoints, self._turn = found, 0
        count = len(self._endpoints)
        attempt_s = self._timing.attempt_s
        return Target(
            self._where,
            self._endpoints[self._turn],
            self._key,
            self._hello,
            self._timing,
            self._clock,
            patience_s=max(attempt_s / count, min(attempt_s, SHORTEST_ATTEMPT_S)),
            has_others=count > 1,
        )

    def _take_failure(self, error: ConnectionLost) -> None:
        """Turn to the host's next address; after the last one pause, and look whether it has others now."""
        self.close()
        self.last_error = error
        self._turn = (self._turn + 1) % len(self._endpoints)
        if self._turn:
            return
        self._pause()
        if self._clock() - self._looked_s >= LOOKUP_INTERVAL_S:
            self._looked_s = self._clock()
            self._lookup.refresh()

    def _judge_last_channel(self) -> None:
        """Whoever polls again has lost the channel we gave: how long it lived tells how soon to dial."""
        if self._given_s is None:
            return
        lived_s = self._clock() - self._given_s
        self._given_s = None
        if lived_s >= STEADY_S:
            self._pause_s = FIRST_PAUSE_S
        else:
            self._pause()

    def _pause(self) -> None:
        self._next_attempt_s = self._clock() + self._pause_s * self._jitter.uniform(0.5, 1.0)
        self._pause_s = min(2.0 * self._pause_s, LONGEST_PAUSE_S)


def dial(
    address: Address | tuple[str, int],
    key: Key | None,
    hello: Hello,
    transport: Transport = "datagram",
    timeout_s: float = 10.0,
    *,
    timing: Timing | None = None,
) -> tuple[Channel, Welcome]:
    """Dial a remote and wait for its welcome. Ctrl-C ends the wait at once.

    Args:
        address: The remote's address.
        key: The shared key; None only on loopback.
        hello: What to say.
        transport: ``datagram`` (UDP) or ``stream`` (TCP).
        timeout_s: How long to try.
        timing: Heartbeats and deadlines.

    Raises:
        ConnectionLost: Nobody has welcomed us in time; says what the last attempt met.
        AuthError: No key off loopback, or the listener refuses ours.
        RemoteProtocolError: The listener speaks another version, or refuses this edge for good.
    """
    deadline_s = time.monotonic() + timeout_s
    with Dialer(address, key, hello, transport, timing=timing) as dialer:
        while True:
            channel = dialer.poll()
            if channel is not None and dialer.welcome is not None:
                return channel, dialer.welcome
            left_s = deadline_s - time.monotonic()
            if left_s <= 0.0:
                raise dialer.describe_failure(timeout_s)
            dialer.wait(left_s)
