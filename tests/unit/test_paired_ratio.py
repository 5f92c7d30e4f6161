"""PairedRatio: its interval is one for other training seeds and other episodes, and it says what it shows."""

from __future__ import annotations

import numpy as np
import pytest

from netlab.bench.paired_ratio import PairedRatio

SEEDS, EPISODES = 5, 200


def study(rng: np.random.Generator, seed_sd: float) -> tuple[np.ndarray, np.ndarray]:
    """Return scores at 0.9 of an oracle's on average, each training seed somewhat better or worse than that."""
    theirs = rng.uniform(1.0, 3.0, (1, EPISODES))
    share = 0.9 + rng.normal(0.0, seed_sd, (SEEDS, 1))
    hard = rng.normal(0.0, 0.3, (1, EPISODES))  # what an episode does to all of ours
    return share * theirs + hard + rng.normal(0.0, 0.3, (SEEDS, EPISODES)), theirs


@pytest.mark.parametrize("seed_sd", [0.0, 0.05])
def test_an_interval_holds_the_ratio_of_all_seeds_and_all_episodes(seed_sd: float) -> None:
    """n = 1,000 studies; where seeds differ, an error over episodes alone would hold it in half of them.

    Five standard errors of 95 % are 3.4 %.
    """
    rng = np.random.default_rng(0)
    found = [PairedRatio.of(*study(rng, seed_sd)) for _ in range(1000)]
    held = np.mean([one.low <= 0.9 <= one.high for one in found])
    assert held > 0.916
    values = np.array([one.value for one in found])
    assert values.mean() == pytest.approx(0.9, abs=5 * values.std() / np.sqrt(1000))
    told = np.sqrt(np.mean([one.seeds_error**2 + one.episodes_error**2 for one in found]))
    assert told == pytest.approx(values.std(), rel=0.12)


def test_both_errors_are_those_of_the_means() -> None:
    theirs = np.full((1, 4), 2.0)
    by_seed = PairedRatio.of(theirs + np.array([[0.0], [0.2], [0.4]]), theirs)
    assert by_seed.value == pytest.approx(1.1)
    assert by_seed.seeds_error == pytest.approx(0.1 / np.sqrt(3)) and by_seed.episodes_error == pytest.approx(0.0)
    assert by_seed.high - by_seed.value == pytest.approx(4.30265 * 0.1 / np.sqrt(3), rel=1e-5)
    by_episode = PairedRatio.of(theirs + np.array([[0.0, 0.2, 0.4, 0.2]]), theirs)
    assert by_episode.seeds_error == 0.0
    assert by_episode.episodes_error == pytest.approx(np.std([0.0, 0.1, 0.2, 0.1], ddof=1) / 2)
    assert (by_episode.pairs, by_episode.differ) == (4, 3)


def test_what_belongs_together_in_pairs_is_compared_in_pairs() -> None:
    rng = np.random.default_rng(3)
    theirs = rng.uniform(1.0, 3.0, (2, 50))
    assert PairedRatio.of(0.5 * theirs, theirs).high == pytest.approx(0.5)
    assert PairedRatio.of(0.5 * theirs[:, ::-1], theirs).high > 0.52


def test_words_say_what_is_shown() -> None:
    rng = np.random.default_rng(4)
    ratio = PairedRatio.of(*study(rng, 0.01))
    assert ratio.low < ratio.value
    between = (ratio.low + ratio.value) / 2
    assert f"at least {between:g} is not shown" in ratio.words(between)
    assert f"at least {ratio.low - 0.01:g} is shown" in ratio.words(ratio.low - 0.01)
    assert f"95 % interval {100 * ratio.low:.4g}..{100 * ratio.high:.4g}, over training seeds and episodes" in (
        ratio.words(between, 100.0)
    )
    assert PairedRatio.of([[1.0, 1.0]], [[1.0, 1.0]]).words(1.0) == "all 2 pairs alike: no interval"
