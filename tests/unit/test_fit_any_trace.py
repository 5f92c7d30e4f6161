"""Whatever a trace holds, it is fitted, and reads back from a file, or is refused as bad input."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.errors import ProfileError, TraceError
from netlab.traces.fit.pair_fit import fit_pair
from netlab.traces.fit.schedule_fit import fit_schedule
from netlab.traces.fit.split import Split
from netlab.traces.toml_profile import format_profile, parse_profile
from netlab.traces.trace import UNKNOWN, ClockVerdict, Trace, TracedPath

gaps_s = st.one_of(st.just(0.0), st.just(0.01), st.floats(0.0, 2.0), st.floats(0.0, 1e9))
delays_s = st.one_of(st.just(np.nan), st.just(0.02), st.floats(0.0, 0.5), st.floats(0.0, 1e10))
rates_bps = st.one_of(st.just(np.nan), st.floats(0.0, 1e9), st.floats(0.0, 1e18))


@st.composite
def traces(draw: st.DrawFn) -> list[Trace]:
    paths = draw(st.lists(st.sampled_from(TracedPath), min_size=1, max_size=3, unique=True))
    return [draw(trace(path)) for path in paths]


@st.composite
def trace(draw: st.DrawFn, path: TracedPath) -> Trace:
    n = draw(st.integers(0, 12))
    columns = [draw(st.lists(kind, min_size=n, max_size=n)) for kind in (gaps_s, delays_s, rates_bps)]
    t_s, delay_s, rate_bps = (np.array(column, dtype=float) for column in columns)
    lost = np.array(draw(st.lists(st.sampled_from([UNKNOWN, 0, 1]), min_size=n, max_size=n)), dtype=np.int8)
    delay_s[lost == 1] = np.nan
    return Trace.of(
        np.minimum(np.cumsum(t_s), 1e10),
        path=path,
        clocks=draw(st.sampled_from(ClockVerdict)),
        delay_s=delay_s,
        lost=lost,
        rate_bps=rate_bps,
        bin_s=draw(st.one_of(st.none(), st.floats(1e-3, 10.0))),
    )


splits = st.floats(0.0, 1.0).map(Split)


@settings(deadline=None, max_examples=60)
@given(traces(), splits, st.sampled_from([None, 0.02]), st.floats(0.1, 1000.0))
def test_any_trace_is_fitted_or_refused(some, split, base_delay_s, packet_rate_hz):
    try:
        pair = fit_pair(some, split=split, base_delay_s=base_delay_s, packet_rate_hz=packet_rate_hz).pair
    except (TraceError, ProfileError):
        return
    assert parse_profile(format_profile(pair)) == pair


@settings(deadline=None, max_examples=200)
@given(traces(), splits, st.sampled_from([None, 0.02]), st.sampled_from([0.001, 0.1, 3.0]), st.booleans())
def test_any_trace_is_scheduled_or_refused(some, split, base_delay_s, step_s, loop):
    try:
        pair = fit_schedule(some, step_s, split=split, base_delay_s=base_delay_s, loop=loop).pair
    except (TraceError, ProfileError):
        return
    assert len(pair.forward.steps) > 5000 or parse_profile(format_profile(pair)) == pair
