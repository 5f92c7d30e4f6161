"""``netlab lab set`` through a relay: no packet in flight is lost, several links change at one moment."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from staying_labs import RECEIVE, SEND, StayingLabs, wait_until

PACKETS = 200
SPEC = """
name = "field"
hosts = { a = {}, b = {}, c = {}, d = {} }

[[link]]
ends = ["a", "b"]
profile = "delay=6s,ordered=false"

[[link]]
ends = ["c", "d"]
"""


@pytest.fixture
def labs(tmp_path: Path) -> Iterator[StayingLabs]:
    if not Path("/dev/net/tun").exists():
        pytest.skip("this kernel has no tun")
    labs = StayingLabs(tmp_path)
    labs.on = ("--on", "relay")
    labs.spec.write_text(SPEC)
    yield labs
    labs.close()


def test_a_set_loses_no_packet_in_flight(labs: StayingLabs) -> None:
    """n = 200 packets in flight when the link changes; those sent afterwards overtake them."""
    labs.up()
    receiver = labs.start("exec", "field", "b", "--", sys.executable, "-c", RECEIVE)
    assert receiver.stdout is not None
    assert receiver.stdout.readline() == "up\n"
    numbers = [str(number) for number in range(PACKETS)]
    assert labs.run("exec", "field", "a", "--", sys.executable, "-c", SEND, ",".join(numbers)).returncode == 0
    done = labs.run("set", "field", "a-b=delay=0,ordered=false", "c-d=delay=70ms", "--json")
    assert done.returncode == 0, done.stderr
    changes = json.loads(done.stdout)
    assert len({one["asked_s"] for one in changes}) == 1
    assert not any(one["refusal"] for one in changes)
    link, other = labs.show("field")["links"]
    assert link["forward"]["counters"]["held"] == PACKETS, "they were in flight when the link changed"
    assert [link[one]["state"]["latency_ns"] for one in ("forward", "back")] == [0, 0]
    assert [other[one]["state"]["latency_ns"] for one in ("forward", "back")] == [70_000_000] * 2
    assert labs.run("exec", "field", "a", "--", sys.executable, "-c", SEND, "early").returncode == 0
    assert receiver.stdout.readline() == "early\n"
    assert [receiver.stdout.readline().strip() for _ in range(PACKETS)] == numbers
    labs.run("exec", "field", "a", "--", sys.executable, "-c", SEND, "last")
    receiver.communicate(timeout=60)
    assert receiver.returncode == 0


def test_the_relay_goes_with_its_holder(labs: StayingLabs) -> None:
    labs.kill_holder(labs.up())
    wait_until(lambda: labs.processes() == [])
    assert labs.run("gc").returncode == 0
    assert labs.rests() == []
