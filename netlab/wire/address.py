"""Address: where a service listens, as people type it and as sockets want it; and whether it is loopback.

Owns the rule that a key is needed off loopback. Knows no socket but the name lookup.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from typing import NamedTuple

from netlab.errors import AuthError, ConnectionLost, SpecError
from netlab.wire.key import OPEN_KEY, Key

__all__ = ["Address", "Endpoint", "choose_key"]

MAX_PORT = 65535

SocketAddress = tuple[str, int] | tuple[str, int, int, int]
"""What ``socket`` takes and gives: IPv4 or IPv6."""


class Endpoint(NamedTuple):
    """One numeric address that a name leads to.

    Attributes:
        family: Its address family.
        numeric: The address as ``socket`` wants it.
    """

    family: socket.AddressFamily
    numeric: SocketAddress


class Address(NamedTuple):
    """A host and a port.

    Attributes:
        host: Name or address, IPv4 or IPv6 (without brackets).
        port: 0 .. 65535; 0 asks a listener for any free port.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read ``host:port`` or ``[ipv6]:port``.

        Raises:
            SpecError: Not of that form, or the port is outside 0 .. 65535.
        """
        host, colon, port = text.rpartition(":")
        bare = host.removeprefix("[").removesuffix("]")
        digits = port.isascii() and port.isdigit()
        if not colon or not bare or not digits or (":" in bare and host == bare) or int(port[:6]) > MAX_PORT:
            raise SpecError(
                f"{text!r} is not an address: host:port with a port of 0 .. {MAX_PORT}",
                hint="for example 127.0.0.1:7447, robot.local:7447 or [::1]:7447",
            )
        return cls(bare, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def resolve(self, kind: socket.SocketKind) -> tuple[Endpoint, ...]:
        """Return all numeric addresses of the host, at least one, in the order the resolver prefers.

        Args:
            kind: ``SOCK_DGRAM`` or ``SOCK_STREAM``.

        Raises:
            ConnectionLost: The name has no address now.
            SpecError: The name cannot be one of a host.
        """
        try:
            found = socket.getaddrinfo(self.host, self.port, type=kind)
        except OSError as error:
            raise ConnectionLost(
                f"{self.host} has no address: {error.strerror}",
                hint="check the name or use the numeric address",
            ) from error
        except ValueError as error:
            raise SpecError(f"{self.host!r} is not a host name: {error}") from error
        # One address may stand in the resolver's tables more than once.
        return tuple(dict.fromkeys(Endpoint(family, numeric) for family, _, _, _, numeric in found))  # type: ignore[arg-type]


def choose_key(key: Key | None, where: Address, endpoints: Iterable[Endpoint], verb: str) -> Key:
    """Return the key to use, or refuse to go off loopback without a real one.

    Args:
        key: The user's key, or None.
        where: The address as the user gave it.
        endpoints: What it resolved to.
        verb: ``listen on`` or ``dial``, for the message.

    Raises:
        AuthError: No key (or only the open one), and one of the addresses is not loopback.
    """
    if key is not None and not key.is_open:
        return key
    if not all(_is_loopback(endpoint) for endpoint in endpoints):
        raise AuthError(
            f"refuse to {verb} {where} without a key: anybody on that network could take part",
            hint="`netlab key new PATH` makes one; give the same file to both services; or stay on 127.0.0.1",
        )
    return OPEN_KEY


def _is_loopback(endpoint: Endpoint) -> bool:
    return ipaddress.ip_address(endpoint.numeric[0].partition("%")[0]).is_loopback
