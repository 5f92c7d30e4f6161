"""A lab's keeper that has no room for the descriptors of a program."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path

import pytest

from netlab.errors import KernelError
from netlab.lab import Lab


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.parametrize("room", [0, 2])
def test_a_program_whose_streams_find_no_room_is_refused(room: int) -> None:
    """And does not run with the keeper's own streams in their place."""
    with Lab() as lab:
        host = lab.add_host("edge")
        keeper = parent_of(host.start(["sleep", "100"]).pid)
        before = resource.prlimit(keeper, resource.RLIMIT_NOFILE)
        held = {int(name) for name in os.listdir(f"/proc/{keeper}/fd")}
        limit = sorted(set(range(len(held) + room + 1)) - held)[room]
        resource.prlimit(keeper, resource.RLIMIT_NOFILE, (limit, before[1]))
        with pytest.raises(KernelError) as caught:
            host.start(["true"])
        assert caught.value.errno == errno.EMFILE
        assert {int(name) for name in os.listdir(f"/proc/{keeper}/fd")} == held
        resource.prlimit(keeper, resource.RLIMIT_NOFILE, before)
        assert host.start(["true"]).wait(30) == 0
