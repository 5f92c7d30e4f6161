"""Random states on which netem and LinkModel must agree by either clock.

No unseeded correlation, no negative delay and no queue that fills up: those hang on what no seed fixes, or on the
moment at which a packet leaves. Delays are longer than it takes to send the packets of a test, and shorter than a
test waits.
"""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st
from msgspec import UNSET

from netlab.traces.model.qdisc_change import QdiscChange
from netlab.traces.qdisc_state import U32_MAX, FourStateState, GilbertElliottState, QdiscState

MS = 1_000_000
likelihoods = st.one_of(st.just(0), st.integers(0, U32_MAX), st.integers(1, U32_MAX // 8), st.just(U32_MAX))
chains = st.one_of(
    st.none(),
    st.none(),
    st.builds(GilbertElliottState, p=likelihoods, r=likelihoods, h=likelihoods, k1=likelihoods),
    st.builds(FourStateState, p13=likelihoods, p31=likelihoods, p32=likelihoods, p14=likelihoods, p23=likelihoods),
)
tables = st.one_of(st.none(), st.lists(st.integers(-8192, 32767), min_size=1, max_size=30).map(tuple))

# 100 ms and no less, 260 ms and no more: a table reaches four jitters up and one down.
modelled_links = st.builds(
    QdiscState,
    latency_ns=st.integers(140 * MS, 160 * MS),
    jitter_ns=st.one_of(st.just(0), st.integers(0, 25 * MS)),
    delay_table=tables,
    limit_packets=st.just(10_000),
    loss=likelihoods,
    loss_model=chains,
    duplicate=likelihoods,
    corrupt=likelihoods,
    gap=st.one_of(st.just(0), st.integers(1, 5)),
    reorder=likelihoods,
    rate_bytes_per_s=st.one_of(st.just(0), st.just(12_500_000_000), st.integers(200_000, 10**9)),
    packet_overhead_bytes=st.integers(-60, 60),
    cell_size_bytes=st.one_of(st.just(0), st.just(48), st.integers(1, 2000)),
    cell_overhead_bytes=st.integers(0, 50),
    ecn=st.booleans(),
    seed=st.integers(0, 2**64 - 1),
)

STICKY = ("correlations", "reorder", "corrupt", "rate", "ecn", "slot", "delay_table", "seed")


@st.composite
def partial_changes(draw: st.DrawFn) -> QdiscChange:
    """Return a message that leaves some of what sticks unsaid."""
    full = QdiscChange.in_full(draw(modelled_links))
    unsaid = draw(st.sets(st.sampled_from(STICKY)))
    return msgspec.structs.replace(full, **dict.fromkeys(unsaid, UNSET))
