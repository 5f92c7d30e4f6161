"""A lab that stays with a link that plays a trace: ``set`` asks first, and says what it does not take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from staying_labs import StayingLabs, wait_until

SPEC = """
name = "field"
hosts = { a = {}, b = {} }

[[link]]
ends = ["a", "b"]
trace = "rtt.dat"
trace_time_scale = 10.0
trace_offset = "2s"
"""
ROUND_TRIPS_MS = [20, 40, 60, 80]


@pytest.fixture
def labs(tmp_path: Path) -> Iterator[StayingLabs]:
    if not Path("/dev/net/tun").exists():
        pytest.skip("this kernel has no tun")
    labs = StayingLabs(tmp_path)
    labs.on = ("--on", "relay")
    labs.spec.write_text(SPEC)
    (labs.spec.parent / "rtt.dat").write_text("".join(f"{ms}.0\n" for ms in ROUND_TRIPS_MS))
    yield labs
    labs.close()


def test_a_trace_is_played_until_set_stops_it(labs: StayingLabs) -> None:
    labs.up()
    halves_ns = {ms * 500_000 for ms in ROUND_TRIPS_MS}
    seen: set[int] = set()

    def all_seen() -> bool:
        (link,) = labs.show("field")["links"]
        for way in ("forward", "back"):
            latency_ns = link[way]["state"]["latency_ns"]
            assert latency_ns in halves_ns
            seen.add(latency_ns)
        return seen == halves_ns

    wait_until(all_seen)
    refused = labs.run("set", "field", "a-b", "wifi-normal")
    assert refused.returncode == 1 and "--stop-playing" in refused.stderr
    trace = labs.spec.parent / "rtt.dat"
    refused = labs.run("set", "field", "a-b", f"trace={trace}", "--stop-playing")
    assert refused.returncode == 2 and "is a schedule" in refused.stderr
    assert labs.run("set", "field", "a-b", "delay=7ms", "--stop-playing").returncode == 0
    (link,) = labs.show("field")["links"]
    assert link["forward"]["state"]["latency_ns"] == 7_000_000


def test_a_trace_that_is_none_makes_no_lab(labs: StayingLabs) -> None:
    (labs.spec.parent / "rtt.dat").write_text("no measurement\n")
    refused = labs.run("up", labs.spec)
    assert refused.returncode == 2
    assert "link[0].trace" in refused.stderr and "rtt.dat" in refused.stderr
    assert labs.list() == []
