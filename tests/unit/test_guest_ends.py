"""The descriptors of a guest: all of them are given back, whatever cannot be had."""

from __future__ import annotations

import os
import subprocess

import pytest

from netlab.namespaces.guest.guest_ends import GuestEnds


def open_descriptors() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"), key=int)


def nothing_left(*args: object, **options: object) -> int:
    raise OSError(24, "Too many open files")


def test_all_is_closed_and_the_supervisor_gone_at_the_end() -> None:
    before = open_descriptors()
    with GuestEnds(0) as ends:
        assert len(open_descriptors()) == len(before) + 6
        os.kill(ends.supervisor, 0)
    assert open_descriptors() == before
    with pytest.raises(ProcessLookupError):
        os.kill(ends.supervisor, 0)


@pytest.mark.parametrize(
    ("module", "name"), [(subprocess, "Popen"), (os, "pidfd_open"), (os, "set_blocking"), (os, "dup")]
)
def test_what_cannot_be_had_leaves_nothing(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> None:
    before = open_descriptors()
    monkeypatch.setattr(module, name, nothing_left)
    with pytest.raises(OSError, match="Too many open files"):
        GuestEnds(0)
    monkeypatch.undo()
    assert open_descriptors() == before
