"""A process is known by more than its number."""

from __future__ import annotations

import os
import subprocess
import sys

import msgspec

from netlab.holder.process_identity import ProcessIdentity


def test_our_own() -> None:
    own = ProcessIdentity.own()
    assert own.pid == os.getpid()
    assert own.is_ours_to_see
    assert own.is_alive()
    assert not own.wait(0.0)
    assert msgspec.json.decode(msgspec.json.encode(own), type=ProcessIdentity) == own


def test_a_number_that_has_changed_hands_is_another_process() -> None:
    own = ProcessIdentity.own()
    for changed in ({"start_ticks": own.start_ticks + 1}, {"boot_id": "another"}):
        other = msgspec.structs.replace(own, **changed)
        assert not other.is_alive()
        assert other.wait(0.0), "has ended already"
        other.send_signal(9)  # would be our end, had it been taken for us


def test_another_pid_namespace_cannot_be_judged() -> None:
    assert not msgspec.structs.replace(ProcessIdentity.own(), pid_space=1).is_ours_to_see


def test_a_child_lives_dies_and_is_dead_before_it_is_buried() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        (identity,) = (one for one in ProcessIdentity.own().children() if one.pid == child.pid)
        assert identity.is_alive()
        identity.send_signal(9)
        assert identity.wait(10.0)
        assert not identity.is_alive(), "not buried yet, and dead"
    assert identity.wait(0.0)
