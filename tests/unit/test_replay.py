"""Replay: what is played of a trace, from where, how fast; in a text, in a lab's file, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netlab.errors import NetlabError, ProfileError, SpecError, TraceError
from netlab.lab_impairment import plan_directions, read_profiles
from netlab.lab_spec import read_lab_spec
from netlab.traces.fit.delivered_rate import carried_bits
from netlab.traces.pair import ProfilePair
from netlab.traces.presets import parse_preset
from netlab.traces.replay import Replay, _scaled, replay_pair
from netlab.traces.schedule import Schedule
from netlab.traces.trace import ClockVerdict, Trace, TracedPath
from netlab.traces.trace_file import write_trace

DELAYS_MS = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]


def _write(path: Path, delays_ms: list[float], which: TracedPath = TracedPath.FORWARD) -> Path:
    """Write a trace of one packet each 100 ms."""
    delay_s = np.array(delays_ms) / 1e3
    lost = np.isnan(delay_s).astype(np.int8)
    trace = Trace.of(
        np.arange(len(delays_ms)) * 0.1, path=which, clocks=ClockVerdict.ONE_CLOCK, delay_s=delay_s, lost=lost
    )
    write_trace(trace, path)
    return path


@pytest.fixture
def two(tmp_path: Path) -> list[str]:
    return [
        str(_write(tmp_path / "forward.csv", DELAYS_MS)),
        str(_write(tmp_path / "back.csv", [5.0] * 8, TracedPath.BACK)),
    ]


def _played_ms(way: object) -> list[tuple[float, float]]:
    assert isinstance(way, Schedule)
    return [(round(step.start_s, 6), round(1e3 * step.profile.delay_mean_s, 3)) for step in way.steps]


def test_two_directions_are_played_as_they_are(two: list[str]) -> None:
    pair = replay_pair(Replay(files=tuple(two)))
    assert _played_ms(pair.forward) == [(round(0.1 * n, 6), ms) for n, ms in enumerate(DELAYS_MS)]
    assert {ms for _, ms in _played_ms(pair.back)} == {5.0}
    assert pair.forward.loops and isinstance(pair.forward, Schedule)
    assert pair.forward.duration_s == pytest.approx(0.8)
    assert pair.reading == "oneway" and pair.provenance is not None
    assert [origin.path for origin in pair.provenance.origins] == ["forward", "back"]


def test_a_round_trip_is_halved(tmp_path: Path) -> None:
    path = _write(tmp_path / "rtt.csv", DELAYS_MS, TracedPath.ROUND_TRIP)
    pair = replay_pair(Replay(files=(str(path),)))
    assert pair.round_trip_mean_s == pytest.approx(0.045)
    assert _played_ms(pair.forward) == _played_ms(pair.back)


def test_from_an_offset_once_the_rest_is_played(two: list[str]) -> None:
    pair = replay_pair(Replay(files=tuple(two), offset_s=0.3, loop=False))
    assert _played_ms(pair.forward) == [(round(0.1 * n, 6), ms) for n, ms in enumerate(DELAYS_MS[3:])]
    assert not pair.forward.loops


def test_from_an_offset_looped_a_pass_is_the_whole_trace(two: list[str]) -> None:
    pair = replay_pair(Replay(files=tuple(two), offset_s=0.3))
    turned = DELAYS_MS[3:] + DELAYS_MS[:3]
    assert _played_ms(pair.forward) == [(round(0.1 * n, 6), ms) for n, ms in enumerate(turned)]
    assert isinstance(pair.forward, Schedule) and pair.forward.duration_s == pytest.approx(0.8)


@pytest.fixture
def uneven(tmp_path: Path) -> list[str]:
    """Forward lasts 5 s, back 2 s."""
    forward = [10.0 + n for n in range(50)]
    return [
        str(_write(tmp_path / "there.csv", forward)),
        str(_write(tmp_path / "home.csv", [5.0] * 10 + [7.0] * 10, TracedPath.BACK)),
    ]


@pytest.mark.parametrize("offset_s", [2.0, 3.0])
def test_an_offset_past_the_shorter_trace_is_refused_by_its_name(uneven: list[str], offset_s: float) -> None:
    with pytest.raises(ProfileError, match=r"home\.csv lasts 2 s") as caught:
        replay_pair(Replay(files=tuple(uneven), offset_s=offset_s, loop=False))
    assert "there.csv" not in str(caught.value)
    assert "loop" in caught.value.hint


def test_looped_the_shorter_trace_holds_its_last_level_until_the_pass_is_over(uneven: list[str]) -> None:
    pair = replay_pair(Replay(files=tuple(uneven), offset_s=3.0))
    # From 3 s on: its last level until the pass of 5 s ends, then its own 2 s, then the last level again.
    back_ms = _played_ms(pair.back)
    assert {ms for t_s, ms in back_ms if t_s < 1.95} == {7.0}
    assert {ms for t_s, ms in back_ms if 1.95 < t_s < 2.95} == {5.0}
    assert {ms for t_s, ms in back_ms if t_s > 2.95} == {7.0}
    assert pair.provenance is not None
    assert any("home.csv lasts 2 s" in words and "5 s" in words for words in pair.provenance.assumptions)
    assert not any("no delay of the direction" in words for words in pair.provenance.assumptions)


@pytest.mark.parametrize("offset_s", [0.001, 0.15, 0.499, 0.799])
def test_an_offset_between_two_packets_makes_no_pass_longer(two: list[str], offset_s: float) -> None:
    """Two links with two offsets stay as far apart in each pass as in the first."""
    pair = replay_pair(Replay(files=tuple(two), offset_s=offset_s, time_scale=2.0))
    assert isinstance(pair.forward, Schedule) and isinstance(pair.back, Schedule)
    assert pair.forward.duration_s == pytest.approx(0.4, abs=1e-9)
    assert pair.back.duration_s == pytest.approx(0.4, abs=1e-9)


def test_an_offset_into_a_silence_begins_with_what_was_in_force(tmp_path: Path) -> None:
    t_s = np.array([0.0, 0.1, 0.2, 2.0, 2.1, 2.2])
    delay_s = np.array([0.01, 0.01, 0.02, 0.05, 0.05, 0.05])
    for name, which in (("forward", TracedPath.FORWARD), ("back", TracedPath.BACK)):
        write_trace(Trace.of(t_s, path=which, clocks=ClockVerdict.ONE_CLOCK, delay_s=delay_s), tmp_path / name)
    files = (str(tmp_path / "forward"), str(tmp_path / "back"))
    for loop in (False, True):
        pair = replay_pair(Replay(files=files, offset_s=1.0, loop=loop))
        assert _played_ms(pair.forward)[:2] == [(0.0, 20.0), (1.0, 50.0)]


def test_a_last_step_that_is_dead_and_stays_is_told(tmp_path: Path) -> None:
    delays_ms = [10.0] * 20 + [float("nan")] * 10
    files = (
        str(_write(tmp_path / "forward.csv", delays_ms)),
        str(_write(tmp_path / "back.csv", [5.0] * 30, TracedPath.BACK)),
    )
    words = replay_pair(Replay(files=files, loop=False)).warnings()
    assert [text for text in words if "for ever" in text] == [
        "forward: step 2: everything is lost in the last step, which stays: after 2 s the link is dead for ever "
        "(let it loop, or end on a step that delivers)"
    ]
    assert not any("for ever" in text for text in replay_pair(Replay(files=files)).warnings())


def test_the_provenance_says_how_it_is_played(two: list[str]) -> None:
    def method(**options: object) -> str:
        pair = replay_pair(Replay(files=tuple(two), **options))  # type: ignore[arg-type]
        assert pair.provenance is not None
        return pair.provenance.method

    assert method(offset_s=0.3, time_scale=2.0).startswith(
        "replay from 300ms on, looped, 2 times as fast: schedule"
    )
    assert method(loop=False).startswith("replay from the beginning on, once: schedule")


def test_a_step_is_written_as_a_person_would(tmp_path: Path) -> None:
    t_s = np.arange(40) * 0.05 + 17.0
    trace = Trace.of(
        t_s - t_s[0], path=TracedPath.ROUND_TRIP, clocks=ClockVerdict.ONE_CLOCK, delay_s=np.full(40, 0.02)
    )
    write_trace(trace, tmp_path / "rtt.csv")
    pair = replay_pair(Replay(files=(str(tmp_path / "rtt.csv"),)))
    assert pair.provenance is not None and "in steps of 50ms" in pair.provenance.method


def test_twice_as_fast_has_the_same_delays(two: list[str]) -> None:
    pair = replay_pair(Replay(files=tuple(two), time_scale=2.0))
    assert _played_ms(pair.forward) == [(round(0.05 * n, 6), ms) for n, ms in enumerate(DELAYS_MS)]


def test_a_longer_step_has_the_mean_of_its_packets(two: list[str]) -> None:
    pair = replay_pair(Replay(files=tuple(two), step_s=0.2))
    assert [ms for _, ms in _played_ms(pair.forward)] == pytest.approx([15.0, 35.0, 55.0, 75.0], abs=0.5)


def test_an_outage_is_a_window(tmp_path: Path) -> None:
    delays_ms = [10.0] * 10 + [float("nan")] * 10 + [10.0] * 10
    path = _write(tmp_path / "gap.csv", delays_ms)
    back = _write(tmp_path / "back.csv", [5.0] * 30, TracedPath.BACK)
    pair = replay_pair(Replay(files=(str(path), str(back))))
    assert isinstance(pair.forward, Schedule)
    dead = [segment.length_s for segment in pair.forward.segments() if segment.profile.loss == 1.0]
    assert dead == [pytest.approx(1.0, abs=0.11)]


def test_a_fast_trace_is_played_in_steps_of_ten_milliseconds(tmp_path: Path) -> None:
    t_s = np.arange(1000) * 1e-3
    trace = Trace.of(
        t_s, path=TracedPath.ROUND_TRIP, clocks=ClockVerdict.ONE_CLOCK, delay_s=0.01 + 0.001 * np.floor(t_s * 100)
    )
    write_trace(trace, tmp_path / "fast.csv")
    pair = replay_pair(Replay(files=(str(tmp_path / "fast.csv"),)))
    assert isinstance(pair.forward, Schedule)
    assert len(pair.forward.steps) == 100


def test_the_text_says_the_same_as_the_struct(two: list[str]) -> None:
    text = f"trace={two[0]}+{two[1]},offset=300ms,loop=false,time_scale=2,step=50ms"
    wanted = Replay(files=tuple(two), offset_s=0.3, loop=False, time_scale=2.0, step_s=0.05)
    assert parse_preset(text) == replay_pair(wanted)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("offset=1min", "forward.csv lasts 0.8 s"),
        ("offset=3", "offset: '3' has no unit"),
        ("offset=-1s", "is negative"),
        ("time_scale=0", "time_scale = 0.0: must be within"),
        ("time_scale=fast", "'fast' is not a number"),
        ("loop=often", "neither true nor false"),
        ("step=1us", "step = 1e-06"),
        ("speed=2", "'speed': no option of a trace"),
        ("loop", "'loop' is not KEY=VALUE"),
        ("loop=true,loop=false", "loop: is given twice"),
    ],
)
def test_options_that_are_none_are_refused(two: list[str], options: str, words: str) -> None:
    with pytest.raises(ProfileError) as caught:
        parse_preset(f"trace={two[0]}+{two[1]},{options}")
    assert words in str(caught.value)


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"none\.csv"):
        parse_preset(f"trace={tmp_path}/none.csv")
    (tmp_path / "words.csv").write_text("this is no trace\n")
    with pytest.raises(TraceError, match=r"words\.csv"):
        parse_preset(f"trace={tmp_path}/words.csv")
    with pytest.raises(ProfileError, match="none without a name"):
        parse_preset("trace=a.csv+,loop=true")
    with pytest.raises(ProfileError, match="is not KEY=VALUE"):
        parse_preset("trace=")
    with pytest.raises(ProfileError, match="4 files"):
        parse_preset("trace=a+b+c+d")


def _spec(tmp_path: Path, link: str) -> Path:
    path = tmp_path / "lab.toml"
    path.write_text(f'[hosts.a]\n[hosts.b]\n[[link]]\nends = ["a", "b"]\n{link}\n')
    return path


def _read(path: Path) -> ProfilePair:
    pair = read_profiles(read_lab_spec(path), path.parent, str(path))["a-b"]
    assert isinstance(pair, ProfilePair)
    return pair


def test_a_labs_link_plays_a_trace_beside_its_file(tmp_path: Path, two: list[str]) -> None:
    path = _spec(tmp_path, 'trace = ["forward.csv", "back.csv"]\ntrace_offset = "300ms"\ntrace_time_scale = 2')
    pair = _read(path)
    assert pair == replay_pair(Replay(files=tuple(two), offset_s=0.3, time_scale=2.0))
    forward, back = plan_directions(pair, "a-b")
    assert forward.track is not None and back.track is not None
    assert forward.track.loop and len(forward.track.states) == 8


def test_a_labs_link_plays_a_round_trip_once(tmp_path: Path) -> None:
    _write(tmp_path / "rtt.csv", DELAYS_MS, TracedPath.ROUND_TRIP)
    pair = _read(_spec(tmp_path, 'trace = "rtt.csv"\ntrace_loop = false\ntrace_step = "200ms"'))
    assert isinstance(pair.forward, Schedule) and not pair.forward.loop
    assert len(pair.forward.steps) == 4


@pytest.mark.parametrize(
    ("link", "key", "words"),
    [
        ('trace = "rtt.csv"\nprofile = "wifi-normal"', "link[0].trace", "a profile or a trace, not both"),
        ('trace_offset = "1s"', "link[0].trace_offset", "without a trace"),
        ("trace_loop = false", "link[0].trace_loop", "without a trace"),
        ("trace = []", "link[0].trace", "[]"),
        ("trace = 3", "link[0].trace", "3"),
        ('trace = "none.csv"', "link[0].trace", "none.csv"),
        ('trace = "rtt.csv"\ntrace_offset = "1h"', "link[0].trace", "rtt.csv lasts 0.8 s"),
        ('trace = "rtt.csv"\ntrace_offset = "soon"', "link[0].trace", "offset: 'soon'"),
        ('trace = "rtt.csv"\ntrace_step = 3', "link[0].trace_step", "3"),
        ('trace = "rtt.csv"\ntrace_time_scale = -1.0', "link[0].trace", "time_scale = -1.0"),
        ('trace = "rtt.csv"\ntrace_speed = 2', "link[0].trace_speed", "unknown key"),
        ('profile = "trace=rtt.csv"', "link[0].profile", "a key of its own"),
    ],
)
def test_links_that_play_nothing_are_refused(tmp_path: Path, link: str, key: str, words: str) -> None:
    _write(tmp_path / "rtt.csv", DELAYS_MS, TracedPath.ROUND_TRIP)
    with pytest.raises(SpecError) as caught:
        _read(_spec(tmp_path, link))
    assert caught.value.key == key
    assert words in str(caught.value)


def test_every_refusal_is_one_of_ours(tmp_path: Path) -> None:
    for content in (b"", b"\0" * 100, b"t_s,delay_s\n1,nan\n", b"10\n20\n30\n"):
        (tmp_path / "x").write_bytes(content)
        try:
            replay_pair(Replay(files=(str(tmp_path / "x"),)))
        except NetlabError as error:
            assert "\n" not in str(error)


def test_a_rate_played_twice_as_fast_holds_half_as_long(tmp_path: Path) -> None:
    rates = Trace.of(
        np.array([0.0, 2.0, 4.0]),
        path=TracedPath.FORWARD,
        clocks=ClockVerdict.ONE_CLOCK,
        rate_bps=np.array([1e6, 2e6, 4e6]),
        bin_s=1.0,
    )
    write_trace(rates, tmp_path / "rates.csv")
    edges, durations_s = [], []
    for time_scale in (1.0, 2.0):
        replay = Replay(files=(str(tmp_path / "rates.csv"),), time_scale=time_scale, step_s=1.0 / time_scale / 4.0)
        forward = replay_pair(replay).forward
        assert isinstance(forward, Schedule)
        durations_s.append(forward.duration_s)
        edges.append([(step.start_s, step.profile.rate_bps) for step in forward.steps])
    assert durations_s == [5.0, 2.5]
    assert edges[0] == [(0.0, 1e6), (2.0, 2e6), (4.0, 4e6)]
    assert edges[1] == [(t_s / 2.0, rate_bps) for t_s, rate_bps in edges[0]]
    carried = carried_bits(_scaled(rates, 2.0))
    assert carried[0].tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
