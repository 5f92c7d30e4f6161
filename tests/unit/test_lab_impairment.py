from __future__ import annotations

from pathlib import Path

import pytest

from netlab.errors import ProfileError, SpecError
from netlab.lab_impairment import plan_directions, read_profiles
from netlab.lab_spec import HostSpec, LabSpec, LinkSpec
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.schedule import Schedule, Step
from netlab.traces.toml_profile import write_profile

SLOW, FAST = LinkProfile(delay_s=0.1), LinkProfile(delay_s=0.001)
SCHEDULE = Schedule((Step(0.0, SLOW), Step(1.0, FAST)), 2.0, loop=True)


def test_a_clean_link() -> None:
    forward, back = plan_directions(None, "x")
    assert (forward.direction, forward.first, forward.track) == ("forward", None, None)
    assert (back.direction, back.first, back.track) == ("back", None, None)


@pytest.mark.parametrize("impairment", [SLOW, QdiscState(latency_ns=5)])
def test_one_for_both_directions(impairment: LinkProfile | QdiscState) -> None:
    assert [plan.first for plan in plan_directions(impairment, "x")] == [impairment, impairment]


def test_a_pair_and_a_preset() -> None:
    assert [plan.first for plan in plan_directions(ProfilePair("p", SLOW, FAST), "x")] == [SLOW, FAST]
    forward, _ = plan_directions("delay=100ms", "x")
    assert isinstance(forward.first, LinkProfile)
    assert forward.first.delay_s == 0.1


def test_a_schedule_begins_with_its_first_step() -> None:
    forward, back = plan_directions(ProfilePair("p", SCHEDULE, FAST), "x")
    assert (back.first, back.track) == (FAST, None)
    assert forward.track is not None
    assert forward.first == SLOW
    assert forward.track.name == "x forward"
    assert [forward.track.state(count).latency_ns for count in range(3)] == [100_000_000, 1_000_000, 100_000_000]


@pytest.mark.parametrize(
    "nothing", [LinkProfile(), LinkProfile(ordered=False), LinkProfile(law="uniform"), LinkProfile(delay_s=0)]
)
def test_a_profile_that_asks_for_nothing_needs_no_netem(nothing: LinkProfile) -> None:
    assert [plan.first for plan in plan_directions(ProfilePair("p", nothing, SLOW), "x")] == [None, SLOW]
    schedule = Schedule((Step(0.0, nothing), Step(1.0, FAST)), 2.0)
    assert [plan.first for plan in plan_directions(schedule, "x")] == [nothing, nothing]  # it will need one


@pytest.mark.parametrize(
    "something", [{"limit_packets": 1000}, {"rate_bps": 1e9}, {"loss": 1e-6}, {"ecn": True}, {"delay_s": 1e-9}]
)
def test_a_profile_that_asks_for_something(something: dict[str, object]) -> None:
    profile = LinkProfile(**something)  # type: ignore[arg-type]
    assert [plan.first for plan in plan_directions(profile, "x")] == [profile, profile]


def test_what_is_no_impairment() -> None:
    with pytest.raises(ProfileError, match="float is no impairment of a link"):
        plan_directions(0.1, "x")  # type: ignore[arg-type]


def _spec(profile: str) -> LabSpec:
    hosts = {"a": HostSpec(), "b": HostSpec()}
    return LabSpec(hosts=hosts, link=[LinkSpec(ends=("a", "b")), LinkSpec(ends=("b", "a"), profile=profile)])


def test_profiles_of_a_spec(tmp_path: Path) -> None:
    write_profile(ProfilePair("slow", SLOW, FAST), tmp_path / "slow.toml")
    profiles = read_profiles(_spec("slow.toml"), tmp_path)
    assert profiles["a-b"] is None
    assert isinstance(profiles["b-a"], ProfilePair)
    assert profiles["b-a"].forward == SLOW
    with pytest.raises(SpecError, match=r"link\[1\]\.profile: .*did you mean 'wifi-normal'") as caught:
        read_profiles(_spec("wifi-norml"), tmp_path)
    assert caught.value.key == "link[1].profile"
    with pytest.raises(SpecError, match=r"link\[1\]\.profile: "):
        read_profiles(_spec("nowhere.toml"), tmp_path)
    with pytest.raises(SpecError, match=r"^my/lab\.toml: link\[1\]\.profile: ") as caught:
        read_profiles(_spec("wifi-norml"), tmp_path, "my/lab.toml")
    assert caught.value.path == "my/lab.toml"
