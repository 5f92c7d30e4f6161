"""What a lab can be: rules for names, links and seeds, the same for a spec file and for a call. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

from netlab.errors import SpecError
from netlab.namespaces.link_plan import MAX_MTU_BYTES, peer_variable

__all__ = [
    "MAX_HOSTS",
    "MIN_MTU_BYTES",
    "check_link",
    "check_name",
    "check_peer",
    "check_seed",
]

MAX_HOSTS = 4096
"""A host costs two file descriptors."""
MIN_MTU_BYTES = 68
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?\Z")


def check_name(name: object, path: str = "", key: str = "", hint: str = "") -> None:
    """Refuse a name that would not do as part of an address, a file or a message.

    Raises:
        SpecError: It is not 1 to 64 letters, digits, ``.``, ``_`` or ``-``, the first and last of them a
            letter or digit.
    """
    if not isinstance(name, str) or not _NAME.match(name):
        rule = "must be 1 to 64 letters, digits, '.', '_' or '-', with a letter or digit at both ends"
        shown = repr(name[:80] if isinstance(name, str) else name)
        raise SpecError(f"{shown:.160} {rule}", path, key, hint)


def check_peer(host: str, peer: str, known: Mapping[str, str], path: str = "", key: str = "link.ends") -> None:
    """Refuse a neighbour whose variable another neighbour of the host has.

    Args:
        host: Name of the host.
        peer: Name of its new neighbour.
        known: Its neighbours so far, by ``peer_variable`` of their names.
        path: The file the spec came from; empty for none.
        key: The key to blame.

    Raises:
        SpecError: Programs in the host could not tell the two apart.
    """
    variable = peer_variable(peer)
    other = known.get(variable, peer)
    if other != peer:
        problem = f"{peer!r} and {other!r}, both neighbours of {host!r}, are both {variable} to its programs"
        raise SpecError(problem, path, key, "rename one of them")


def check_link(name: str, ends: tuple[str, str], mtu: int, *taken: Container[str]) -> None:
    """Refuse what no further link of a lab can be.

    Args:
        name: Its name.
        ends: Names of its hosts.
        mtu: In bytes.
        taken: Names of the lab's other links.

    Raises:
        SpecError: A bad or taken name, one host twice, an MTU out of range.
    """
    check_name(name, key="link.name")
    if ends[0] == ends[1]:
        raise SpecError(f"{ends[0]!r} twice: a link joins two hosts", key="link.ends", hint="name two hosts")
    if any(name in names for names in taken):
        hint = "give it a name of its own"
        raise SpecError(f"{name!r} is a link of this lab already", key="link.name", hint=hint)
    if not isinstance(mtu, int) or isinstance(mtu, bool) or not MIN_MTU_BYTES <= mtu <= MAX_MTU_BYTES:
        rule = f"must be a whole number, {MIN_MTU_BYTES} .. {MAX_MTU_BYTES}"
        raise SpecError(f"{mtu!r:.80}: {rule}", key="link.mtu", hint="1500, as on Ethernet, unless it is needed")


def check_seed(seed: int, path: str = "") -> None:
    """Refuse a seed that no link can have.

    Raises:
        SpecError: It is no whole number from 0 to 2^64 - 1.
    """
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**64:
        hint = "any other number will do: seed = 1"
        raise SpecError(f"{seed!r:.80}: must be a whole number from 0 to 2^64 - 1", path, "seed", hint)
