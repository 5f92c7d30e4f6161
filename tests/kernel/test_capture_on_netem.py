"""``netlab capture`` in a host behind the kernel's netem: the trace has the delay that was asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from netlab.clock_name import in_virtual_time
from netlab.traces.importers.importer import ImportOptions
from netlab.traces.importers.pcap import IMPORTER
from netlab.traces.trace import Trace
from netlab.traces.trace_source import TraceSource

RUN = Path(__file__).parents[1] / "lab" / "captured_run.py"
ASKED_S = 0.040
LATE_S = 50e-6 if in_virtual_time() else 0.02
"""How much later the median may be: the hosts' own time; in real time that of a busy machine."""


def captured(folder: Path, action: str, profile: str = "delay=20ms") -> Trace:
    """Return the trace of a capture of 20 ms each way."""
    program = [sys.executable, "-P", str(RUN)]
    command = [sys.executable, "-P", "-m", "netlab", "exec", "--on", "host", "--profile", profile]
    if action != "ping":
        command += ["--peer", " ".join([*program, "serve"])]
    command += ["--", *program, action, "SIGINT", "10.77.0.2", "eth0", "-o", "here.pcap"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=folder)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["status"] == 0, told
    source = TraceSource(folder / "here.pcap")
    (trace,) = IMPORTER.read(source, ImportOptions())
    return trace


@pytest.mark.parametrize("action", ["ping", "talk"])
def test_round_trips_are_what_was_asked_for(tmp_path: Path, action: str) -> None:
    trace = captured(tmp_path, action)
    print(f"{action}: asked {ASKED_S} s, shortest {trace.delay_s.min()}, median {np.median(trace.delay_s)} s")
    assert trace.n >= 20
    assert trace.delay_s.min() >= ASKED_S - 1e-6  # scapy's times are rounded to a quarter of a microsecond
    assert np.median(trace.delay_s) <= ASKED_S + LATE_S


def test_a_download_is_timed_by_its_acknowledgements(tmp_path: Path) -> None:
    # A rate, so that a window of data is spread over several ticks of TSval: of each, only the first is timed.
    trace = captured(tmp_path, "download", "delay=20ms,rate=400Mbit/s")
    print(f"asked {ASKED_S} s, n = {trace.n}, shortest {trace.delay_s.min()}, median {np.median(trace.delay_s)} s")
    assert "timed by its acknowledgements" in trace.source
    assert trace.n >= 5
    assert trace.delay_s.min() >= ASKED_S - 1e-6
    assert np.median(trace.delay_s) <= ASKED_S + max(LATE_S, 0.010)  # the queue is in it that slow start builds
