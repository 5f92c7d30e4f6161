"""ProberLink: a prober's way to its reflector: the socket, the handshake, the session's seals.

::

    ask --(repeat)--> challenge: proof --(repeat)--> Welcome | Goodbye      then: send(message), take() -> message

Knows no plan and no record.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import time
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple, Self

from netlab.errors import ConnectionLost, KernelError, RemoteProtocolError, SpecError, WireError
from netlab.messages import Goodbye, Welcome
from netlab.probe.greeting import build_hello
from netlab.probe.probe_plan import ProbePlan
from netlab.probe.stamped_socket import StampedSocket
from netlab.wire.address import Address, Endpoint, choose_key
from netlab.wire.codec import decode
from netlab.wire.copy_opener import CopyOpener
from netlab.wire.handshake import Initiator
from netlab.wire.key import Key
from netlab.wire.seal import Sealer
from netlab.wire.statistics import Statistics

__all__ = ["ProberLink", "Taken", "size_error"]

FIRST_REPEAT_S = 0.1
LONGEST_REPEAT_S = 1.0
BELIEVED_REFUSALS = 3
"""Nobody signs a refusal: a single one may be forged."""
_RUN_BITS = 62


class Taken(NamedTuple):
    """A message that has verified.

    Attributes:
        message: The message.
        stamp_ns: When it arrived.
        is_stamped: Whether the kernel has said so.
    """

    message: bytes
    stamp_ns: int
    is_stamped: bool = True


class ProberLink:
    """A session with a reflector; made by ``ProberLink.open``.

    Args:
        sock: Its socket, connected; the link's own from now on.
        peer: The reflector's address.

    Attributes:
        socket: Its socket.
        peer: The reflector's address.
        statistics: Datagrams that were not believed.
    """

    def __init__(self, sock: StampedSocket, peer: Address) -> None:
        self.socket = sock
        self.peer = peer
        self.statistics = Statistics()
        self._sealer: Sealer | None = None
        self._opener: CopyOpener | None = None

    @classmethod
    def open(
        cls,
        peer: Address,
        key: Key | None,
        plan: ProbePlan,
        *,
        local_port: int = 0,
        timeout_s: float = 10.0,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Self:
        """Return a link whose session stands; tries each address of the peer's name.

        Args:
            peer: The reflector's address.
            key: The shared key; None only on loopback.
            plan: What is going to be sent.
            local_port: Port to send from; 0 for any.
            timeout_s: How long to try, in all.
            stopped: Whether somebody wants the program to end.

        Raises:
            AuthError: No key off loopback, or the reflector refuses ours.
            ConnectionLost: Nobody answers, the name has no address, or the program is to end.
            RemoteProtocolError: The peer is no reflector, of another version, or refuses this prober.
            KernelError: There is no way to the address, or the local port is taken.
            SpecError: The probes do not fit the network to the address.
        """
        endpoints = peer.resolve(socket.SOCK_DGRAM)
        chosen = choose_key(key, peer, endpoints, "probe")
        patience_s = timeout_s / len(endpoints)
        for endpoint in endpoints[:-1]:
            with contextlib.suppress(KernelError, SpecError, ConnectionLost):
                return cls._reach(peer, endpoint, chosen, plan, local_port, patience_s, stopped, has_others=True)
        has_others = len(endpoints) > 1
        return cls._reach(
            peer, endpoints[-1], chosen, plan, local_port, patience_s, stopped, has_others=has_others
        )

    @classmethod
    def _reach(
        cls,
        peer: Address,
        endpoint: Endpoint,
        key: Key,
        plan: ProbePlan,
        local_port: int,
        patience_s: float,
        stopped: Callable[[], bool],
        *,
        has_others: bool,
    ) -> Self:
        """Return a link to one address, over which the probes fit and whose session stands."""
        link = cls(StampedSocket.connected(peer, endpoint, local_port), peer)
        try:
            if (most_bytes := link.socket.most_bytes) < plan.size_bytes:
                raise size_error(plan.size_bytes, most_bytes)
            link._greet(key, plan, patience_s, stopped, has_others=has_others)
        except BaseException:
            link.close()
            raise
        return link

    def send(self, message: bytes) -> bool:
        """Send a message, sealed, now or never; whether it left."""
        assert self._sealer is not None
        return self.socket.send(self._sealer.seal(message))

    def seal(self, message: bytes) -> bytes:
        """Return a message, sealed."""
        assert self._sealer is not None
        return self._sealer.seal(message)

    def take(self) -> Taken | None:
        """Return the next message that verifies; None where nothing is left."""
        while (datagram := self.socket.take()) is not None:
            if self._opener is not None:
                try:
                    message = self._opener.open(datagram.data).message
                    return Taken(message, datagram.stamp_ns, datagram.is_stamped)
                except WireError:
                    continue
        return None

    def close(self) -> None:
        """Let go of the socket."""
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _greet(
        self, key: Key, plan: ProbePlan, timeout_s: float, stopped: Callable[[], bool], *, has_others: bool
    ) -> None:
        """Do the handshake."""
        initiator = Initiator(key, build_hello(plan, secrets.randbits(_RUN_BITS)))
        now_s = time.monotonic()
        deadline_s, send_s, repeat_s = now_s + timeout_s, now_s, FIRST_REPEAT_S
        while now_s < deadline_s and not stopped():
            if now_s >= send_s:
                self.socket.send(initiator.request)
                send_s, repeat_s = now_s + repeat_s, min(2.0 * repeat_s, LONGEST_REPEAT_S)
            if self._opener is None and self._take_challenge(initiator):
                send_s, repeat_s = now_s, FIRST_REPEAT_S
                continue
            if self._opener is not None and self._is_welcome():
                return
            if initiator.refusal is not None and initiator.refusals >= BELIEVED_REFUSALS:
                raise initiator.refusal
            if has_others and self.socket.port_refusals:
                break
            self.socket.wait(min(send_s, deadline_s) - time.monotonic())
            now_s = time.monotonic()
        raise self._silence(initiator, timeout_s, is_stopped=stopped())

    def _take_challenge(self, initiator: Initiator) -> bool:
        """Whether the reflector has proven the key."""
        while (datagram := self.socket.take()) is not None:
            initiator.receive(datagram.data)
            if initiator.agreement is not None:
                agreement = initiator.agreement
                self._sealer = Sealer(agreement.sending, agreement.session)
                self._opener = CopyOpener(agreement.receiving, agreement.session, self.statistics)
                return True
        return False

    def _is_welcome(self) -> bool:
        taken = self.take()
        if taken is None:
            return False
        answer = decode(taken.message)
        if isinstance(answer, Goodbye) and answer.refused:
            raise RemoteProtocolError(f"{self.peer} refuses this prober: {answer.reason}")
        return isinstance(answer, Welcome)

    def _silence(self, initiator: Initiator, waited_s: float, *, is_stopped: bool) -> ConnectionLost:
        if is_stopped:
            return ConnectionLost(f"stopped before {self.peer} answered")
        if self._opener is not None:
            words = f"{self.peer} has our key but does not welcome us"
        elif initiator.refusal is not None:
            words = f"{self.peer}: {initiator.refusal}"
        elif self.socket.port_refusals:
            words = f"nobody answers at {self.peer}, and its host says that the port is closed"
        else:
            words = f"nobody answers at {self.peer}"
        hint = (
            "is `netlab probe serve` running there, on this port, with the same key file (it answers no other: "
            "compare with `sha256sum`), and no firewall between (UDP)?"
        )
        return ConnectionLost(f"{words}; waited {waited_s:g} s", hint=hint)


def size_error(size_bytes: int, most_bytes: int) -> SpecError:
    """Return the error of probes that would have to go in fragments.

    Args:
        size_bytes: UDP payload of a probe.
        most_bytes: What goes to the peer in one packet, as far as this host knows.
    """
    return SpecError(
        f"{size_bytes}: must be at most {most_bytes} on the way to this peer, since a probe is one packet",
        key="size_bytes",
        hint="Ethernet carries 1472 over IPv4 and 1452 over IPv6; PPPoE 8 less, tunnels less again (`tracepath`)",
    )
