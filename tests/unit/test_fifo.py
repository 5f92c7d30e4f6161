"""First in, first out: the running maximum is the queue that is served packet by packet."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.traces.fifo import leave_s


def one_by_one(ready_s, transmit_s) -> list[float]:
    left, last_s = [], -math.inf
    for ready, transmit in zip(ready_s, transmit_s, strict=True):
        last_s = max(ready, last_s) + transmit
        left.append(last_s)
    return left


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1), st.booleans()), min_size=1, max_size=40))
def test_the_running_maximum_is_a_queue_served_packet_by_packet(packets):
    queued = np.array([is_queued for _, _, is_queued in packets])
    ready_s = np.array([index * 0.5 + delay for index, (delay, _, _) in enumerate(packets)])
    ready_s = np.where(queued, ready_s, -np.inf)
    transmit_s = np.array([transmit if is_queued else 0.0 for _, transmit, is_queued in packets])
    expected = np.array(one_by_one(ready_s, transmit_s))
    assert leave_s(ready_s, transmit_s) == pytest.approx(expected, abs=1e-9)
    assert leave_s(ready_s).tolist() == one_by_one(ready_s, np.zeros(queued.size))


def test_a_packet_that_holds_nobody_up_and_none_at_all():
    assert leave_s(np.array([-np.inf, 3.0, -np.inf, 1.0])).tolist() == [-np.inf, 3.0, 3.0, 3.0]
    assert leave_s(np.empty(0)).size == 0
