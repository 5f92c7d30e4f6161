"""D by one rule: asked for, else of the card, else fitted to a known network, else adaptive."""

from __future__ import annotations

import pytest

from netlab.agents.policy import find_policy
from netlab.errors import ProfileError
from netlab.lab_impairment import CLEAN
from netlab.messages import ADAPTIVE_HORIZON
from netlab.scoring.scorer import score
from netlab.settled_horizon import settled_horizon
from netlab.traces.horizon import horizon_ticks
from netlab.traces.presets import parse_preset

WIFI = parse_preset("wifi-degraded")
FAR = parse_preset("delay=3s")
"""300 ticks of 20 ms there and back: more than a message holds."""
FITTED = horizon_ticks(WIFI, 0.02)


@pytest.mark.parametrize(
    ("asked", "of_card", "pair", "horizon"),
    [
        (3, 14, WIFI, 3),
        (ADAPTIVE_HORIZON, 14, WIFI, ADAPTIVE_HORIZON),
        (3, None, None, 3),
        (None, 14, WIFI, 14),
        (None, 14, None, 14),
        (None, 14, FAR, 14),
        (None, None, WIFI, FITTED),
        (None, None, CLEAN, 1),
        (None, None, None, ADAPTIVE_HORIZON),
    ],
)
def test_what_is_said_beats_what_is_fitted(asked, of_card, pair, horizon) -> None:
    assert settled_horizon(asked, of_card, pair, 50.0) == horizon


def test_it_is_in_ticks_of_the_rate() -> None:
    assert FITTED == 10
    assert settled_horizon(None, None, WIFI, 10.0) == horizon_ticks(WIFI, 0.1) < FITTED


def test_none_fits_a_network_that_is_too_far_away() -> None:
    with pytest.raises(ProfileError, match="at most 256 fit a message"):
        settled_horizon(None, None, FAR, 50.0)


def test_the_distance_is_the_same_without_a_network() -> None:
    """n = 20 episodes each: what is scheduled waits for its tick, however soon it was there."""
    card = find_policy("cartpole-scheduled").horizon_ticks
    nothing, link = (score("cartpole-scheduled", network, episodes=20) for network in ("none", "delay=0ms"))
    assert nothing.control.horizon == link.control.horizon == card
    assert nothing.returns == link.returns == (500.0,) * 20
