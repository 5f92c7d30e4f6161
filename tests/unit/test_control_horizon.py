from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from control_simulation import SimulatedNetwork, normal_fate, run_task
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.agents.policy import make_policy
from netlab.control import Edge, Neutral, Remote, Responder, Scheduled
from netlab.control.horizon import AdaptiveHorizon, FixedHorizon, price_at
from netlab.envs.cartpole import CartPole
from netlab.errors import SpecError
from netlab.messages import Observation

RUN = 3
ages = st.lists(st.one_of(st.integers(1, 40), st.integers(1, 2**62)), min_size=1, max_size=120)
ratios = st.floats(0.01, 0.999)


def seen(tick, age):
    return Observation(RUN, 0, tick, b"", b"", 0, 0, age, 0.0)


def feed(horizon, series, first_tick=0):
    """Note one age a tick; return D after each."""
    followed = []
    for tick, age in enumerate(series, first_tick):
        horizon.note(seen(tick, age))
        followed.append(horizon.ticks)
    return followed


def cheapest(window, covered, price_ratio):
    """The D between the least age and the quantile with the least P(A > D) + price * D, by trying all."""
    tried = np.arange(min(window), covered + 1)
    late = (np.asarray(window)[None, :] > tried[:, None]).sum(axis=1)
    return int(tried[np.argmin(late + price_ratio * len(window) * tried)])


def test_a_fixed_horizon_learns_nothing():
    horizon = FixedHorizon(7)
    assert feed(horizon, [1, 50, 200]) == [7, 7, 7]


@settings(max_examples=200, deadline=None)
@given(ages, ratios, st.integers(1, 60))
def test_the_quantile_is_numpy_s_over_the_same_window(series, quantile, window):
    horizon = AdaptiveHorizon(10, quantile=quantile, window_ticks=window)
    newest = deque(maxlen=window)
    for tick, age in enumerate(series):
        horizon.note(seen(tick, age))
        newest.append(age)
        assert horizon.covered_ticks == np.quantile(np.array(newest), quantile, method="inverted_cdf")
        late = sum(one > horizon.covered_ticks for one in newest) / len(newest)
        assert late <= 1.0 - quantile + 1e-9


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=120), ratios, st.floats(0.001, 0.3), st.integers(1, 60))
def test_a_tick_more_has_to_be_worth_its_price(series, quantile, price, window):
    horizon = AdaptiveHorizon(10, quantile=quantile, price_ratio=price, window_ticks=window)
    feed(horizon, series)
    newest = series[-window:]
    found = horizon.worth_ticks
    assert found <= horizon.covered_ticks
    least = cheapest(newest, horizon.covered_ticks, price)
    cost = [sum(age > d for age in newest) + price * len(newest) * d for d in (found, least)]
    assert cost[0] == pytest.approx(cost[1])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(-1, 2**62), max_size=120),
    st.tuples(st.integers(1, 256), st.integers(1, 256), st.integers(1, 256)).map(sorted),
    st.integers(0, 256),
    st.integers(1, 50),
    st.integers(1, 50),
    st.sampled_from([0.0, 0.01, 0.5]),
)
def test_it_never_leaves_its_bounds(series, bounds, margin, window, hold, price):
    least, start, most = bounds
    horizon = AdaptiveHorizon(
        start,
        least_ticks=least,
        most_ticks=most,
        margin_ticks=margin,
        window_ticks=window,
        hold_ticks=hold,
        price_ratio=price,
    )
    assert horizon.ticks == start
    followed = feed(horizon, series)
    assert all(least <= ticks <= most for ticks in followed)
    told, ticks = [], start
    for tick, now in enumerate(followed):
        if now != ticks:
            told.append((tick, now))
        ticks = now
    assert list(horizon.changes) == told


@settings(max_examples=200, deadline=None)
@given(st.data(), ages, ratios, st.integers(1, 40), st.integers(1, 40))
def test_the_quantile_alone_never_falls_where_an_age_rises(data, series, quantile, window, hold):
    raised = [age + data.draw(st.integers(0, 100)) for age in series]
    raised = [min(age, 2**62) for age in raised]
    lower, higher = (
        AdaptiveHorizon(5, quantile=quantile, price_ratio=0.0, window_ticks=window, hold_ticks=hold)
        for _ in range(2)
    )
    for low, high in zip(feed(lower, series), feed(higher, raised), strict=True):
        assert low <= high


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 20),
    st.integers(21, 2**62),
    st.integers(1, 30),
    st.integers(1, 30),
    st.sampled_from([0.0, 0.01]),
    st.integers(0, 60),
)
def test_a_spike_of_any_height_is_forgotten(usual, spike, window, hold, price, before):
    def follow(series):
        horizon = AdaptiveHorizon(usual, window_ticks=window, hold_ticks=hold, price_ratio=price)
        feed(horizon, series)
        return horizon

    for since in range(window + hold):
        horizon = follow([usual] * before + [spike] + [usual] * since)
        assert (spike in horizon._sorted) == (since < window)
    assert follow([usual] * before + [spike] + [usual] * (window + hold)).ticks == usual


