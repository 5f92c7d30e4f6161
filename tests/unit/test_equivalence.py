"""Equivalence within a margin: an exact interval for differences of which only the range is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from netlab.tables.equivalence import LEVEL, Equivalence
from netlab.tables.parity_plan import FULL, QUICK
from netlab.tables.parity_rows import DIFFERENCE_SHARE

RANGE = 500.0
MARGIN = RANGE * DIFFERENCE_SHARE
LOOKS = (FULL.cells * FULL.cell_episodes, FULL.most_cells * FULL.cell_episodes)
"""After how many episodes a row of the parity table is looked at."""


def found(differences: Iterable[float]) -> Equivalence:
    return Equivalence.of(list(differences), MARGIN, RANGE)


def test_what_is_told_beside_the_interval() -> None:
    one = found([3.0, 0.0, -1.0, 0.0, 0.0])
    assert (one.n, one.differ, one.mean, one.share) == (5, 2, pytest.approx(0.4), pytest.approx(0.4 / RANGE))
    assert one.standard_error == pytest.approx(math.sqrt((2.6**2 + 1.4**2 + 3 * 0.4**2) / 4 / 5))
    assert found([3.0]).standard_error is None
    assert one.low < one.mean < one.high


def test_zeros_are_equivalent_once_there_are_enough_and_not_before() -> None:
    """Whoever stakes all on each zero needs ln(LEVEL) / ln(1 - 0.02) = 149; half is staked otherwise."""
    fewest = next(n for n in range(1, 1000) if found([0.0] * n).verdict == "equivalent")
    assert math.log(LEVEL) / math.log(1 - DIFFERENCE_SHARE) <= fewest <= LOOKS[0]
    assert found([0.0] * FULL.real_episodes).verdict == "undecided", "ten say nothing, though all are alike"
    assert found([0.0] * FULL.real_episodes).high > 10 * MARGIN


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([0.0] * 399 + [-500.0], "equivalent"),
        ([0.0] * 199 + [500.0], "undecided"),
        ([0.0] * 190 + [1.0, -2.0] * 5, "equivalent"),
        ([3.0, -3.0] * 100, "equivalent"),
        ([9.9, 8.0, 11.5] * 100, "undecided"),
        ([-250.0, -400.0] * 5, "different"),
        ([250.0, 400.0] * 5, "different"),
        ([30.0, 20.0] * 10, "undecided"),
        ([30.0, 20.0] * 100, "different"),
        ([400.0, -400.0] * 5, "undecided"),
        ([500.0, -500.0] * 200, "undecided"),
    ],
)
def test_only_an_interval_within_the_margin_is_equivalent(differences: list[float], verdict: str) -> None:
    assert found(differences).verdict == verdict


def test_which_side_is_which_changes_nothing_nor_does_the_unit() -> None:
    rng = np.random.default_rng(3)
    differences = np.where(rng.random(60) < 0.3, rng.uniform(-500.0, 500.0, 60), 0.0).tolist()
    one, other = found(differences), found(-d for d in differences)
    assert (other.low, other.high) == (-one.high, -one.low)
    small = Equivalence.of([d / RANGE for d in differences], DIFFERENCE_SHARE, 1.0)
    assert (small.low * RANGE, small.high * RANGE) == pytest.approx((one.low, one.high), abs=1e-6)


def test_more_episodes_and_smaller_differences_can_only_help() -> None:
    highs = [found([0.0] * n).high for n in (1, 10, 50, 100, 200, 400)]
    assert highs == sorted(highs, reverse=True) and len(set(highs)) == 6
    losses = [found([0.0] * (400 - k) + [500.0] * k) for k in range(8)]
    assert all(one.high < other.high and one.low < other.low for one, other in pairwise(losses))
    sizes = [found([0.0] * 190 + [size] * 10).high for size in (0.0, 1.0, 5.0, 50.0, 500.0)]
    assert sizes == sorted(sizes) and len(set(sizes)) == 5


def test_a_difference_beyond_the_range_says_that_the_range_is_none() -> None:
    assert found([RANGE, -RANGE]).verdict == "undecided"
    for wrong in (RANGE + 1.0, math.nan):
        with pytest.raises(ValueError, match="returns have a range of 500"):
            found([0.0, -wrong])


def chance_of_equivalence(loss: float, looks: Iterable[int]) -> float:
    """Return the chance that some look says equivalent where a share of episodes lose so much, MARGIN in the mean.

    Computed, not drawn: at each look the number of losses decides.
    """
    share, said, n = MARGIN / abs(loss), 0.0, 0
    left = {0: 1.0}  # by the number of losses, where nothing has been said yet
    for look in looks:
        more = look - n
        chances = [math.comb(more, k) * share**k * (1 - share) ** (more - k) for k in range(more + 1)]
        moved: dict[int, float] = {}
        for before, chance in left.items():
            for k, one in enumerate(chances):
                moved[before + k] = moved.get(before + k, 0.0) + chance * one
        n = look
        called = 0
        while found([0.0] * (n - called) + [loss] * called).verdict == "equivalent":
            called += 1
        said += sum(chance for k, chance in moved.items() if k < called)
        left = {k: chance for k, chance in moved.items() if k >= called}
    return said


@pytest.mark.parametrize("loss", [500.0, -500.0, 250.0, -100.0, 40.0, 15.0])
def test_rare_losses_by_the_margin_are_seldom_called_equivalent(loss: float) -> None:
    assert chance_of_equivalence(loss, LOOKS) <= LEVEL


def test_so_it_is_however_often_one_looks() -> None:
    often = chance_of_equivalence(-500.0, range(20, LOOKS[1] + 1, 20))
    assert chance_of_equivalence(-500.0, LOOKS) <= often <= LEVEL
    assert often > 0.0, "it can happen, or the test would be of nothing"


def share_called(draw: Callable[[np.random.Generator, int], np.ndarray], studies: int) -> dict[str, float]:
    """Return which share of studies ends how, each looked at as a row of the table is."""
    rng, counts = np.random.default_rng(1), dict.fromkeys(("equivalent", "different", "undecided"), 0)
    for _ in range(studies):
        differences = draw(rng, LOOKS[-1])
        verdicts = [found(differences[:n].tolist()).verdict for n in LOOKS]
        counts[next((one for one in verdicts if one != "undecided"), "undecided")] += 1
    return {verdict: count / studies for verdict, count in counts.items()}


def test_small_differences_beside_rare_losses_do_not_hide_them() -> None:
    """Half of the episodes differ a little, one in fifty by all: nothing tells of these until they are met."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        return np.where(rng.random(n) < DIFFERENCE_SHARE, RANGE, rng.integers(0, 2, n) * 0.5)

    assert share_called(draw, 300)["equivalent"] <= LEVEL


