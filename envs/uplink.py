"""Uplink: the environment's way to its agent, which may be gone for a while; the loop never waits for it.

::

    each tick:  keep_up -> no channel? one step of the dialer
                send / on_readable ----> channel   (lost: dropped, and dialled again)

A lost connection is dialled again at once, or after a growing pause where it had not lived long: that is the
dialer's business. A refusal (wrong key, another version, a task that is not served)
ends a run that has not begun; later it is most likely an agent being set up anew, and is asked again now and
then.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Protocol

from netlab.errors import ConnectionLost, NetlabError, WireError
from netlab.messages import Message, Welcome
from netlab.wire.channel import Channel, Received

__all__ = ["DialsAgent", "Uplink"]

_ASK_AGAIN_S = 3.0
"""After a refusal of one who had been served."""
_WAIT_SLICE_S = 0.1
"""How soon a stop is noticed while waiting for the first connection."""
_QUIET_WAIT_S = 0.5
"""A wait that a person would not notice is not worth a line."""


class DialsAgent(Protocol):
    """What an uplink needs of ``netlab.wire.dialer.Dialer``.

    Attributes:
        welcome: What the agent last said when it was reached.
    """

    welcome: Welcome | None

    def poll(self) -> Channel | None:
        """Do what can be done now; return a channel once there is one, raise a refusal."""
        ...

    def wait(self, timeout_s: float) -> None:
        """Wait until ``poll`` has something to do, at most so long."""
        ...

    def describe_failure(self, waited_s: float) -> ConnectionLost:
        """Return what the last attempt met."""
        ...

    def close(self) -> None:
        """Give up an attempt that is under way."""
        ...


class Uplink:
    """Keep a channel to the agent.

    Args:
        dialer: Makes channels whose Hello was welcomed.
        now_s: Seconds that never go back.

    Attributes:
        connections: How many channels there have been.
        policy: What the agent last said it serves; empty while it was never reached.
        policy_sha256: Of that policy's file, as the agent said; empty where it has none.
        last_loss: Why the last channel or attempt was lost, for a person; empty while nothing was.
        send_dropped: Messages that did not leave, for want of a channel or of room in the kernel.
        on_message: Called with each message as it arrives; set by the service.
    """

    def __init__(self, dialer: DialsAgent, now_s: Callable[[], float] = time.monotonic) -> None:
        self._dialer = dialer
        self._now_s = now_s
        self._channel: Channel | None = None
        self._dial_again_s = 0.0
        self.connections = 0
        self.policy = ""
        self.policy_sha256 = ""
        self.last_loss = ""
        self.send_dropped = 0
        self.on_message: Callable[[Received], None] = lambda received: None

    @property
    def is_connected(self) -> bool:
        """Whether there is a channel, as far as we know."""
        return self._channel is not None

    def connect(
        self,
        timeout_s: float,
        is_stopped: Callable[[], bool],
        on_wait: Callable[[], None] = lambda: None,
    ) -> bool:
        """Wait for the first channel; return whether there is one.

        Args:
            timeout_s: How long.
            is_stopped: Asked several times a second; true ends the wait.
            on_wait: Called once where the wait is longer than a moment.

        Raises:
            AuthError: The agent does not have our key, or refuses ours.
            RemoteProtocolError: The agent speaks another version, or does not serve this task.
        """
        begin_s, is_quiet = self._now_s(), True
        deadline_s = begin_s + timeout_s
        while not is_stopped():
            self._adopt(self._dialer.poll())
            left_s = deadline_s - self._now_s()
            if self._channel is not None or left_s <= 0.0:
                break
            if is_quiet and self._now_s() - begin_s >= _QUIET_WAIT_S:
                is_quiet = False
                on_wait()
            self._dialer.wait(min(left_s, _WAIT_SLICE_S))
        if self._channel is None:
            waited_s = round(self._now_s() - begin_s, 1) if is_stopped() else timeout_s
            self.last_loss = str(self._dialer.describe_failure(waited_s))
        return self._channel is not None

    def keep_up(self) -> None:
        """Take what has arrived; without a channel, do the next step towards one."""
        self.on_readable()
        if self._channel is not None or self._now_s() < self._dial_again_s:
            return
        try:
            self._adopt(self._dialer.poll())
        except WireError as refusal:
            self.last_loss = str(refusal)
            self._dial_again_s = self._now_s() + _ASK_AGAIN_S

    def send(self, message: Message) -> bool:
        """Send now or never; False where it was dropped (counted)."""
        sent = self._channel is not None and self._channel.send(message)
        self.send_dropped += not sent
        return sent

    def fileno(self) -> int:
        """Return the descriptor to watch; -1 while there is none."""
        return -1 if self._channel is None else self._channel.fileno()

    def on_readable(self) -> None:
        """Hand on what has arrived; drop a channel that is lost."""
        channel = self._channel
        if channel is None:
            return
        try:
            for received in channel.receive():
                self.on_message(received)
        except ConnectionLost as error:
            self.last_loss = str(error)
            self._channel = None
            _close(channel, "lost")

    def close(self, reason: str) -> None:
        """Say goodbye and stop dialling."""
        self._dialer.close()
        if self._channel is not None:
            _close(self._channel, reason)
            self._channel = None

    def _adopt(self, channel: Channel | None) -> None:
        if channel is not None:
            self._channel = channel
            self.connections += 1
            welcome = self._dialer.welcome
            self.policy = "" if welcome is None else welcome.policy
            self.policy_sha256 = "" if welcome is None else welcome.policy_sha256


def _close(channel: Channel, reason: str) -> None:
    """Close what may be broken already: why it is closed is known, and how that went is nobody's concern."""
    with contextlib.suppress(NetlabError, OSError):
        channel.close(reason)