def test_one_spike_in_a_full_window_changes_nothing():
    horizon = AdaptiveHorizon(3)
    followed = feed(horizon, [3] * 1000 + [250] + [3] * 1000)
    assert set(followed) == {3}
    assert not horizon.changes


def test_it_rises_at_once_and_falls_when_the_larger_has_not_been_wanted_for_a_while():
    horizon = AdaptiveHorizon(2, quantile=0.5, price_ratio=0.0, window_ticks=4, hold_ticks=10)
    followed = feed(horizon, [2] * 10 + [6] * 3 + [2] * 20)
    assert followed[10:12] == [2, 2]
    assert followed[12] == 6  # three of the last four
    # Wanted until tick 13, where the last four are 6 6 6 2; ten ticks later it goes.
    assert followed[22:24] == [6, 2]
    assert [ticks for _, ticks in horizon.changes] == [6, 2]


def test_what_it_begins_with_is_kept_as_long_as_any_other():
    horizon = AdaptiveHorizon(16, hold_ticks=30)
    followed = feed(horizon, [1] * 31)
    assert followed[:29] == [16] * 29
    assert followed[-1] == 1


def test_an_age_that_flaps_across_a_tick_s_edge_moves_it_once_and_for_all():
    series = np.where(np.random.default_rng(1).random(5000) < 0.1, 5, 4).tolist()
    changes = {}
    for hold_ticks in (1, 300):
        horizon = AdaptiveHorizon(4, quantile=0.9, window_ticks=20, hold_ticks=hold_ticks)
        feed(horizon, series)
        changes[hold_ticks] = len(horizon.changes)
    # n = 5000: the quantile crosses the edge whenever more than 2 of 20 are 5, which 32 % of the windows have.
    assert changes[1] > 100
    assert changes[300] == 1


def test_ticks_whose_observation_was_lost_count_with_the_least_age_they_can_have_had():
    horizon = AdaptiveHorizon(1, price_ratio=0.0)
    for tick, age in ((10, 2), (16, 5)):
        horizon.note(seen(tick, age))
    assert list(horizon._ages) == [2, 1, 1, 2, 3, 4, 5]  # ticks 10 .. 16


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.floats(0.0, 0.6), st.integers(1, 12))
def test_no_age_stands_in_for_a_larger_one(seed, loss, delay):
    """The stand-ins of lost ticks are never above what was measured there."""
    rng = np.random.default_rng(seed)
    arrived, true_ages = -1, {}
    for tick in range(80):
        if tick >= delay and rng.random() >= loss:
            arrived = tick - delay
        true_ages[tick] = tick - arrived if arrived >= 0 else -1
    horizon = AdaptiveHorizon(1)
    known = [tick for tick in range(80) if rng.random() < 0.5 and true_ages[tick] > 0]
    for tick in known:
        horizon.note(seen(tick, true_ages[tick]))
    if known:
        assert len(horizon._ages) == known[-1] - known[0] + 1
        for stood, tick in zip(horizon._ages, range(known[0], known[-1] + 1), strict=True):
            assert 1 <= stood <= true_ages[tick]


def test_a_long_outage_costs_no_more_than_the_window():
    horizon = AdaptiveHorizon(1, window_ticks=50)
    horizon.note(seen(0, 1))
    horizon.note(seen(2**61, 2**61))
    assert len(horizon._ages) == 50
    assert horizon.ticks == 256


def test_the_past_is_ignored():
    horizon = AdaptiveHorizon(1)
    horizon.note(seen(10, 3))
    for overtaken in (seen(10, 9), seen(9, 9)):
        horizon.note(overtaken)
    assert list(horizon._ages) == [3]


@settings(max_examples=100, deadline=None)
@given(ages, ages, st.integers(1, 60), st.integers(1, 50), st.sampled_from([0.0, 0.01]))
def test_what_an_episode_measured_has_no_effect_on_the_next_one(before, series, window, hold, price):
    """Ticks go on, and the gap up to the next episode's first observation stands for no age."""
    worn, fresh = (AdaptiveHorizon(10, window_ticks=window, hold_ticks=hold, price_ratio=price) for _ in range(2))
    feed(worn, before)
    worn.begin_episode()
    assert worn.ticks == 10 and worn.covered_ticks == -1
    later = len(before) + 50
    assert feed(worn, [-1, *series], later) == feed(fresh, [-1, *series], later)
    assert list(worn.changes) == list(fresh.changes)
    assert list(worn._ages) == list(fresh._ages)


