"""Where a guest's memory lies: a file that the host can execute from and that has room for all of it.

The file is removed as soon as it is open and grows with the pages touched. If its file system fills up in the
middle of a run the guest dies, so the room is asked for first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from netlab.errors import GuestError

__all__ = ["PlaceFacts", "choose_memory_place", "memory_places", "place_facts"]

MIB = 1 << 20


class PlaceFacts(NamedTuple):
    """What is known of a folder.

    Attributes:
        writable: Whether files can be made in it.
        executable: Whether its file system lets code be mapped.
        free_bytes: Room for an ordinary user.
    """

    writable: bool
    executable: bool
    free_bytes: int


def memory_places(env: Mapping[str, str], confined: bool = False) -> tuple[str, ...]:
    """Return the folders to try, best first: memory before disk.

    Args:
        env: Our environment.
        confined: Whether the guest is confined: services listen in the user's runtime folder then.
    """
    if confined:
        return ("/dev/shm", "/tmp")
    return tuple(place for place in ("/dev/shm", env.get("XDG_RUNTIME_DIR", ""), "/tmp") if place)


def place_facts(folder: str) -> PlaceFacts:
    """Return what is known of a folder; one that is not there is not writable."""
    try:
        state = os.statvfs(folder)
    except OSError:
        return PlaceFacts(False, False, 0)
    writable = os.access(folder, os.W_OK | os.X_OK) and not state.f_flag & os.ST_RDONLY
    return PlaceFacts(writable, not state.f_flag & os.ST_NOEXEC, state.f_bavail * state.f_frsize)


def choose_memory_place(
    memory_bytes: int, places: Iterable[str], facts: Callable[[str], PlaceFacts] = place_facts
) -> str:
    """Return the first folder that can hold a guest's memory.

    Raises:
        GuestError: None can; names each with what it lacks.
    """
    lacking = []
    for place in places:
        known = facts(place)
        if not known.writable:
            lacking.append(f"{place} cannot be written to")
        elif not known.executable:
            lacking.append(f"{place} is mounted noexec")
        elif known.free_bytes < memory_bytes:
            lacking.append(f"{place} has {known.free_bytes // MIB} MiB free")
        else:
            return place
    raise GuestError(
        f"no place for a guest's memory of {memory_bytes // MIB} MiB: {'; '.join(lacking)}",
        hint="give the guest less memory (128 MiB do for plain labs), or make room in /dev/shm or /tmp",
    )
