"""``netlab probe lab``: a link of a lab that stays, measured as it is asked now; through a relay."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from staying_labs import StayingLabs

from netlab.traces.trace_file import read_trace

SPEC = """
name = "field"
seed = 3
hosts = { a = {}, b = {}, c = {} }

[media.air]
rate = "20mbit"

[[link]]
ends = ["a", "b"]
name = "radio"
profile = "wifi-normal"

[[link]]
ends = ["b", "c"]
name = "played"
profile = "measured"

[[link]]
ends = ["a", "c"]
name = "shared"
medium = "air"
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


def start_probe(labs: StayingLabs, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "netlab", "probe", "lab", *words]
    return subprocess.Popen(
        command, env=labs.environment, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def probe(labs: StayingLabs, *words: str) -> tuple[int, str, str]:
    running = start_probe(labs, *words)
    out, said = running.communicate(timeout=120)
    return running.returncode, out, said


FAST = ("--count", "400", "--rate", "200", "--allowance", "5ms")


def test_a_link_is_judged_by_what_is_asked_of_it_now(labs: StayingLabs, tmp_path: Path) -> None:
    """n = 400 each way; then again after a change, which is what is asked from then on."""
    labs.up()
    status, out, said = probe(labs, "field", "--link", "radio", *FAST, "--traces", str(tmp_path / "t"), "--json")
    report = json.loads(out)
    assert status == 0, (said, report)
    assert report["machine"]["engine"] == "relay"
    assert read_trace(tmp_path / "t" / "back.csv").n == 400
    assert labs.run("set", "field", "radio", "delay=60ms,loss=50%").returncode == 0
    status, out, said = probe(labs, "field", "--link", "radio", *FAST)
    assert (status, out.splitlines()[-1]) == (0, "pass: delivered as asked"), (said, out)
    assert "60.000 ms" in out and "lab field, link radio" in out
    assert labs.show("field")["hosts"][0]["processes"] == [], "nothing of it is left in the lab"


def test_what_cannot_be_judged_is_refused(labs: StayingLabs) -> None:
    labs.up()
    for words, says in (
        (("field",), "lab field has 3 links"),
        (("field", "--link", "radoi"), "did you mean 'radio'"),
        (("field", "--link", "played"), "a schedule is being played on it"),
        (("field", "--link", "shared"), "it shares medium air"),
        (("nosuch",), "is no lab here"),
        (("field", "--link", "radio", "--count", "0"), "count"),
    ):
        status, out, said = probe(labs, *words)
        assert (status, out, says in said) == (2, "", True), (words, said)


def test_a_change_meanwhile_is_found_out(labs: StayingLabs) -> None:
    labs.up()
    running = start_probe(labs, "field", "--link", "radio", "--count", "1000", "--rate", "200")
    deadline_s = time.monotonic() + 60
    while not labs.show("field")["hosts"][0]["processes"]:
        assert time.monotonic() < deadline_s, "no flow has begun"
        time.sleep(0.05)
    assert labs.run("set", "field", "radio", "delay=1ms").returncode == 0
    out, said = running.communicate(timeout=120)
    assert (running.returncode, out) == (1, "")
    assert "link radio was changed while it was measured" in said


def test_a_lab_taken_down_meanwhile_is_said_to_be(labs: StayingLabs) -> None:
    labs.up()
    running = start_probe(labs, "field", "--link", "radio", "--count", "100000")
    deadline_s = time.monotonic() + 60
    while len(labs.show("field")["hosts"][0]["processes"]) < 2:
        assert time.monotonic() < deadline_s, "no flow has begun"
        time.sleep(0.05)
    assert labs.run("down", "field").returncode == 0
    out, said = running.communicate(timeout=60)
    assert (running.returncode, out) == (1, "")
    assert "lab field was taken down, or died, while it was measured" in said


def test_ctrl_c_leaves_nothing_in_the_lab(labs: StayingLabs) -> None:
    labs.up()
    running = start_probe(labs, "field", "--link", "radio", "--count", "100000")
    deadline_s = time.monotonic() + 60
    while len(labs.show("field")["hosts"][0]["processes"]) < 2:
        assert time.monotonic() < deadline_s, "no flow has begun"
        time.sleep(0.05)
    running.send_signal(2)
    out, said = running.communicate(timeout=60)
    assert (running.returncode, out, "interrupted" in said) == (130, "", True)
    assert not any("flow_process" in words for words in labs.processes())
