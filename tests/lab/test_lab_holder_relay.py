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

WITH_MEDIUM = (
    SPEC.replace("[[link]]", '[[link]]\nmedium = "air"')
    + """
[media.air]
rate = "20mbit"
queue_packets = 50
"""
)


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


def test_a_medium_is_changed_live(labs: StayingLabs) -> None:
    labs.spec.write_text(WITH_MEDIUM)
    labs.up()
    done = labs.run("set", "field", "c-d=delay=70ms", "medium:air=rate=10mbit,queue=100", "--json")
    assert done.returncode == 0, done.stderr
    link, _, change = json.loads(done.stdout)
    assert (link["link"], change["link"], change["direction"], change["refusal"]) == (
        "c-d",
        "medium:air",
        "shared",
        "",
    )
    assert (change["state"]["rate_bytes_per_s"], change["state"]["limit_packets"]) == (1_250_000, 100)
    done = labs.run("set", "field", "medium:air", "queue=7")
    assert done.returncode == 0 and done.stdout.startswith("medium:air shared: "), done.stderr
    shown = labs.show("field")
    assert (shown["media"][0]["rate_bps"], shown["media"][0]["queue_packets"]) == (10e6, 7)
    assert shown["media"][0]["shared"]["state"]["limit_packets"] == 7
    assert [one["link"] for one in shown["changes"]] == ["c-d", "c-d", "medium:air", "medium:air"]


NO_MEDIUM = [
    (("medium:iar", "rate=1mbit"), "did you mean 'air'"),
    (("medium:air", "delay=3ms"), "is nothing a medium can be"),
    (("medium:air", "rate=1mbit,rate=2mbit"), "is nothing a medium can be"),
    (("medium:air", "rate=fast"), "medium:air.rate"),
    (("medium:air", "rate=0"), "must be more than 0"),
    (("medium:air", "rate=1nbit"), "medium:air.rate"),
    (("medium:air", "queue=0"), "must be a whole number"),
    (("medium:air", "queue=9999999999"), "must be a whole number"),
    (("medium:air", "queue=5", "--direction", "back"), "shared by both directions"),
    (("medium:air=queue=5", "a-b=nonsense"), "unknown preset"),
]


def test_what_a_medium_cannot_be(labs: StayingLabs) -> None:
    labs.spec.write_text(WITH_MEDIUM)
    labs.up()
    for wishes, says in NO_MEDIUM:
        done = labs.run("set", "field", *wishes)
        assert (done.returncode, says in done.stderr) == (2, True), (wishes, done.stderr)
    assert labs.show("field")["changes"] == []
    assert labs.show("field")["media"][0]["queue_packets"] == 50


def test_the_relay_goes_with_its_holder(labs: StayingLabs) -> None:
    labs.kill_holder(labs.up())
    wait_until(lambda: labs.processes() == [])
    assert labs.run("gc").returncode == 0
    assert labs.rests() == []
