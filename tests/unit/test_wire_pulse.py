"""Heartbeats, silence and doubt, with time as a number."""

from __future__ import annotations

import math

import pytest

from netlab.errors import SpecError
from netlab.messages import Heartbeat
from netlab.wire.pulse import Pulse, Timing
from netlab.wire.statistics import Statistics

TIMING = Timing(heartbeat_s=0.5, silence_s=3.0)


def make_pulse() -> tuple[Pulse, Statistics]:
    statistics = Statistics()
    return Pulse(TIMING, statistics, 10.0), statistics


def test_beats_only_after_own_silence() -> None:
    pulse, statistics = make_pulse()
    assert pulse.beat(10.4) is None
    assert pulse.beat(10.5) == Heartbeat(1)
    assert pulse.beat(10.6) is None
    statistics.frames_sent += 1
    assert pulse.beat(11.4) is None  # seen only now, and counted as sent now
    assert pulse.beat(11.8) is None
    assert pulse.beat(11.9) == Heartbeat(2)


def test_silence_is_a_loss_at_its_deadline() -> None:
    pulse, statistics = make_pulse()
    assert pulse.find_loss(12.9) == ""
    assert pulse.find_loss(13.0) == "silent for 3.0 s"
    statistics.frames_received += 1
    assert pulse.find_loss(13.1) == ""
    assert pulse.find_loss(16.0) == ""
    assert pulse.find_loss(16.2) != ""


def test_doubt_alone_is_no_loss() -> None:
    """Hints are unsigned: a peer that is heard is alive, whatever a hint says."""
    pulse, statistics = make_pulse()
    for tick in range(100):
        statistics.frames_received += 1
        pulse.doubt("no longer knows this session")
        assert pulse.find_loss(10.0 + tick) == ""


def test_doubt_shortens_silence() -> None:
    pulse, _ = make_pulse()
    pulse.doubt("no longer knows this session")
    assert pulse.find_loss(10.9) == ""
    assert pulse.find_loss(11.0) == "no longer knows this session, and silent for 1.0 s"


def test_doubt_before_the_last_frame_is_forgotten() -> None:
    pulse, statistics = make_pulse()
    pulse.doubt("cannot be reached")
    statistics.frames_received += 1
    assert pulse.find_loss(10.5) == ""
    assert pulse.find_loss(12.0) == ""


@pytest.mark.parametrize(
    "times",
    [
        {"heartbeat_s": 0.0},
        {"heartbeat_s": -1.0},
        {"silence_s": math.inf},
        {"attempt_s": math.nan},
        {"heartbeat_s": 2.0, "silence_s": 3.0},
        {"look_s": -1e-6},
        {"look_s": 1.0},
        {"look_s": math.nan},
    ],
)
def test_times_that_cannot_be_are_refused(times: dict[str, float]) -> None:
    with pytest.raises(SpecError):
        Timing(**times)