def test_normal_differences_by_the_margin_are_seldom_called_equivalent() -> None:
    called = share_called(lambda rng, n: np.rint(MARGIN + 30.0 * rng.standard_normal(n)), 200)
    assert called["equivalent"] <= LEVEL
    close = share_called(lambda rng, n: np.rint(15.0 * rng.standard_normal(n)), 50)
    assert close["equivalent"] == 1.0, "and what is equal is"
    apart = share_called(lambda rng, n: np.rint(5.0 * MARGIN + 15.0 * rng.standard_normal(n)), 50)
    assert apart["different"] == 1.0, "and what is not is not"


def test_the_page_on_tables_says_what_is_so() -> None:
    page = " ".join((Path(__file__).parents[2] / "docs" / "tables.md").read_text().split())
    ten = found([0.0] * FULL.real_episodes).high / RANGE
    assert FULL.real_episodes == QUICK.cell_episodes == 10
    for words in (
        f"{1 - 2 * LEVEL:.0%} interval".replace("%", " %"),
        f"within {DIFFERENCE_SHARE:.0%} of the range".replace("%", " %"),
        f"at most {LEVEL:.0%} over all looks".replace("%", " %"),
        f"still reach {ten:.0%} of the range".replace("%", " %"),
        f"{LOOKS[0]} episodes that score alike are enough",
        f"of {FULL.cell_episodes} episodes",
    ):
        assert words in page
    assert (FULL.cells, FULL.most_cells) == (4, 8), "A row has four runs ... eight"
