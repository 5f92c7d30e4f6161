"""``netlab capture`` in a host of a lab: what it records of a ping and of TCP, and how it ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captured_run import ROUNDS, SECRET

from netlab.traces.capture.packet_file import PacketFile
from netlab.traces.importers.catalogue import import_trace
from netlab.traces.importers.importer import ImportOptions
from netlab.traces.trace import UNKNOWN, Trace
from netlab.traces.trace_source import MAX_FILE_BYTES

RUN = Path(__file__).with_name("captured_run.py")
STALL_S = 0.02
"""How much later than asked a relay on a busy machine may deliver, at the median."""


@pytest.fixture(autouse=True)
def _needs_taps() -> None:
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("there is no /dev/net/tun")


def captured(
    folder: Path, action: str, ending: str, *arguments: str, profile: str = "delay=20ms"
) -> dict[str, Any]:
    """Capture on the interface of a host behind a relayed link; return what ``captured_run.py`` tells."""
    program = [sys.executable, "-P", str(RUN)]
    words = ["exec", "--on", "relay", "--profile", profile]
    if action == "talk":
        words += ["--peer", " ".join([*program, "serve"])]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "netlab", *words, "--", *program, action, ending, "10.77.0.2", *arguments],
        capture_output=True, text=True, check=False, timeout=120, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def read(path: Path, kind: str = "") -> Trace:
    """Return the trace of a capture that must be whole."""
    with path.open("rb") as file:
        packets = PacketFile(file, str(path), MAX_FILE_BYTES)
        assert sum(1 for _ in packets) > 0
        assert packets.damage == ""
    (trace,) = import_trace(path, options=ImportOptions(kind=kind))
    return trace


def ping_ms(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"time=([\d.]+) ms", text)]


def test_a_ping_until_enough_packets(tmp_path: Path) -> None:
    path = tmp_path / "ping.pcap"
    told = captured(
        tmp_path, "ping", "", "eth0", "--filter", "icmp", "--count", str(2 * ROUNDS), "-o", "ping.pcap"
    )
    assert (told["status"], told["stdout"]) == (0, "netlab trace import ping.pcap\n")
    assert f"{2 * ROUNDS} packets in" in told["stderr"]
    trace = read(path)
    theirs_s = np.array(ping_ms(told["done"])) / 1e3
    assert (trace.n, trace.loss_ratio, theirs_s.size) == (ROUNDS, 0.0, ROUNDS)
    # 20 ms each way is asked, and a relay is never early; ping stamps outside of what the capture stamps.
    assert trace.delay_s.min() >= 0.040
    assert np.median(trace.delay_s) < 0.040 + STALL_S
    assert np.median(theirs_s - trace.delay_s) < STALL_S
    assert (theirs_s - trace.delay_s).min() > -0.001  # it prints three digits
    assert os.listdir(tmp_path) == ["ping.pcap"]


@pytest.mark.parametrize("ending", ["SIGINT", "SIGTERM"])
def test_losses_are_pings_own_and_a_signal_leaves_a_whole_file(tmp_path: Path, ending: str) -> None:
    told = captured(tmp_path, "ping", ending, "eth0", "--json", "-o", "lossy.pcap", profile="delay=5ms,loss=20%")
    summary = json.loads(told["stdout"])
    assert (told["status"], summary["ended_by"], summary["missed"]) == (0, ending, 0)
    trace = read(tmp_path / "lossy.pcap", "icmp")
    received = int(re.findall(r"(\d+) received", told["done"])[0])
    assert trace.n == ROUNDS
    assert int((trace.lost == 0).sum()) == received
    assert int((trace.lost != 0).sum()) == ROUNDS - received
    answered = np.flatnonzero(trace.lost == 0)
    assert (trace.lost[: answered[-1]] != UNKNOWN).all()  # what is unanswered at the very end may be on its way
    assert os.listdir(tmp_path) == ["lossy.pcap"]


def test_round_trips_of_tcp_and_headers_alone(tmp_path: Path) -> None:
    path = tmp_path / "talk.pcap"
    told = captured(tmp_path, "talk", "SIGINT", "eth0", "--filter", "tcp", "-o", "talk.pcap")
    assert told["status"] == 0
    trace = read(path)
    assert trace.n >= ROUNDS // 2
    assert trace.delay_s.min() >= 0.040
    assert np.median(trace.delay_s) < 0.040 + STALL_S
    assert ":5001 and back, timed by its data" in trace.source
    assert SECRET not in path.read_bytes()


def test_retransmissions_are_no_delay(tmp_path: Path) -> None:
    """A tenth is lost each way: a fifth of the messages is answered a retransmission later, 200 ms at least."""
    told = captured(
        tmp_path, "talk", "SIGINT", "eth0", "--snap", "1500B", "-o", "talk.pcap", profile="delay=10ms,loss=10%"
    )
    assert told["status"] == 0
    trace = read(tmp_path / "talk.pcap", "tcp")
    assert int(re.findall(r"([\d,]+) retransmissions", trace.source)[0]) >= 1
    assert trace.n >= 10
    assert trace.delay_s.min() >= 0.020
    assert np.quantile(trace.delay_s, 0.9) < 0.2
    assert SECRET in (tmp_path / "talk.pcap").read_bytes()  # as --snap asks


def test_a_capture_for_so_long_of_nothing_that_is_asked_for(tmp_path: Path) -> None:
    told = captured(tmp_path, "ping", "", "eth0", "--filter", "tcp", "--for", "1500ms", "-o", "none.pcap")
    assert (told["status"], told["stdout"]) == (0, "")
    assert "nothing that the filter asks for has passed" in told["stderr"]
    with (tmp_path / "none.pcap").open("rb") as file:
        assert list(PacketFile(file, "none.pcap", MAX_FILE_BYTES)) == []


def test_an_interface_that_goes_down_leaves_a_whole_file(tmp_path: Path) -> None:
    told = captured(tmp_path, "down", "", "eth0", "-o", "cut.pcap")
    assert told["status"] == 1
    assert "cannot go on listening: Network is down" in told["stderr"]
    assert read(tmp_path / "cut.pcap", "icmp").n == ROUNDS


def test_an_interface_that_is_not_there(tmp_path: Path) -> None:
    told = captured(tmp_path, "none", "", "eht0", "-o", "none.pcap")
    assert told["status"] == 2
    assert "there is no interface 'eht0' here" in told["stderr"]
    assert "did you mean 'eth0'?" in told["stderr"]
    assert os.listdir(tmp_path) == []


def documented() -> list[list[str]]:
    """Return the commands of netlab in docs/capture.md that are to be typed, in its order."""
    text = (Path(__file__).parents[2] / "docs" / "capture.md").read_text()
    lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    own = [line.replace('sudo "$(command -v netlab)"', "netlab") for line in lines]
    return [line.split() for line in own if line.startswith("netlab ")]


def test_commands_of_the_page_run(tmp_path: Path) -> None:
    """As printed, but for the interface, which is the loopback one here, and shorter."""
    commands = documented()
    assert sum(words[1] == "capture" for words in commands) >= 4
    program = [sys.executable, "-P", str(RUN)]
    traffic = [
        [*program, "serve"],
        ["ping", "-q", "-i", "0.05", "127.0.0.1"],
        [*program, "chatter", "", "127.0.0.1"],
    ]
    running = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for words in traffic]
    try:
        for words in commands:
            short = ["2s" if before == "--for" else "20" if before == "--count" else word
                     for before, word in zip(["", *words[:-1]], words, strict=True)]  # fmt: skip
            here = ["lo" if word == "wlan0" else word for word in short]
            done = subprocess.run(
                [sys.executable, "-P", "-m", *here],
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
                cwd=tmp_path,
            )
            if "wifi" in words:
                assert (done.returncode, "lo is not in monitor mode" in done.stderr) == (2, True)
            else:
                assert done.returncode == 0, (here, done.stderr)
    finally:
        for process in running:
            process.terminate()
            process.wait()
    assert {path.name for path in tmp_path.iterdir()} == {
        "wifi.pcap", "wifi.csv", "ping.pcap", "download.pcap", "download.csv"
    }  # fmt: skip
