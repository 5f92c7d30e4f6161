"""VectorNetwork against as many VirtualNetworks, at random."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from vector_network_twins import CARTPOLE, DOORKEY, REACHER, Twins, at_pace, play_both

from netlab.control.feature_spec import FeatureSpec
from netlab.envs.virtual.options import NetworkOptions
from netlab.traces.loss import GilbertElliott
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule
from netlab.traces.schedule import Step as ScheduleStep


@st.composite
def profiles(draw: st.DrawFn) -> LinkProfile:
    delay_s = draw(st.sampled_from([0.0, 0.003, 0.02, 0.05, 0.13, 0.9]))
    ordered = draw(st.booleans())
    loss = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    table = draw(st.booleans()) and not ordered and not delay_s
    reorders = draw(st.booleans()) and delay_s > 0
    return LinkProfile(
        delay_s=delay_s,
        jitter_s=draw(st.sampled_from([0.0, 0.25, 1.0])) * delay_s,
        law="table"
        if table
        else draw(st.sampled_from(["normal", "uniform", "pareto"] if delay_s < 0.2 else ["normal"])),
        delay_table_s=(0.0, 0.01, 0.04) if table else (),
        loss=GilbertElliott.from_mean(loss, 4.0) if loss == 0.5 else loss,
        duplicate_ratio=draw(st.sampled_from([0.0, 0.3])),
        corrupt_ratio=draw(st.sampled_from([0.0, 0.1])),
        reorder_ratio=0.2 if reorders else 0.0,
        ordered=ordered,
        rate_bps=draw(st.sampled_from([None, 60e3, 1e6])) if ordered else None,
    )


@st.composite
def directions(draw: st.DrawFn) -> LinkProfile | Schedule:
    if draw(st.booleans()):
        return draw(profiles())
    starts_s = [0.0, *draw(st.sampled_from([[0.1], [0.04, 0.11], [0.02, 0.04, 0.31]]))]
    steps = tuple(ScheduleStep(start_s, draw(profiles())) for start_s in starts_s)
    return Schedule(steps, duration_s=0.4, loop=draw(st.booleans()), packet_rate_hz=10_000.0)


FEATURES = st.builds(
    FeatureSpec,
    stack=st.integers(1, 4),
    predicted=st.booleans(),
    actions=st.sampled_from([0, 1, 5]),
    pending=st.booleans(),
    age=st.booleans(),
    acknowledgement=st.sampled_from([0, 3, 64]),
    network=st.booleans(),
)
NETWORKS = st.one_of(st.none(), st.tuples(directions(), directions()).map(lambda both: ProfilePair("any", *both)))


@st.composite
def options(draw: st.DrawFn) -> NetworkOptions:
    actuator = draw(st.sampled_from(["newest", "scheduled", "stop-and-wait"]))
    horizon = draw(st.one_of(st.integers(1, 20), st.just("adaptive"))) if actuator == "scheduled" else None
    holds = actuator != "stop-and-wait" and draw(st.booleans())
    return NetworkOptions(
        actuator=actuator,
        horizon=horizon,  # type: ignore[arg-type]
        fallback="hold" if holds else "neutral",
        hold_limit_ticks=draw(st.one_of(st.none(), st.integers(1, 4))) if holds else None,
        rate_hz=draw(st.sampled_from([None, 10.0, 50.0, 333.0])),
        features=draw(FEATURES),
    )


TASKS = st.sampled_from([CARTPOLE, CARTPOLE, DOORKEY, REACHER])


@settings(max_examples=40, deadline=None)
@given(TASKS, st.sampled_from(["real-time", "turn-based"]), NETWORKS, options(), st.integers(0, 2**63 - 10))
def test_any_network_and_any_way_to_control_over_it(
    task: Twins, pace: str, network: ProfilePair | None, asked: NetworkOptions, seed: int
) -> None:
    play_both(at_pace(task, pace), network, asked, n=2, steps=45, seed=seed)
