"""VectorNetwork against VirtualNetworks where nothing is answered for longer than an edge remembers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from vector_network_twins import Twins, play_both

from netlab.control import Value
from netlab.control.feature_spec import FeatureSpec
from netlab.envs.task import Step
from netlab.envs.virtual.options import NetworkOptions
from netlab.messages import Space, TaskDescription
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule
from netlab.traces.schedule import Step as ScheduleStep

DESCRIPTION = TaskDescription(
    name="CountTicks",
    rate_hz=50.0,
    observation=Space(kind="box", dtype="float32", shape=(1,)),
    action=Space(kind="discrete", dtype="int64", n=3),
    pace="real-time",
)
POOR = LinkProfile(delay_s=0.02, jitter_s=0.01, loss=0.3, ordered=False)
OUTAGE = Schedule(
    (ScheduleStep(0.0, POOR), ScheduleStep(1.6, LinkProfile(loss=1.0)), ScheduleStep(24.0, POOR)),
    duration_s=100.0,
    packet_rate_hz=1000.0,
)
VERY_FAR = LinkProfile(delay_s=10.2, jitter_s=0.6, loss=0.2, ordered=False)
"""There and back takes some 1020 ticks: half of the answers come too late."""


class CountTicks:
    """Shows how many ticks there were; never ends."""

    def __init__(self) -> None:
        self.description = DESCRIPTION
        self._ticks = 0

    def reset(self, seed: int) -> NDArray[Any]:
        self._ticks = 0
        return self._seen()

    def step(self, action: Value | None) -> Step:
        self._ticks += 1
        return Step(self._seen(), 1.0, False, False)

    def close(self) -> None:
        pass

    def _seen(self) -> NDArray[Any]:
        return np.array([self._ticks], np.float32)


class CountTicksColumns:
    """The same, n times."""

    def __init__(self, n: int) -> None:
        self.description = DESCRIPTION
        self.n = n
        self.observations = self.state = np.zeros((n, 1), np.float32)
        self.rewards = np.zeros(n)
        self.terminated, self.truncated = np.zeros((2, n), bool)

    def prepare(self, seeds: NDArray[np.int64]) -> None:
        pass

    def reset(self, mask: NDArray[np.bool_], seeds: NDArray[np.int64]) -> None:
        self.observations[mask] = 0.0
        self.rewards[mask] = 0.0

    def step(self, actions: NDArray[Any], neutral: NDArray[np.bool_], active: NDArray[np.bool_]) -> None:
        self.observations[active] += 1.0
        self.rewards[active] = 1.0


@pytest.mark.parametrize("network", [OUTAGE, VERY_FAR], ids=["outage", "very far"])
def test_what_was_seen_of_losses_stays_in_a_long_silence(network: LinkProfile | Schedule) -> None:
    options = NetworkOptions(features=FeatureSpec(age=True, network=True))
    played = play_both(Twins(CountTicks, CountTicksColumns), network, options, n=2, steps=1600)
    assert max(played.ages) > 1 and played.remote > 20
