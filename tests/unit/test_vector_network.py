"""VectorNetwork against as many VirtualNetworks: networks, actuators, fallbacks, features and paces one by one."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import structs
from vector_network_twins import CARTPOLE, DOORKEY, REACHER, Twins, at_pace, play_both, returns_of

from netlab.agents.cartpole_physics import CartPolePhysics, CartPolePhysicsColumns
from netlab.control.feature_spec import FeatureSpec
from netlab.envs.vector.cartpole import CartPoleColumns
from netlab.envs.vector.network import VectorNetwork
from netlab.envs.virtual.options import NetworkOptions
from netlab.traces.loss import GilbertElliott
from netlab.traces.network_distribution import RANDOM
from netlab.traces.network_pool import NetworkPool
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import PRESETS
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule
from netlab.traces.schedule import Step as ScheduleStep

RICH = FeatureSpec(stack=3, actions=4, age=True, acknowledgement=5, network=True)
BURSTS = LinkProfile(delay_s=0.03, jitter_s=0.02, loss=GilbertElliott.from_mean(0.2, 4.0), ordered=False)
ORDERED = LinkProfile(delay_s=0.04, jitter_s=0.03, loss=0.05)
SLOW = LinkProfile(delay_s=0.01, rate_bps=40e3)
TWICE = LinkProfile(delay_s=0.03, jitter_s=0.02, duplicate_ratio=0.5, loss=0.2, ordered=False)
REORDERED = LinkProfile(delay_s=0.06, reorder_ratio=0.3, corrupt_ratio=0.05)
TABLE = LinkProfile(law="table", delay_table_s=(0.001, 0.02, 0.02, 0.05, 0.3), ordered=False)
PARETO = LinkProfile(delay_s=0.03, jitter_s=0.02, law="pareto", ordered=False)
FAR = LinkProfile(delay_s=1.5, jitter_s=0.4, ordered=False)
DEAF = ProfilePair("deaf", LinkProfile(loss=1.0), LinkProfile())

SHIFTING = Schedule(  # its steps begin at ticks of CartPole, at moments between, and at none of DoorKey's
    (
        ScheduleStep(0.0, LinkProfile(delay_s=0.01, ordered=False)),
        ScheduleStep(0.1, LinkProfile(delay_s=0.05, jitter_s=0.02, loss=0.3, ordered=False)),
        ScheduleStep(0.2, BURSTS),
        ScheduleStep(0.23, ORDERED),
    ),
    duration_s=0.3,
    loop=True,
    packet_rate_hz=10_000.0,
)
ENDING = Schedule(
    (ScheduleStep(0.0, SLOW), ScheduleStep(0.12, LinkProfile(delay_s=0.02, loss=0.5)), ScheduleStep(0.26, TWICE)),
    duration_s=0.4,
    packet_rate_hz=10_000.0,
)

SCHEDULED = NetworkOptions(actuator="scheduled", horizon=6, features=RICH)
BY_TURNS = NetworkOptions(actuator="stop-and-wait", features=RICH)


@pytest.mark.parametrize("preset", [*sorted(PRESETS), "wifi-degraded@oneway"])
def test_presets(preset: str) -> None:
    played = play_both(CARTPOLE, preset, NetworkOptions(features=RICH), steps=80)
    assert played.asked and played.remote


@pytest.mark.parametrize(
    "link",
    [BURSTS, ORDERED, SLOW, TWICE, REORDERED, TABLE, PARETO, FAR, SHIFTING, ENDING],
    ids=["bursts", "ordered", "slow", "twice", "reordered", "table", "pareto", "far", "shifting", "ending"],
)
@pytest.mark.parametrize("options", [NetworkOptions(features=RICH), SCHEDULED, BY_TURNS], ids=lambda o: o.actuator)
def test_links(link: LinkProfile | Schedule, options: NetworkOptions) -> None:
    play_both(at_pace(CARTPOLE, "real-time"), ProfilePair("both", link, link), options, n=2, steps=90)


@pytest.mark.parametrize("rate_hz", [50.0, 20.0])
def test_passes_of_no_whole_nanoseconds(rate_hz: float) -> None:
    """Each sixth of a hundred milliseconds: some passes begin at the very nanosecond of a tick, by one rule."""
    near, deaf = LinkProfile(delay_s=0.003, ordered=False), LinkProfile(loss=1.0, ordered=False)
    sixtieth = Schedule((ScheduleStep(0.0, near), ScheduleStep(1 / 120, deaf)), duration_s=1 / 60, loop=True)
    played = play_both(CARTPOLE, sixtieth, NetworkOptions(features=RICH, rate_hz=rate_hz), n=2, steps=90)
    assert played.remote


@pytest.mark.parametrize("task", [CARTPOLE, DOORKEY, REACHER], ids=["cartpole", "doorkey", "reacher"])
@pytest.mark.parametrize("network", [None, "wifi-degraded", SHIFTING], ids=["none", "wifi", "shifting"])
def test_tasks(task: Twins, network: str | Schedule | None) -> None:
    played = play_both(task, network, NetworkOptions(features=RICH), n=2, steps=190)
    assert played.ended and played.asked
    play_both(task, network, SCHEDULED, n=2, steps=60)
    play_both(task, network, BY_TURNS, n=2, steps=60)


@pytest.mark.parametrize("actuator", ["newest", "scheduled", "stop-and-wait"])
def test_the_other_pace(actuator: str) -> None:
    options = NetworkOptions(actuator=actuator, horizon=3 if actuator == "scheduled" else None, features=RICH)
    play_both(at_pace(CARTPOLE, "turn-based"), "wifi-degraded", options)
    play_both(at_pace(DOORKEY, "real-time"), "wifi-degraded", options, n=2, steps=60)


@pytest.mark.parametrize("horizon_ticks", [1, 2, 10, 20])
def test_horizons_and_holding(horizon_ticks: int) -> None:
    options = NetworkOptions(
        actuator="scheduled",
        horizon=horizon_ticks,
        fallback="hold",
        hold_limit_ticks=2,
        features=FeatureSpec(actions=12, age=True),
    )
    play_both(CARTPOLE, BURSTS, options)
    play_both(REACHER, BURSTS, NetworkOptions(fallback="hold", features=RICH), n=2, steps=60)


@pytest.mark.parametrize(
    "network", [BURSTS, ORDERED, SHIFTING, TABLE], ids=["bursts", "ordered", "shifting", "table"]
)
def test_an_adaptive_horizon(network: LinkProfile | Schedule) -> None:
    options = NetworkOptions(actuator="scheduled", horizon="adaptive", features=RICH, rate_hz=50.0)
    played = play_both(REACHER, network, options, n=2, steps=260)
    assert len(played.horizons) > 1 and played.idle
    played = play_both(CARTPOLE, network, structs.replace(options, rate_hz=None), n=2, steps=260)
    assert played.ended >= 6, "three episodes a row, each of which begins with 0.2 s"


def test_exact_predictions() -> None:
    predicted = FeatureSpec(stack=2, predicted=True, actions=3, age=True)
    for options in (
        NetworkOptions(features=predicted),
        NetworkOptions(actuator="scheduled", horizon=5, features=predicted),
        NetworkOptions(actuator="scheduled", horizon="adaptive", features=predicted),
        NetworkOptions(actuator="stop-and-wait", features=predicted),
    ):
        play_both(CARTPOLE, BURSTS, options, n=2, predictors=(CartPolePhysics(), CartPolePhysicsColumns()))
        play_both(CARTPOLE, BURSTS, options, n=2, steps=60)  # persistence


def test_a_pool_gives_each_episode_its_own_network() -> None:
    pool = NetworkPool(RANDOM, 3, size=12)
    played = play_both(CARTPOLE, pool, NetworkOptions(features=RICH), n=4, steps=160)
    assert played.ended > 10


def test_nothing_ever_arrives() -> None:
    played = play_both(CARTPOLE, DEAF, NetworkOptions(features=RICH), steps=120)
    assert not played.asked and played.ended


def test_a_slow_rate_takes_the_lengths_of_frames() -> None:
    link = LinkProfile(rate_bps=30_000.0, limit_packets=20)
    for options in (NetworkOptions(features=RICH), SCHEDULED, BY_TURNS):
        played = play_both(at_pace(REACHER, "real-time"), link, options, n=2, steps=150)
        assert len(played.ages) > 2, "a queue builds up"


def test_many_rows_in_a_long_run() -> None:
    played = play_both(CARTPOLE, "wifi-degraded", NetworkOptions(features=FeatureSpec(stack=4)), n=12, steps=250)
    assert played.ended > 60


def test_seeds_of_rows_and_runs_that_go_on() -> None:
    def made() -> VectorNetwork:
        return VectorNetwork(CartPoleColumns(3), "wifi-degraded", NetworkOptions(features=RICH))

    first, again = returns_of(made(), 5, 60), returns_of(made(), 5, 60)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    other = returns_of(made(), 6, 60)
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    env = made()
    given, _ = env.reset(seed=[7, 5, 2**64 - 1])
    np.testing.assert_array_equal(given[1], env.reset(seed=[5, 5, 5])[0][2])
    goes_on, _ = env.reset()
    assert not np.array_equal(goes_on, env.reset()[0])
