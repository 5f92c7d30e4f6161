"""``netlab lab set`` on real netem: links that stay are changed under the packets they carry."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))

from staying_labs import RECEIVE, SEND, StayingLabs, wait_until

PACKETS = 300
MS = 1_000_000

SPEC = """
name = "field"
seed = 3
hosts = { a = {}, b = {}, c = {}, d = {}, e = {}, f = {} }

[[link]]
ends = ["a", "b"]
profile = "delay=6s,ordered=false"

[[link]]
ends = ["c", "d"]
profile = "delay=10ms"

[[link]]
ends = ["e", "f"]
profile = "steps.toml"
"""

STEPS = """
name = "steps"

[link]
duration = "200ms"
loop = true

[[link.step]]
at = "0s"
delay = "20ms"

[[link.step]]
at = "100ms"
delay = "30ms"
"""


@pytest.fixture
def labs(tmp_path: Path) -> Iterator[StayingLabs]:
    labs = StayingLabs(tmp_path)
    labs.on = ("--on", "host")
    labs.spec.write_text(SPEC)
    (tmp_path / "steps.toml").write_text(STEPS)
    yield labs
    labs.close()


def delays_ms(shown: dict[str, object], name: str) -> tuple[float, float]:
    links = {link["name"]: link for link in shown["links"]}  # type: ignore[attr-defined]
    return tuple(links[name][direction]["state"]["latency_ns"] / MS for direction in ("forward", "back"))  # type: ignore[return-value]


def test_a_set_loses_no_packet_in_flight(labs: StayingLabs) -> None:
    """n = 300 packets in flight when both directions change, and with them another link."""
    labs.up()
    receiver = labs.start("exec", "field", "b", "--", sys.executable, "-c", RECEIVE)
    assert receiver.stdout is not None
    assert receiver.stdout.readline() == "up\n"
    numbers = [str(number) for number in range(PACKETS)]
    assert labs.run("exec", "field", "a", "--", sys.executable, "-c", SEND, ",".join(numbers)).returncode == 0
    done = labs.run("set", "field", "a-b=delay=0,ordered=false", "c-d=delay=70ms", "--json")
    assert done.returncode == 0, done.stderr
    changes = json.loads(done.stdout)
    shown = labs.show("field")
    queued = next(link for link in shown["links"] if link["name"] == "a-b")["forward"]["counters"]
    assert queued["queued_packets"] == PACKETS, "they were in flight when the link changed"
    assert [(one["link"], one["direction"]) for one in changes] == [
        ("a-b", "forward"), ("a-b", "back"), ("c-d", "forward"), ("c-d", "back"),
    ]  # fmt: skip
    assert len({one["asked_s"] for one in changes}) == 1, "one deadline for all"
    assert all(0 <= one["applied_s"] - one["asked_s"] < 1.0 and not one["refusal"] for one in changes)
    assert delays_ms(shown, "a-b") == (0, 0)
    assert delays_ms(shown, "c-d") == (70, 70)
    assert all(link["forward"]["as_asked"] for link in shown["links"])
    assert [one["asked_s"] for one in shown["changes"]] == [one["asked_s"] for one in changes]
    assert labs.run("exec", "field", "a", "--", sys.executable, "-c", SEND, "early").returncode == 0
    assert receiver.stdout.readline() == "early\n", "the new delay holds for what is sent after the change"
    received = [receiver.stdout.readline().strip() for _ in range(PACKETS)]
    assert received == numbers
    labs.run("exec", "field", "a", "--", sys.executable, "-c", SEND, "last")
    receiver.communicate(timeout=60)
    assert receiver.returncode == 0


def test_set_of_one_direction_and_of_a_played_link(labs: StayingLabs) -> None:
    labs.up(labs.spec)
    words = ("field", "c-d", "delay=30ms,loss=2%", "--direction", "back")
    done = labs.run("set", *words)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^c-d back: latency 30 ms, .*loss 2\.0000%, .*seed \d+", done.stdout)
    assert delays_ms(labs.show("field"), "c-d") == (10, 30)
    assert labs.run("set", "field", "c-d", "steps.toml", cwd=labs.folder).returncode == 2

    assert labs.show("field")["playing"]
    wait_until(lambda: labs.show("field")["played"]["applied"] > 0)
    done = labs.run("set", "field", "e-f", "delay=5ms")
    assert done.returncode == 1
    assert "link e-f is being played" in done.stderr
    assert "--stop-playing" in done.stderr
    assert labs.run("set", "field", "c-d", "delay=5ms").returncode == 0, "the others are free"
    assert labs.run("set", "field", "e-f", "delay=5ms", "--stop-playing").returncode == 0
    shown = labs.show("field")
    assert not shown["playing"]
    assert delays_ms(shown, "e-f") == (5, 5)
    assert not shown["problem"]


def test_a_clean_link_is_impaired_and_all_goes_with_the_lab(labs: StayingLabs) -> None:
    labs.spec.write_text('name = "field"\nhosts = { a = {}, b = {} }\n[[link]]\nends = ["a", "b"]\n')
    record = labs.up()
    assert labs.show("field")["links"][0]["forward"] is None
    assert labs.run("set", "field", "a-b", "wifi-degraded").returncode == 0
    shown = labs.show("field")
    assert shown["links"][0]["forward"]["as_asked"]
    assert shown["links"][0]["seeded"] == shown["seeded"]
    labs.kill_holder(record)
    wait_until(lambda: labs.processes() == [])
    assert labs.run("gc").returncode == 0
