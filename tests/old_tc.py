"""What a tc before iproute2 6.9 makes of delays: it has no nanoseconds."""

from __future__ import annotations

from netlab.traces.qdisc_state import QdiscState

_TICK_NS = 64


def in_whole_microseconds(state: QdiscState) -> QdiscState:
    """Return the state with delay and jitter cut to microseconds, then to ticks of 64 ns."""

    def cut(time_ns: int) -> int:
        return int(time_ns // 1000 * 15.625) * _TICK_NS

    return state.replace(latency_ns=cut(state.latency_ns), jitter_ns=cut(state.jitter_ns))
