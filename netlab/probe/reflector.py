"""Reflector: a socket and a clock around a Reflection, until it is stopped.

::

    take --> Reflection --> stamp, seal, send
"""

from __future__ import annotations

import socket
import time
from types import TracebackType
from typing import Self

from netlab.probe.departure import Departure
from netlab.probe.reflection import Answer, Bounds, Reflection
from netlab.probe.reflection_counters import ReflectionCounters
from netlab.probe.stamped_socket import StampedSocket
from netlab.wire.address import Address, choose_key
from netlab.wire.key import Key

__all__ = ["Reflector"]

TAKEN_AT_ONCE = 256
CHECK_S = 1.0
WAIT_S = 1.0


class Reflector:
    """Answers the probes of those who have the key.

    Args:
        address: Where to listen; port 0 takes any free port.
        key: The shared key; None only on loopback.
        bounds: What it keeps and does at most.

    Raises:
        AuthError: No key, and the address is not loopback.
        KernelError: The address cannot be had.
        ConnectionLost: The name has no address.
    """

    def __init__(self, address: Address, key: Key | None = None, bounds: Bounds | None = None) -> None:
        endpoints = address.resolve(socket.SOCK_DGRAM)
        chosen = choose_key(key, address, endpoints, "listen on")
        self._reflection = Reflection(chosen, time.monotonic(), bounds)
        self._socket = StampedSocket.listening(address, endpoints)
        self._stopped_by = ""
        self._check_s = time.monotonic()

    @property
    def address(self) -> Address:
        """Return where it listens: the numeric address and the port it got."""
        return self._socket.address

    @property
    def counters(self) -> ReflectionCounters:
        """Return what it has done."""
        return self._reflection.counters

    def stop(self, name: str) -> None:
        """Have ``run`` return soon. Safe in a signal handler and in another thread."""
        self._stopped_by = name or "stop"

    def run(self) -> ReflectionCounters:
        """Answer until ``stop``; return what was done."""
        while not self._stopped_by:
            self.serve(WAIT_S)
        return self.counters

    def serve(self, timeout_s: float) -> None:
        """Wait for datagrams and answer those that are there."""
        if not self._socket.wait(timeout_s):
            self._check(time.monotonic())
            return
        for _ in range(TAKEN_AT_ONCE):
            datagram = self._socket.take()
            if datagram is None:
                break
            self._reflection.note_clock(self._socket.clock_steps)
            answer = self._reflection.take(
                datagram.data,
                datagram.address,
                datagram.stamp_ns,
                time.monotonic(),
                is_stamped=datagram.is_stamped,
            )
            if answer is not None:
                self._send(answer)
        self._check(time.monotonic())

    def close(self) -> None:
        """Let go of the address."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, answer: Answer) -> None:
        packet = answer.build(self._socket.now_ns())
        if not packet:
            return
        # Once more, as late as can be: by this stamp the delays back are measured.
        answer.note_sent(self._socket.now_ns())
        departure = self._socket.depart(packet, answer.address)
        if departure is not Departure.LEFT:
            self._reflection.note_unsent(answer, departure)

    def _check(self, now_s: float) -> None:
        if now_s - self._check_s >= CHECK_S:
            self._check_s = now_s
            self._reflection.forget_idle(now_s)
