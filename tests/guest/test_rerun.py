"""Any netlab command again, inside the guest: same output, status, files, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

NETLAB = [sys.executable, "-m", "netlab"]


def netlab(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*NETLAB, *words], capture_output=True, text=True, timeout=120, cwd=cwd, check=False)


def test_output_is_the_same_on_both() -> None:
    here, there = netlab("profile", "list", "--json"), netlab("profile", "list", "--json", "--on", "guest")
    assert there.returncode == 0
    assert there.stdout == here.stdout


def test_doctor_inside_finds_netem_and_the_guests_identity() -> None:
    done = netlab("doctor", "--json", "--on", "guest")
    findings = {finding["about"]: finding for finding in json.loads(done.stdout)}
    assert findings["this kernel: netem"]["verdict"] == "ok"
    assert findings["labs run"]["text"] == "on this kernel"
    assert "sha256:" in findings["guest kernel"]["text"]


def test_exit_status_comes_through_two_kernels_and_a_lab() -> None:
    done = netlab("exec", "--on", "guest", "--profile", "delay=5ms", "--", "sh", "-c", "echo $NETLAB_PEER; exit 7")
    assert done.returncode == 7
    assert done.stdout == "10.77.0.2\n"


def test_a_link_inside_has_the_delay_that_was_asked_for() -> None:
    done = netlab(
        "exec", "--on", "guest", "--profile", "delay=40ms", "--", "sh", "-c", "ping -c 5 -i 0.2 -q $NETLAB_PEER"
    )
    assert done.returncode == 0, done.stderr
    least_ms = float(done.stdout.split("min/avg/max/mdev = ")[1].split("/")[0])
    assert 80.0 <= least_ms < 90.0


def test_usage_errors_keep_their_status() -> None:
    done = netlab("exec", "--on", "guest", "--profile", "wifi-nromal", "--", "true")
    assert done.returncode == 2
    assert "did you mean 'wifi-normal'" in done.stderr


def test_demo_document_lands_on_the_host(tmp_path: Path) -> None:
    done = netlab(
        "demo", "--on", "guest", "--episodes", "1", "--network", "wifi-normal", "--json", "--output", "demo.json",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed, written = json.loads(done.stdout), json.loads((tmp_path / "demo.json").read_text())
    assert printed == written
    assert [cell["actuator"] for cell in printed["cells"]] == ["newest", "newest", "scheduled"]
    assert printed["cells"][2]["return_mean"] > 450
    assert "sha256:" in printed["machine"]["guest"]
    assert (tmp_path / "demo.json").stat().st_uid == os.geteuid()


def test_ctrl_c_ends_the_demo_and_leaves_nothing() -> None:
    process = subprocess.Popen(
        [*NETLAB, "demo", "--on", "guest", "--episodes", "50"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:  # the labs run and the first episodes are over
        if "mean return" in line:
            break
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait(60) == 130
    assert time.monotonic() - begin < 60.0
    assert "Traceback" not in rest
    process.stderr.close()
