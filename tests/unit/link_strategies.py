"""Random profiles and schedules that netlab takes, for the tests of this room."""

from __future__ import annotations

from hypothesis import strategies as st

from netlab.errors import ProfileError
from netlab.traces.loss import FourState, GilbertElliott
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.schedule import Schedule, Step
from netlab.traces.slot import Slot

ratios = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 0.02, 0.1, 1.0, 1e-12]))
positive_ratios = st.floats(1e-9, 1.0)
durations_s = st.one_of(
    st.floats(1e-9, 3600.0),
    st.sampled_from([0.0, 0.001, 0.03, 0.057]),
    st.integers(1, 10**6).map(lambda n: n / 1e6),
)
delays_s = st.floats(1e-6, 2.0)
tables_s = st.lists(st.floats(1e-6, 4.0), min_size=2, max_size=30).map(lambda values: tuple(sorted(values)))

chains = st.one_of(
    st.builds(
        GilbertElliott,
        p=positive_ratios,
        r=positive_ratios,
        loss_in_bad=st.floats(0.5, 1.0),
        loss_in_good=st.floats(0.0, 0.5),
    ),
    st.builds(
        FourState,
        p13=st.floats(1e-6, 0.5),
        p31=st.floats(1e-6, 0.5),
        p32=st.floats(0.0, 0.5),
        p14=st.floats(0.0, 0.5),
        p23=positive_ratios,
    ),
)


@st.composite
def laws(draw: st.DrawFn) -> dict[str, object]:
    """Return the fields of a law: none, a constant, a spread, or a table."""
    kind = draw(st.sampled_from(["none", "constant", "spread", "table"]))
    if kind == "none":
        return {}
    if kind == "constant":
        return {"delay_s": draw(durations_s)}
    if kind == "table":
        return {"law": "table", "delay_table_s": draw(tables_s)}
    return {
        "delay_s": draw(delays_s),
        "jitter_s": draw(st.floats(1e-6, 0.2)),
        "law": draw(st.sampled_from(["uniform", "normal", "pareto", "paretonormal"])),
    }


@st.composite
def slots(draw: st.DrawFn) -> Slot:
    law = draw(laws().filter(lambda fields: fields.get("delay_s", 0.0) or "delay_table_s" in fields))
    counts = st.integers(0, 2**31 - 1)
    return Slot(**law, max_packets=draw(counts), max_bytes=draw(counts))


@st.composite
def profiles(draw: st.DrawFn, *, chain: bool = True) -> LinkProfile:
    fields = draw(laws())
    fields["loss"] = draw(st.one_of(ratios, chains) if chain else ratios)
    fields["duplicate_ratio"] = draw(ratios)
    fields["corrupt_ratio"] = draw(ratios)
    if (fields.get("delay_s") or "delay_table_s" in fields) and draw(st.booleans()):
        fields["reorder_ratio"] = draw(positive_ratios)
        fields["reorder_gap"] = draw(st.integers(0, 1000))
    shape = draw(st.sampled_from(["rate", "unordered", "plain"]))
    if shape == "rate":
        fields["rate_bps"] = draw(st.one_of(st.floats(8.0, 1e12), st.sampled_from([1e7, 250e3, 1e9])))
        fields["overhead_bytes"] = draw(st.integers(-100, 100))
        fields["cell_bytes"] = draw(st.integers(0, 100))
        fields["cell_overhead_bytes"] = draw(st.integers(0, 20)) if fields["cell_bytes"] else 0
    fields["ordered"] = shape != "unordered"
    fields["limit_packets"] = draw(st.one_of(st.none(), st.integers(1, 2**32 - 1)))
    fields["slot"] = draw(st.one_of(st.none(), slots()))
    fields["ecn"] = draw(st.booleans())
    return LinkProfile(**fields)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    lengths = draw(st.lists(st.one_of(st.floats(1e-3, 1e4), st.just(0.1)), min_size=1, max_size=5))
    starts = [0.0]
    for length in lengths:
        starts.append(starts[-1] + length)
    steps = tuple(Step(start, draw(profiles(chain=False))) for start in starts[:-1])
    rate_hz = draw(st.one_of(st.none(), st.floats(0.1, 1e6)))
    return Schedule(steps, starts[-1], draw(st.booleans()), rate_hz)


names = st.text(min_size=1, max_size=40).filter(str.isprintable)


@st.composite
def pairs(draw: st.DrawFn) -> ProfilePair:
    directions = st.one_of(profiles(), schedules())
    forward = draw(directions)
    back = forward if draw(st.booleans()) else draw(directions)
    return ProfilePair(
        draw(names), forward, back, draw(st.sampled_from(["rtt", "oneway"])), draw(st.one_of(st.just(""), names))
    )


def refused(make: object, *args: object, **kwargs: object) -> ProfileError:
    """Return the ProfileError that a call raises."""
    try:
        made = make(*args, **kwargs)  # type: ignore[operator]
    except ProfileError as error:
        return error
    raise AssertionError(f"was not refused but made {made!r}")
