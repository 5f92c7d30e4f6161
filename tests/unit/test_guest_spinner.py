"""Reading a program's arguments off the top of its stack, as the kernel lays it out."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from netlab.namespaces.guest.spinner import Mapping, command_on_stack, stack_top

BASE = 0x7F7FFFF00000
WORD = st.binary(max_size=12).map(lambda data: data.replace(b"\0", b""))


def stack_of(argv: list[bytes], env: list[bytes], path: bytes, below: bytes = b"") -> bytes:
    """Lay a stack out as exec does: argc, pointers, auxiliary vector, then the texts up to the top."""
    texts = b"".join(text + b"\0" for text in (*argv, *env, path)) + bytes(8)
    vector_words = 1 + len(argv) + 1 + len(env) + 1 + 6
    head = below + bytes(-len(below) % 8)
    gap = b"x86_64\0" + bytes(range(1, 17)) + bytes(1)
    length = len(head) + 8 * vector_words + len(gap) + len(texts)
    pad = -length % 4096
    start = BASE + len(head) + 8 * vector_words + pad + len(gap)
    pointers = []
    for text in (*argv, *env):
        pointers.append(start)
        start += len(text) + 1
    words = [len(argv), *pointers[: len(argv)], 0, *pointers[len(argv) :], 0, 6, 4096, 9, 0x400000, 0, 0]
    return head + struct.pack(f"<{len(words)}Q", *words) + bytes(pad) + gap + texts


@given(st.lists(WORD, min_size=1, max_size=6), st.lists(WORD.map(lambda w: b"A=" + w), max_size=4), st.binary())
def test_arguments_are_found_on_any_stack(argv: list[bytes], env: list[bytes], below: bytes) -> None:
    argv = [b"program", *argv]
    assert command_on_stack(stack_of(argv, env, b"/bin/program", below), BASE) == tuple(argv)


def test_an_argument_that_looks_like_a_variable_is_one() -> None:
    argv = [b"env", b"A=b", b"C=d", b"true"]
    assert command_on_stack(stack_of(argv, [b"E=f"], b"/usr/bin/env"), BASE) == tuple(argv)


@given(st.binary(max_size=4096))
def test_what_is_no_stack_has_no_arguments_or_bounded_ones(data: bytes) -> None:
    assert sum(map(len, command_on_stack(data, BASE))) <= len(data) ** 2


def test_a_stack_that_begins_too_high_shows_none() -> None:
    assert command_on_stack(stack_of([b"a", b"b"], [b"C=d"], b"/bin/a")[-16:], BASE) == ()


def test_our_own_stack_is_read() -> None:
    line = next(line for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith("[stack]"))
    start, end = (int(part, 16) for part in line.split()[0].split("-"))
    start = max(start, end - (1 << 20))
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        stack = os.pread(memory.fileno(), end - start, start)
    found = [os.fsdecode(argument) for argument in command_on_stack(stack, start)]
    assert found == [os.fsdecode(word) for word in Path("/proc/self/cmdline").read_bytes()[:-1].split(b"\0")]
    assert found[1:] == sys.orig_argv[1:]


def test_the_highest_pages_of_a_program_without_a_gap_are_its_stacks_top() -> None:
    maps = """\
550000101000-550000102000 rwxs 03c4d000 00:2b 3                          /dev/shm/#3 (deleted)
7f7fff990000-7f7fff991000 rwxs 03995000 00:2b 3                          /dev/shm/#3 (deleted)
7f7fff997000-7f7fff998000 rwxs 03946000 00:2b 3                          /dev/shm/#3 (deleted)
7f7fff998000-7f7fff99a000 rwxs 031f1000 00:2b 3                          /dev/shm/#3 (deleted)
7f7ffffff000-7f8000000000 r-xs 01138000 00:2b 3                          /dev/shm/#3 (deleted)
7fffffffd000-7ffffffff000 rw-s 0291a000 00:2b 3                          /dev/shm/#3 (deleted)
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
"""
    assert stack_top(maps) == [Mapping(0x7F7FFF997000, 0x7F7FFF998000), Mapping(0x7F7FFF998000, 0x7F7FFF99A000)]
    assert stack_top("") == []
