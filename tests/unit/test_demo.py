"""What the demo goes through, without running it."""

from __future__ import annotations

from netlab.agents.policy import find_policy
from netlab.demo import demo_experiment
from netlab.traces.presets import parse_preset
from netlab.traces.schedule import Schedule


def test_the_demo_has_a_measured_series_and_the_three_networks_and_three_trained_policies_each() -> None:
    cells = demo_experiment(6, (), 8, 1).cells
    networks = ["measured", "ethernet-clean", "wifi-normal", "wifi-degraded"]
    assert [cell.network for cell in cells] == [network for network in networks for _ in range(3)]
    for trio in (cells[first : first + 3] for first in range(0, 12, 3)):
        assert [cell.policy for cell in trio] == ["cartpole-baseline", "cartpole-paper", "cartpole-predictor"]
        assert [cell.actuator for cell in trio] == ["newest", "newest", "scheduled"]
        assert {cell.fallback for cell in trio} == {"neutral"}
        for cell in trio:  # as its card says, and not fitted to the network
            assert cell.horizon_ticks == find_policy(cell.policy).horizon_ticks
        assert trio[2].horizon_ticks is not None
    measured = parse_preset("measured")
    assert isinstance(measured.forward, Schedule) and isinstance(measured.back, Schedule)
    assert len(measured.forward.steps) >= 300


def test_networks_of_ones_own_replace_them() -> None:
    assert {cell.network for cell in demo_experiment(1, ("delay=5ms",), 8, 1).cells} == {"delay=5ms"}
