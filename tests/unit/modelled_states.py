"""Random qdisc states that the link model does, and the packets sent through them."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from netlab.traces.model.dialect import Dialect
from netlab.traces.qdisc_state import FourStateState, GilbertElliottState, QdiscState

U32 = 2**32 - 1

# Off, on now and then, always: what is usually off leaves the others in sight.
likelihoods = st.one_of(st.just(0), st.integers(0, U32), st.integers(1, U32 // 8), st.sampled_from([1, U32]))
correlations = st.one_of(st.just(0), st.just(0), st.integers(0, U32))
tables = st.one_of(
    st.none(),
    st.lists(st.integers(-32768, 32767), min_size=1, max_size=9).map(tuple),
    st.sampled_from([(0,), (32767, -32768), (-8192, -1, 1, 8192)]),
)
chains = st.one_of(
    st.none(),
    st.none(),
    st.builds(GilbertElliottState, p=likelihoods, r=likelihoods, h=likelihoods, k1=likelihoods),
    st.builds(FourStateState, p13=likelihoods, p31=likelihoods, p32=likelihoods, p14=likelihoods, p23=likelihoods),
)
dialects = st.builds(Dialect, name=st.just("any"), seed_honoured=st.booleans())
rates = st.one_of(st.just(0), st.just(12_500_000_000), st.integers(1000, 10**9), st.integers(0, 2**64 - 1))
modelled_states = st.builds(
    QdiscState,
    latency_ns=st.one_of(st.just(0), st.integers(0, 10**8), st.integers(-(2**40), 2**61)),
    jitter_ns=st.one_of(st.just(0), st.integers(0, 10**8), st.integers(0, 2**31 - 1)),
    delay_correlation=correlations,
    delay_table=tables,
    limit_packets=st.one_of(st.just(1000), st.integers(0, 9)),
    loss=likelihoods,
    loss_correlation=correlations,
    loss_model=chains,
    duplicate=likelihoods,
    duplicate_correlation=correlations,
    gap=st.one_of(st.just(0), st.integers(0, 5), st.just(U32)),
    reorder=likelihoods,
    reorder_correlation=correlations,
    corrupt=likelihoods,
    corrupt_correlation=correlations,
    rate_bytes_per_s=rates,
    packet_overhead_bytes=st.one_of(st.just(0), st.integers(-70, 70)),
    # At a byte a second a few cells of U32 bytes last longer than the 292 years that 64 bits hold in nanoseconds.
    cell_size_bytes=st.one_of(st.just(0), st.just(48), st.integers(0, U32 >> 8)),
    cell_overhead_bytes=st.one_of(st.just(0), st.integers(-50, 50)),
    ecn=st.booleans(),
    seed=st.one_of(st.none(), st.integers(0, 2**64 - 1)),
)  # fmt: skip

# What a batch does in one go: loss, delay and rate alone.
plain_states = st.builds(
    QdiscState,
    latency_ns=st.one_of(st.just(0), st.integers(-(10**7), 10**8)),
    jitter_ns=st.one_of(st.just(0), st.integers(0, 10**8)),
    delay_table=tables,
    limit_packets=st.one_of(st.just(1000), st.integers(60, 130)),
    loss=likelihoods,
    rate_bytes_per_s=st.one_of(st.just(0), st.just(12_500_000_000), st.integers(1000, 10**6)),
    seed=st.integers(0, 2**64 - 1),
)


class Step(NamedTuple):
    """One moment of a test: a packet a link, or none."""

    wait_ns: int
    clock_moves_ns: int  # between a duplicate and its original
    length_bytes: int
    active: tuple[bool, ...]
    ect: tuple[bool, ...]


def steps(links: int) -> st.SearchStrategy[Step]:
    flags = st.one_of(st.just((True,) * links), st.tuples(*[st.booleans()] * links))
    return st.builds(
        Step,
        wait_ns=st.one_of(st.just(0), st.integers(0, 10**6), st.integers(0, 10**9)),
        clock_moves_ns=st.one_of(st.just(0), st.integers(0, 3000)),
        length_bytes=st.sampled_from([60, 174, 1514]),
        active=flags,
        ect=flags,
    )
