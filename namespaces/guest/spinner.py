"""Spinner: which program a guest is busy with, found from outside while nothing inside can answer.

::

    guest kernel
      |- uml-userspace   one for each address space inside: the pages of a program where the program sees them
      `- uml-userspace   <- the one that uses the CPU; at the top of its stack the kernel has left, for good:

         ... argc argv[0..] 0 envp[0..] 0 auxv | strings of argv, then of envp | path | 0     top

It reads processes of this machine that belong to one guest, and changes nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from netlab.namespaces.guest.heartbeat import printable

__all__ = ["busiest_program", "command_on_stack", "has_lost", "stack_top"]

LOOK_S = 0.25
"""Long enough to count in ticks of 10 ms."""

MOST_STACK_BYTES = 1 << 20
MOST_ARGUMENTS = 4096

_STUB_NAME = "uml-userspace"
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4})")
_USER_END = 0x7F8000000000
"""Above it the guest kernel has pages of its own in each of these processes."""

_WORD = struct.Struct("<Q")


class Mapping(NamedTuple):
    """A stretch of addresses of a process."""

    start: int
    end: int


def busiest_program(root: int, look_s: float = LOOK_S) -> str:
    """Return the command line of the program that used the CPU just now; empty where none can be seen.

    Args:
        root: A process above the guest kernel.
        look_s: How long to look; the caller waits.
    """
    before = _stub_ticks(root)
    time.sleep(look_s)
    used = {pid: ticks - before.get(pid, 0) for pid, ticks in _stub_ticks(root).items()}
    busiest = max(used, key=lambda pid: used[pid], default=0)
    if not used.get(busiest):
        return ""
    try:
        return printable(list(_read_command(busiest)))
    except (OSError, OverflowError):  # it ended, or we may not look into it
        return ""


def stack_top(maps: str) -> list[Mapping]:
    """Return the mappings that end a program's stack, highest last and without a gap between them.

    Args:
        maps: The text of ``/proc/PID/maps`` of a process that a guest's program runs in.
    """
    found: list[Mapping] = []
    for line in reversed(maps.splitlines()):
        match = _MAPPING.match(line)
        if match is None:
            continue
        mapping = Mapping(int(match[1], 16), int(match[2], 16))
        if mapping.end > _USER_END or "w" not in match[3]:
            continue
        if found and (mapping.end != found[0].start or found[-1].end - mapping.start > MOST_STACK_BYTES):
            break
        found.insert(0, mapping)
    return found


def command_on_stack(stack: bytes, base: int) -> tuple[bytes, ...]:
    """Return the arguments that a program was started with; empty where the stack does not show them.

    Args:
        stack: The upper end of its stack.
        base: The address of the first of these bytes, a multiple of 8.
    """
    texts = _texts_below_top(stack, base)
    words = struct.unpack_from(f"<{len(stack) // 8}Q", stack)
    for place in range(len(words) - 1, 0, -1):
        # The pointer to the first variable, if there is one, behind the zero that ends the arguments.
        if words[place - 1] == 0 and (words[place] == 0 or words[place] in texts):
            arguments = _arguments_before(words, place - 1, texts)
            if arguments:
                return arguments
    return ()


def _arguments_before(words: tuple[int, ...], end: int, texts: dict[int, bytes]) -> tuple[bytes, ...]:
    """Return the texts that the words before a place point to, if a count of just so many stands before them."""
    found: list[bytes] = []
    place = end - 1
    while place >= 0 and words[place] in texts and len(found) < MOST_ARGUMENTS:
        found.insert(0, texts[words[place]])
        place -= 1
    return tuple(found) if found and place >= 0 and words[place] == len(found) else ()


def _texts_below_top(stack: bytes, base: int) -> dict[int, bytes]:
    """Return each text by its address: those that stand at the end of a stack, one after another."""
    texts = {}
    end = len(stack.rstrip(b"\0"))
    while end > 0:
        start = stack.rfind(b"\0", 0, end) + 1
        texts[base + start] = stack[start:end]
        end = start - 1
        # An empty argument is a zero byte between two; more of them are what lies before the texts.
        if stack[max(0, end - 16) : max(0, end)] == bytes(16):
            break
        if start == 0:
            break
    return texts


def _read_command(pid: int) -> tuple[bytes, ...]:
    mappings = stack_top(Path(f"/proc/{pid}/maps").read_text(encoding="ascii", errors="replace"))
    if not mappings:
        return ()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:  # noqa: PTH123 - unbuffered
        stack = b"".join(
            os.pread(memory.fileno(), mapping.end - mapping.start, mapping.start) for mapping in mappings
        )
    return command_on_stack(stack, mappings[0].start)


def _stub_ticks(root: int) -> dict[int, int]:
    """Return the CPU ticks used so far by each process below one that a guest's program runs in."""
    parents, ticks = {}, {}
    for pid, name, fields in _processes():
        parents[pid] = int(fields[1])
        if name == _STUB_NAME:
            ticks[pid] = int(fields[11]) + int(fields[12])
    return {pid: used for pid, used in ticks.items() if _lies_below(pid, root, parents)}


def has_lost(root: int, word: bytes) -> bool:
    """Tell whether no program of a guest has this argument any more; False where no program can be seen.

    Args:
        root: A process above the guest kernel.
        word: The argument.
    """
    commands = []
    for pid in _stub_ticks(root):
        with contextlib.suppress(OSError, ValueError):  # ended meanwhile, or not ours to look into
            commands.append(_read_command(pid))
    return any(commands) and not any(word in command for command in commands)


def _processes() -> Iterator[tuple[int, str, list[str]]]:
    """Yield every process of this machine: pid, name, and what /proc/PID/stat says from its state on."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # ended meanwhile
                name, _, rest = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")
                yield int(entry.name), name.partition("(")[2], rest.split()


def _lies_below(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid > 1 and pid != root:
        pid = parents.get(pid, 0)
    return pid == root
