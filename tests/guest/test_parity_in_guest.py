"""What the wrapper for learning plays is what services play through the kernel's netem, tick by tick."""

from __future__ import annotations

import pytest

from netlab.agents.policy import find_policy
from netlab.tables.parity_cell import ParityCell
from netlab.tables.parity_engines import VIRTUAL, engine_kernel


@pytest.mark.parametrize(
    ("policy", "network", "options"),
    [
        ("cartpole-paper", "wifi-degraded", {}),
        ("doorkey-baseline", "wifi-degraded@oneway", {"limit_ticks": 160.0}),
    ],
)
def test_services_in_virtual_time_play_the_wrappers_episodes(policy, network, options) -> None:
    """4 episodes of one run: fresh links for each, a sampled policy's draws too."""
    cell = ParityCell(
        policy=policy,
        policy_sha256=find_policy(policy).sha256,
        network=network,
        engine=VIRTUAL,
        kernel=engine_kernel(VIRTUAL),
        options=options,
        seed=5,
        episodes=4,
    )
    found = cell.play()
    assert len(found.services) == len(found.wrapper) == 4 and found.ticks > 80
    assert found.early == ""
    assert len(set(found.wrapper)) > 1, "episodes that are all alike would show little"
    for parting in found.partings:
        assert parting.is_race, parting
    if not found.partings:
        assert found.services == found.wrapper
    assert (found.machine["engine"], found.machine["clock"]) == ("guest", "virtual")
