"""netlab's commands in virtual time: twice the same, nothing claimed that means nothing, costs as declared."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NETLAB = [sys.executable, "-P", "-m", "netlab"]
RUNS = 5
LONGEST_S = 120.0
LOSSY = ("exec", "--virtual-time", "--check", "--profile", "delay=40ms,loss=20%", "--")


def netlab(*words: str, cwd: Path | None = None, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NETLAB, *words], input=stdin, capture_output=True, text=True, timeout=240, cwd=cwd, check=False
    )


def in_virtual_time(*command: str, cwd: Path) -> str:
    done = netlab("guest", "run", "--virtual-time", "--", *command, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_minute_behind_a_link_is_the_same_twice_and_takes_no_minute(tmp_path: Path) -> None:
    begin_s = time.monotonic()
    # -D: the clock at each answer, to the microsecond; the whole output is compared.
    done = netlab(*LOSSY, "sh", "-c", "ping -D -c 60 -i 1 $NETLAB_PEER; exit 5", cwd=tmp_path)
    took_s = time.monotonic() - begin_s
    assert done.returncode == 5, done.stderr
    assert "identical: " in done.stderr
    assert f"{len(done.stdout)} bytes of stdout, exit status 5" in done.stderr
    # Each echo is lost with 1 - 0.8 * 0.8 = 0.36; of 60, 4 .. 40 are received or lost but once in 10^6.
    assert 20 < done.stdout.count("bytes from") < 56
    assert took_s < 110.0, "two guest minutes"


def test_no_run_of_five_differs_in_any_reading_of_the_clock(tmp_path: Path) -> None:
    """While the kernel drew when to clean its table of neighbours (at 15 to 45 s), 5 runs gave 3 outputs."""
    program = "import time\nfor _ in range(3000): time.sleep(0.02); print(time.monotonic_ns())"
    command = ("exec", "--virtual-time", "--profile", "delay=40ms,loss=20%", "--", "sh", "-c",
               f"ping -D -c 60 -i 1 $NETLAB_PEER & {sys.executable} -c '{program}'; wait")  # fmt: skip
    outputs = []
    begin_s = time.monotonic()
    for number in range(RUNS):
        folder = tmp_path / ("x" * number + "folder")  # names of other lengths as well
        folder.mkdir()
        done = netlab(*command, cwd=folder)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
        if time.monotonic() - begin_s > LONGEST_S:
            break
    assert len(outputs) > 1, "one run alone took longer than the test may"
    assert outputs[0].count("bytes from") > 20
    assert len(outputs[0].splitlines()) > 3000
    assert len(set(outputs)) == 1


def test_what_differs_is_shown_where_it_begins(tmp_path: Path) -> None:
    done = netlab(*LOSSY, "sh", "-c", "echo same; od -An -N8 -tx1 /dev/urandom", cwd=tmp_path)
    assert done.returncode == 1
    assert "the two runs differ first in stdout, line 2" in done.stderr
    assert "first: " in done.stderr
    assert "second: " in done.stderr


def test_both_runs_of_a_check_have_the_same_input(tmp_path: Path) -> None:
    done = netlab(*LOSSY, "cat", cwd=tmp_path, stdin="typed\n")
    assert (done.returncode, done.stdout) == (0, "typed\n"), done.stderr
    assert "identical: 6 bytes" in done.stderr


def test_a_demo_says_its_clock_and_claims_no_deadlines(tmp_path: Path) -> None:
    done = netlab(
        "demo", "--virtual-time", "--episodes", "1", "--network", "wifi-normal", "--output", "demo.json",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "demo.json").read_text())
    machine = result["machine"]
    assert (machine["engine"], machine["clock"]) == ("guest", "virtual")
    assert "sha256:" in machine["guest"]
    assert machine["memory_bytes"] > 1 << 28
    assert [cell["deadline_miss_ratio"] for cell in result["cells"]] == [None, None, None]
    assert result["cells"][2]["return_mean"] > 450


@pytest.mark.parametrize(("cpus", "expected_s"), [(1, 0.8), (2, 0.4), (4, 0.2)])
def test_declared_costs_share_the_hosts_virtual_cpus(cpus: int, expected_s: float, tmp_path: Path) -> None:
    found_s = json.loads(in_virtual_time(sys.executable, str(HERE / "declared_costs.py"), str(cpus), cwd=tmp_path))
    # Over by what starting to wait and the ends of four programs take of the clock; never under.
    assert expected_s <= found_s < expected_s + 0.01


@pytest.mark.parametrize("cost_ms", [0.0, 5.0])
def test_a_decision_takes_what_it_is_declared_to_cost(cost_ms: float, tmp_path: Path) -> None:
    script = str(HERE / "declared_inference.py")
    result = json.loads(in_virtual_time(sys.executable, script, f"{cost_ms}ms", cwd=tmp_path))
    latency = result["latency"]
    assert latency["count"] > 100
    assert cost_ms <= latency["p50_ms"] < cost_ms + 0.2
    assert result["deadline_misses"] is None
    assert "computing is free" in result["not_claimable"]


def test_a_link_that_would_differ_from_run_to_run_is_refused(tmp_path: Path) -> None:
    program = """
from netlab.errors import ProfileError
from netlab.lab import Lab
from netlab.traces.qdisc_state import QdiscState
with Lab() as lab:
    lab.add_host("a"), lab.add_host("b")
    link = lab.add_link("a", "b")
    for state in (QdiscState(loss=9), QdiscState(loss=9, loss_correlation=7, seed=1)):
        try:
            link.apply(state)
        except ProfileError as error:
            print(error)
    link.apply(QdiscState(loss=9, seed=1))
    print(link.read().forward.seed)
"""
    lines = in_virtual_time(sys.executable, "-c", program, cwd=tmp_path).splitlines()
    assert "seed = None" in lines[0]
    assert "loss_correlation = 7" in lines[1]
    assert lines[2] == "1"


def test_a_figure_about_speed_refuses_virtual_time() -> None:
    done = netlab("bench", "rtt-vs-socket", "--virtual-time")
    assert done.returncode == 2
    assert "rtt-vs-socket is measured in real time alone" in done.stderr
