"""The README's road from a measurement to a lab, word for word; the access point is a host behind a link."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from netlab.traces.presets import parse_preset
from netlab.traces.trace_file import read_trace

README = Path(__file__).parents[2] / "README.md"
ACCESS_POINT = "192.168.1.1"
LINK = "delay=3ms,jitter=1ms,law=pareto,loss=1%"
NETLAB = [sys.executable, "-P", "-m", "netlab"]


def printed_commands() -> list[list[str]]:
    section = README.read_text(encoding="utf-8").partition("in four commands")[2].partition("\n###")[0]
    lines = re.findall(r"^    ((?:ping|netlab) .*)$", section, re.M)
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.virtual_time("a minute of pings and twenty seconds of probes, which cost nothing there")
def test_from_your_wifi_to_the_lab_in_four_commands(tmp_path: Path) -> None:
    ping, *rest = printed_commands()
    assert [words[0] for words in (ping, *rest)] == ["ping", "netlab", "netlab", "netlab"]
    assert ACCESS_POINT in ping
    measure = " ".join(ping).replace(ACCESS_POINT, "$NETLAB_PEER")
    behind = [*NETLAB, "exec", "--on", "host", "--profile", LINK, "--", "sh", "-c", measure]
    subprocess.run(behind, cwd=tmp_path, check=False, timeout=300)  # ping's status tells of losses
    for words in rest:
        done = subprocess.run(
            [*NETLAB, *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
        )
        print(done.stdout, done.stderr)
        assert done.returncode == 0, done.stderr
    trace, fitted = read_trace(tmp_path / "wifi.csv"), parse_preset(str(tmp_path / "wifi.toml"))
    assert trace.n == int(ping[ping.index("-c") + 1])
    assert trace.loss_ratio is not None and 0.0 < trace.loss_ratio < 0.06  # 2 % asked; 300 packets
    assert abs(fitted.round_trip_mean_s - float(trace.delays_s.mean())) < 0.1e-3
    assert fitted.loss_ratio_mean > 0.0
    assert done.stdout.rstrip().endswith("pass: delivered as asked")
