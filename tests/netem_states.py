"""Random netem states that every kernel with netem takes, for the codec's tests and the kernel's."""

from __future__ import annotations

from hypothesis import strategies as st

from netlab.traces.qdisc_state import FourStateState, GilbertElliottState, QdiscState, SlotState

U32 = 2**32 - 1
U64 = 2**64 - 1
S32 = 2**31 - 1
S64 = 2**63 - 1

# Values at the edges of a field come up about as often as ordinary ones: that is where codecs break.
u32 = st.one_of(st.integers(0, U32), st.sampled_from([0, 1, U32, U32 - 1, 2**31]))
u64 = st.one_of(st.integers(0, U64), st.sampled_from([0, 1, U32, U32 + 1, U64]))
s32 = st.one_of(st.integers(-S32 - 1, S32), st.sampled_from([0, -1, S32, -S32 - 1]))
tables = st.one_of(
    st.none(),
    st.lists(st.integers(-32768, 32767), min_size=1, max_size=40).map(tuple),
    st.sampled_from([(0,), (32767, -32768)]),
)
loss_models = st.one_of(
    st.none(),
    st.builds(GilbertElliottState, p=u32, r=u32, h=u32, k1=u32),
    st.builds(FourStateState, p13=u32, p31=u32, p32=u32, p14=u32, p23=u32),
)


@st.composite
def slots(draw: st.DrawFn) -> SlotState | None:
    if draw(st.booleans()):
        return None
    delays = st.integers(0, 10**12)
    least = draw(delays)
    return SlotState(
        min_delay_ns=least,
        max_delay_ns=least + draw(delays),
        max_packets=draw(st.integers(0, S32)),
        max_bytes=draw(st.integers(0, S32)),
        dist_delay_ns=draw(delays),
        dist_jitter_ns=draw(st.integers(0, S32)),
    )


@st.composite
def netem_states(draw: st.DrawFn) -> QdiscState:
    return QdiscState(
        latency_ns=draw(st.one_of(st.integers(0, S64), st.integers(0, 10**9), st.just(0))),
        jitter_ns=draw(st.one_of(st.integers(0, S32), st.just(0))),
        delay_correlation=draw(u32),
        delay_table=draw(tables),
        limit_packets=draw(u32),
        loss=draw(u32),
        loss_correlation=draw(u32),
        loss_model=draw(loss_models),
        duplicate=draw(u32),
        duplicate_correlation=draw(u32),
        gap=draw(u32),
        reorder=draw(u32),
        reorder_correlation=draw(u32),
        corrupt=draw(u32),
        corrupt_correlation=draw(u32),
        rate_bytes_per_s=draw(u64),
        packet_overhead_bytes=draw(s32),
        cell_size_bytes=draw(u32),
        cell_overhead_bytes=draw(s32),
        ecn=draw(st.booleans()),
        slot=draw(slots()),
        slot_table=draw(tables),
        seed=draw(st.one_of(st.none(), u64)),
    )
