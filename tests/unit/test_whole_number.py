"""Whole numbers: Python's and numpy's are taken, what only looks like one is not."""

from __future__ import annotations

import numpy as np
import pytest

from netlab.whole_number import whole_number


@pytest.mark.parametrize("value", [7, np.int64(7), np.uint8(7), np.array(7)])
def test_whole_numbers_become_pythons_own(value):
    taken = whole_number(value)
    assert type(taken) is int and taken == 7


def test_a_long_one_stays_as_it_is():
    assert whole_number(np.uint64(2**64 - 1)) == 2**64 - 1
    assert whole_number(-(10**30)) == -(10**30)


@pytest.mark.parametrize("value", [True, np.bool_(True), 1.0, np.float64(1.0), "4", None, [1], np.array([1])])
def test_all_else_is_none(value):
    assert whole_number(value) is None
