"""The README's road from a measurement to a lab, word for word; the access point is a host behind a link."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from netlab.demo import DEMO_POLICIES
from netlab.traces.distance import ks_distance, wasserstein_1
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.trace import Trace
from netlab.traces.trace_file import read_trace

README = Path(__file__).parents[2] / "README.md"
ACCESS_POINT = "192.168.1.1"
LINK = "delay=3ms,jitter=1ms,law=pareto,loss=1%"
WAYS = ("forward", "back")
NETLAB = [sys.executable, "-P", "-m", "netlab"]


def printed_commands() -> list[list[str]]:
    section = README.read_text(encoding="utf-8").partition("in four commands")[2].partition("\n###")[0]
    lines = re.findall(r"^    ((?:ping|netlab) .*)$", section, re.M)
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.virtual_time("a minute of pings and twenty seconds of probes, which cost nothing there")
def test_from_your_wifi_to_the_lab_in_four_commands(tmp_path: Path) -> None:
    (ping, *rest), (evaluate, demo) = printed_commands()[:4], printed_commands()[4:]
    assert [words[0] for words in (ping, *rest)] == ["ping", "netlab", "netlab", "netlab"]
    assert ACCESS_POINT in ping
    measure = " ".join(ping).replace(ACCESS_POINT, "$NETLAB_PEER")
    behind = [*NETLAB, "exec", "--on", "host", "--profile", LINK, "--", "sh", "-c", measure]
    subprocess.run(behind, cwd=tmp_path, check=False, timeout=300)  # ping's status tells of losses
    rest[-1] += ["--traces", "delivered"]
    for words in rest:
        verified = run(words, tmp_path)
    trace, fitted = read_trace(tmp_path / "wifi.csv"), parse_preset(str(tmp_path / "wifi.toml"))
    assert trace.n == int(ping[ping.index("-c") + 1])
    assert trace.loss_ratio is not None and 0.0 < trace.loss_ratio < 0.06  # 2 % asked; 300 packets
    assert fitted.loss_ratio_mean > 0.0
    assert verified.rstrip().endswith("pass: delivered as asked")
    assert_delivered(trace, fitted, [read_trace(tmp_path / "delivered" / f"{way}.csv") for way in WAYS])

    assert "wifi.toml" in run(evaluate, tmp_path)
    assert run([*demo, "--episodes", "1", "--on", "host"], tmp_path).count("wifi.toml") == len(DEMO_POLICIES)


def run(words: list[str], folder: Path) -> str:
    """Return what a command that works prints."""
    done = subprocess.run(
        [*NETLAB, *words[1:]], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_delivered(trace: Trace, fitted: ProfilePair, delivered: list[Trace]) -> None:
    """Assert that the lab's round trips have the distances to the trace that the fit said, and its losses."""
    provenance = fitted.provenance
    assert provenance is not None and provenance.packet_rate_hz is not None
    assert provenance.predicted_ks is not None and provenance.predicted_w1_s is not None
    for one in delivered:  # the flow that it was fitted for
        assert abs(one.interval_s * provenance.packet_rate_hz - 1.0) < 0.05
    round_trip_s = delivered[0].delay_s + delivered[1].delay_s
    round_trip_s = round_trip_s[~np.isnan(round_trip_s)]
    n, measured_s = round_trip_s.size, trace.delays_s
    assert n > 1000
    # n packets of a law have a KS distance from it of more than 1.95 / sqrt n in 1 of 1,000 such runs, and a
    # Wasserstein distance of about a deviation / sqrt n, bounded at 3; the lab itself may add 50 us a way.
    lab_s = 0.1e-3
    far_s, noise_s = wasserstein_1(round_trip_s, measured_s), 3.0 * float(measured_s.std()) / n**0.5
    far_ks = ks_distance(round_trip_s, measured_s)
    print(f"delivered: {n} round trips, KS {far_ks:.3g}, Wasserstein {far_s * 1e3:.3g} +- {noise_s * 1e3:.3g} ms")
    assert far_s < provenance.predicted_w1_s + noise_s + lab_s
    near = float(
        (np.abs(measured_s[:, None] - measured_s) < lab_s).mean()
    )  # whom what the lab adds takes past others
    assert far_ks < provenance.predicted_ks + 1.95 / n**0.5 + near
