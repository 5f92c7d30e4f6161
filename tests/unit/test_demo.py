"""What the demo goes through, without running it."""

from __future__ import annotations

from netlab.demo import demo_experiment
from netlab.traces.presets import parse_preset
from netlab.traces.schedule import Schedule


def test_the_demo_has_a_measured_series_and_the_three_networks_and_two_policies_each() -> None:
    cells = demo_experiment(6, (), 8, 1).cells
    networks = ["measured", "ethernet-clean", "wifi-normal", "wifi-degraded"]
    assert [cell.network for cell in cells] == [network for network in networks for _ in range(2)]
    for newest, scheduled in zip(cells[::2], cells[1::2], strict=True):
        assert (newest.actuator, newest.policy) == ("newest", "linear")
        assert (scheduled.actuator, scheduled.policy) == ("scheduled", "linear-predict")
    measured = parse_preset("measured")
    assert isinstance(measured.forward, Schedule) and isinstance(measured.back, Schedule)
    assert len(measured.forward.steps) >= 300


def test_networks_of_ones_own_replace_them() -> None:
    assert {cell.network for cell in demo_experiment(1, ("delay=5ms",), 8, 1).cells} == {"delay=5ms"}
