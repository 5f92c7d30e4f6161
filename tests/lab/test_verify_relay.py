"""``netlab verify`` through a relay: what is asked passes. Wide allowances: the machine may be busy."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlab.namespaces.relay.wiring import RelayWiring
from netlab.probe.probe_plan import ProbePlan
from netlab.traces.conformance.allowance import Allowance
from netlab.traces.presets import parse_preset
from netlab.verification.verify import verify_in_lab

WIDE = Allowance(later_s=5e-3, stragglers=0.1)
PLAN = ProbePlan(count=500, rate_hz=250.0)


@pytest.mark.parametrize(
    "profile", ["wifi-normal", "measured", "delay=10ms,loss.mean=5%,loss.burst=3,duplicate=2%"]
)
def test_a_relay_delivers_what_is_asked(profile: str) -> None:
    """n = 500 each way over 2 s; the seed decides the losses."""
    if not Path("/dev/net/tun").exists():
        pytest.skip("this kernel has no tun")
    measured, report = verify_in_lab(profile, parse_preset(profile), PLAN, 7, RelayWiring(), WIDE)
    assert report.holds, [(one.direction, one.failed) for one in report.conformance.directions]
    assert report.machine["engine"] == "relay"
    assert {flow.trace.n for flow in measured.values()} == {500}
