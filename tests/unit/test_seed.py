"""Link seeds: hashed, reproducible outside of netlab, unrelated to one another."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.errors import ProfileError
from netlab.traces.seed import link_seed


# printf '[7,"uplink","forward",0]' | sha256sum | cut -c1-16
@pytest.mark.parametrize(
    ("arguments", "seed"),
    [
        ((7, "uplink", "forward", 0), 0xAFB5A8DBBA4B5BDB),
        ((7, "uplink", "back", 0), 0x20B3FF5BB60FE11E),
        ((7, "uplink", "forward", 1), 0x23712ECB2887F9CD),
        ((2**64 - 1, 'n"ü', "forward", 599), 0xE8017DD433952D0B),
    ],
)
def test_seed_is_what_sha256sum_says(arguments, seed):
    assert link_seed(*arguments) == seed


@settings(deadline=None)
@given(
    st.integers(0, 2**64 - 1), st.text(max_size=20), st.sampled_from(["forward", "back"]), st.integers(0, 10**6)
)
def test_seed_is_64_bits_and_the_same_again(run_seed, link, direction, step):
    seed = link_seed(run_seed, link, direction, step)
    assert 0 <= seed < 2**64
    assert seed == link_seed(run_seed, link, direction, step)


def test_every_part_matters():
    seeds = {
        link_seed(run, link, direction, step)
        for run in range(5)
        for link in ("a", "b", "a,b")
        for direction in ("forward", "back")
        for step in range(5)
    }
    assert len(seeds) == 5 * 3 * 2 * 5


def test_text_cannot_pass_for_other_parts():
    assert link_seed(1, 'a","forward', "forward", 0) != link_seed(1, "a", "forward", 0)


def test_neighbouring_steps_give_unrelated_bits():
    # 64 bits of 4000 neighbouring seeds: each bit differs in about half; 6 sigma of 4000 fair draws is 0.048.
    seeds = [link_seed(0, "link", "forward", step) for step in range(4001)]
    changed = np.array([[(a ^ b) >> bit & 1 for bit in range(64)] for a, b in itertools.pairwise(seeds)])
    assert np.abs(changed.mean(axis=0) - 0.5).max() < 0.048


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1, "a", "forward", 0), "run_seed = -1"),
        ((2**64, "a", "forward", 0), "run_seed"),
        ((0, "a", "sideways", 0), "direction = 'sideways'"),
        ((0, "a", "forward", -1), "step = -1"),
        ((1.5, "a", "forward", 0), "run_seed = 1.5"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(ProfileError, match=words.replace("(", r"\(")):
        link_seed(*arguments)


@pytest.mark.parametrize("run_seed", [True, 1.0, np.int64(1)], ids=repr)
def test_what_equals_a_seed_that_was_used_is_still_none(run_seed):
    link_seed(1, "a", "forward", 0)
    with pytest.raises(ProfileError, match=r"run_seed = .*: must be a whole number"):
        link_seed(run_seed, "a", "forward", 0)
