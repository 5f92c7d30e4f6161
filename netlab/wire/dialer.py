"""Dialer: how an edge gets to its remote, and back to it, without ever holding up its loop.

::

    poll() -> attempt -> ConnectionLost -> wait (doubling, with jitter) -> attempt -> ... -> channel
                   `---> AuthError, RemoteProtocolError: raised, since waiting will not mend them

``dial`` is the same for those who can wait.
"""

from __future__ import annotations

import random
import select
import socket
import time
from collections.abc import Callable
from types import TracebackType

from netlab.errors import ConnectionLost, SpecError
from netlab.messages import Hello, Welcome
from netlab.wire.address import Address, choose_key
from netlab.wire.attempt import Attempt, DatagramAttempt, StreamAttempt, Target
from netlab.wire.channel import Channel, Transport
from netlab.wire.key import Key
from netlab.wire.pulse import Timing

__all__ = ["Dialer", "dial"]

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0

_ATTEMPTS: dict[str, tuple[socket.SocketKind, Callable[[Target], Attempt]]] = {
    "datagram": (socket.SOCK_DGRAM, DatagramAttempt),
    "stream": (socket.SOCK_STREAM, StreamAttempt),
}


class Dialer:
    """Dials again and again until the remote welcomes us; a state machine that never waits.

    The name is looked up once, here, which may wait; nothing after does. After it has given a channel, the
    next ``poll`` dials anew: one dialer serves an edge for all its life.

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
        where = Address(*address)
        family, numeric = where.resolve(kind)
        chosen = choose_key(key, where, numeric[0], "dial")
        self._target = Target(where, family, numeric, chosen, hello, timing or Timing(), clock)
        self._clock = clock
        self._jitter = jitter or random.Random()
        self._attempt: Attempt | None = None
        self._pause_s = FIRST_PAUSE_S
        self._next_attempt_s = clock()
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
                if self._clock() < self._next_attempt_s:
                    return None
                self.attempts += 1
                self._attempt = self._make_attempt(self._target)
            channel = self._attempt.poll()
        except ConnectionLost as error:
            self._pause(error)
            return None
        except BaseException:
            self.close()
            raise
        if channel is not None:
            self.welcome = self._attempt.welcome
            self._attempt = None
            self._pause_s = FIRST_PAUSE_S
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
        error = self.last_error or ConnectionLost(f"{self._target.where} was not dialled")
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

    def _pause(self, error: ConnectionLost) -> None:
        self.close()
        self.last_error = error
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
