"""A relay killed in the midst of playing: play ends, is told of, and what is remembered is what was taken."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from netlab.errors import LabError
from netlab.lab import Lab
from netlab.namespaces.relay.relay_wire import RelayWire
from netlab.namespaces.relay.wiring import RelayWiring
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step

STEPS = 5
STEP_S = 0.005


@pytest.mark.parametrize("turn", range(4))
def test_a_relay_that_is_killed_while_it_plays(turn: int) -> None:
    if not Path("/dev/net/tun").exists():
        pytest.skip("this kernel has no tun")
    steps = tuple(Step(STEP_S * n, LinkProfile(delay_s=0.01 + 0.001 * n)) for n in range(STEPS))
    lab = Lab(seed=turn, wiring=RelayWiring()).open()
    links = [
        lab.add_link(lab.add_host(f"a{n}"), lab.add_host(f"b{n}"), Schedule(steps, 0.025, loop=True))
        for n in (0, 1)
    ]
    wire = links[0].wire
    assert isinstance(wire, RelayWire)
    player = lab.play()
    assert player is not None
    deadline_s = time.monotonic() + 60.0
    while player.counts.applied < 40 + turn and time.monotonic() < deadline_s:
        time.sleep(0.0007)
    assert player.start_s is not None and player.start_s < time.monotonic()
    os.kill(wire.relay.pid, signal.SIGKILL)
    while player.is_playing() and time.monotonic() < deadline_s:
        time.sleep(0.001)
    assert not player.is_playing(), "nobody plays on what is dead"
    with pytest.raises(LabError, match=r"died \(exit code -9\)"):
        player.check()
    last_ns = {
        step.track: 10_000_000 + 1_000_000 * (step.step % STEPS)
        for step in player.log
        if step.outcome == "applied"
    }
    for link in links:
        for direction in ("forward", "back"):
            impairer = link.impairer(direction)
            assert impairer is not None and impairer.asked is not None
            assert impairer.asked.latency_ns == last_ns[f"{link.name} {direction}"], "what was taken last, no more"
    with pytest.raises(LabError, match=r"died \(exit code -9\)"):
        lab.stop_playing()
    with pytest.raises(LabError, match=r"died \(exit code -9\)"):
        lab.close()