def test_the_log_of_changes_is_bounded():
    horizon = AdaptiveHorizon(1, window_ticks=1, hold_ticks=1, price_ratio=0.0)
    feed(horizon, [1, 2] * 3000)
    assert len(horizon.changes) == 4096
    assert horizon.changes[-1] == (5999, 2)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 8), st.floats(0.0, 0.5))
def test_the_share_of_ages_above_d_is_the_share_of_ticks_missed(seed, horizon_ticks, spread, loss):
    """Frames that hold the decisions for o+1 .. o+D, over a link that delays, loses and reorders."""
    rng = np.random.default_rng(seed)
    ticks, arrivals = 200, {}
    for obs in range(ticks):
        if rng.random() >= loss:
            arrivals.setdefault(obs + int(rng.integers(1, spread + 1)), []).append(obs)
    newest, playable = -1, set()
    for tick in range(ticks):
        for obs in arrivals.get(tick, []):
            newest = max(newest, obs)
            playable.update(range(max(obs + 1, tick), obs + horizon_ticks + 1))
        if newest >= 0:
            assert (tick in playable) == (tick - newest <= horizon_ticks)


@pytest.mark.parametrize("episodes", [1, 3])
def test_a_horizon_that_begins_too_deep_finds_the_one_of_the_link_in_each_episode(episodes):
    """CartPole on a round trip of 80 +- 40 ms with 10 % loss each way."""
    task, rng = CartPole(), np.random.default_rng(17)
    policy, predictor = make_policy("linear-predict", task.description)
    adaptive = AdaptiveHorizon(16)
    responder = Responder(Remote(task.description, predictor, adaptive, RUN, "scheduled"), policy)
    network = SimulatedNetwork(responder, normal_fate(rng, 0.040, 0.040 / 2**0.5, 0.10, 50.0))
    edge = Edge(task.description, Scheduled(16), Neutral(), RUN)
    assert run_task(task, edge, network, episodes, seed=5).returns == [500.0] * episodes
    assert 6 <= adaptive.ticks <= 10
    first_tick, first_ticks = adaptive.changes[0]
    assert first_tick > 500 * (episodes - 1) and first_ticks < 16, "the newest episode began with 16 too"


@pytest.mark.parametrize(("rate_hz", "price"), [(50.0, 0.01), (500.0, 0.001), (10.0, 0.05), (0.1, 0.05)])
def test_the_price_goes_with_the_length_of_a_tick(rate_hz, price):
    assert price_at(rate_hz) == pytest.approx(price)


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ({"start_ticks": 0}, "horizon.start_ticks"),
        ({"start_ticks": 257}, "horizon.start_ticks"),
        ({"start_ticks": True}, "horizon.start_ticks"),
        ({"start_ticks": 4, "least_ticks": 5}, "horizon.start_ticks"),
        ({"start_ticks": 4, "most_ticks": 3}, "horizon.start_ticks"),
        ({"start_ticks": 4, "least_ticks": 9, "most_ticks": 8}, "horizon.least_ticks"),
        ({"start_ticks": 4, "most_ticks": 257}, "horizon.most_ticks"),
        ({"start_ticks": 4, "margin_ticks": -1}, "horizon.margin_ticks"),
        ({"start_ticks": 4, "quantile": 1.0}, "horizon.quantile"),
        ({"start_ticks": 4, "quantile": float("nan")}, "horizon.quantile"),
        ({"start_ticks": 4, "price_ratio": float("nan")}, "horizon.price_ratio"),
        ({"start_ticks": 4, "price_ratio": -0.1}, "horizon.price_ratio"),
        ({"start_ticks": 4, "window_ticks": 0}, "horizon.window_ticks"),
        ({"start_ticks": 4, "window_ticks": 10**9}, "horizon.window_ticks"),
        ({"start_ticks": 4, "hold_ticks": 0}, "horizon.hold_ticks"),
    ],
)
def test_what_cannot_be_is_named(arguments, key):
    with pytest.raises(SpecError) as caught:
        AdaptiveHorizon(**arguments)
    assert caught.value.key == key


@pytest.mark.parametrize("ticks", [0, 257, 2.0, True])
def test_a_fixed_horizon_out_of_range_is_named(ticks):
    with pytest.raises(SpecError, match=r"1 \.\. 256"):
        FixedHorizon(ticks)
