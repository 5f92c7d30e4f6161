"""An end that fails is told: to whoever asked for it, else by the folder, which stays with its log."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from staying_labs import StayingLabs, state_of, wait_until

import netlab.holder.ending
from netlab.holder.directory import LabDirectory
from netlab.holder.ending import end_lab
from netlab.holder.runtime_folder import RuntimeFolder

# Read by every Python that finds it: what a kernel does that is slow, or has no memory.
STUCK = """
import os
if os.environ.get("NETLAB_STAYING"):
    from netlab.errors import LabError
    from netlab.holder import departure
    def fail(self):
        {body}
    departure.Departure.wait = fail
"""
FAILS = STUCK.format(body='raise LabError("the lab is stuck in the kernel", hint="wait")')
STAYS = STUCK.format(body="import time; time.sleep(1000)")


@pytest.fixture
def labs(tmp_path: Path) -> Iterator[StayingLabs]:
    labs = StayingLabs(tmp_path)
    yield labs
    labs.close()


def up_with(labs: StayingLabs, patch: str) -> int:
    (labs.folder / "sitecustomize.py").write_text(patch)
    search = os.pathsep.join([str(labs.folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = labs.run("up", labs.spec, "--json", env={**labs.environment, "PYTHONPATH": search})
    (labs.folder / "sitecustomize.py").unlink()
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout)["holder"]["pid"])


def test_down_shows_what_failed_and_exits_with_1(labs: StayingLabs) -> None:
    for words in ((), ("--json",)):
        up_with(labs, FAILS)
        done = labs.run("down", "two", *words)
        assert done.returncode == 1
        assert "lab two: the lab is stuck in the kernel" in done.stderr
        assert labs.rests() == [], "it has been told: nothing needs to stay"
    outcome = json.loads(done.stdout)
    assert [end["name"] for end in outcome["ended"]] == ["two"]
    assert "stuck in the kernel" in outcome["problems"][0]


def test_of_several_each_is_ended_and_told(labs: StayingLabs) -> None:
    up_with(labs, FAILS)
    labs.up(labs.spec, "--name", "other")
    done = labs.run("down", "--all")
    assert done.returncode == 1
    assert "lab two: the lab is stuck" in done.stderr
    assert "netlab: lab other is down" in done.stderr
    assert labs.rests() == []


def test_where_nobody_has_asked_the_log_stays(labs: StayingLabs) -> None:
    pid = up_with(labs, FAILS)
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: state_of(pid) in ("", "Z"))
    (row,) = labs.list()
    assert row["state"] == "dead"
    assert "the lab is stuck in the kernel" in (labs.runtime / row["id"] / "log").read_text()
    assert labs.run("gc").returncode == 0
    assert labs.rests() == []


def test_a_holder_that_has_to_be_killed_is_not_said_to_have_ended_well(
    labs: StayingLabs, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = up_with(labs, STAYS)
    monkeypatch.setattr(netlab.holder.ending, "_END_WITHIN_S", 0.5)
    directory = LabDirectory(RuntimeFolder(labs.runtime))
    end = end_lab(directory, directory.find("two"))
    assert state_of(pid) in ("", "Z")
    assert end.is_gone
    assert any("was killed: nobody has seen" in problem for problem in end.problems)


def test_commands_where_the_working_folder_has_been_deleted(labs: StayingLabs) -> None:
    labs.up()
    for words, status in (
        (("exec", "two", "a", "--", "true"), 2),
        (("set", "two", "radio", "nosuch.toml"), 2),
        (("up", "two.toml"), 2),
        (("up", labs.spec, "--name", "other"), 2),  # its commands would start there
        (("list",), 0),
        (("down", "two"), 0),
    ):
        gone = labs.folder / "gone"
        gone.mkdir()
        done = labs.run(*words, cwd=gone, preexec_fn=gone.rmdir)
        assert (done.returncode, "Traceback" in done.stderr) == (status, False), (words, done.stderr)
        assert not status or ("working folder" in done.stderr and "hint: cd" in done.stderr), (words, done.stderr)
