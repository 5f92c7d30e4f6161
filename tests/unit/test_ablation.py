"""The ablation: networks of which one component alone is random; recipes that differ in their network alone."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from netlab.control.feature_spec import FeatureSpec
from netlab.traces.loss import GilbertElliott
from netlab.traces.network_distribution import RANDOM
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.toml_network import BUILT_IN, parse_network
from netlab.training.recipe import find_recipe

N = 1000
PAGE = (Path(__file__).parents[2] / "docs" / "network-distributions.md").read_text()


def links(name: str) -> list[LinkProfile]:
    pairs = [parse_network(name).draw(seed) for seed in range(N)]
    return [link for pair in pairs if isinstance(pair, ProfilePair) for link in (pair.forward, pair.back)]


@pytest.mark.parametrize("name", ["random-delay", "random-jitter", "random-loss"])
def test_as_many_episodes_are_clean_as_of_the_whole(name: str) -> None:
    network = parse_network(name)
    assert network.name == name and network.clean_ratio == RANDOM.clean_ratio == 0.2
    # The clean ones are drawn by name: the same seeds as of `random`.
    assert [network.draw(seed) is None for seed in range(N)] == [RANDOM.draw(seed) is None for seed in range(N)]
    assert f"| `{name}` | of `random` the {name.removeprefix('random-')} alone" in PAGE


def test_a_delay_alone_is_the_delay_of_the_whole() -> None:
    for link, whole in zip(links("random-delay"), links("random"), strict=True):
        assert link.delay_s == whole.delay_s
        assert link == LinkProfile(delay_s=whole.delay_s, ordered=False)


def test_jitter_alone_has_one_delay_and_the_spread_of_the_whole() -> None:
    for link, whole in zip(links("random-jitter"), links("random"), strict=True):
        assert link == LinkProfile(delay_s=0.05, jitter_s=link.jitter_s, law="normal", ordered=False)
        assert link.jitter_s == whole.jitter_s or whole.delay_s == 0.0


def test_loss_alone_is_the_loss_of_the_whole_bursts_included() -> None:
    made = links("random-loss")
    for link, whole in zip(made, links("random"), strict=True):
        assert link == LinkProfile(loss=whole.loss, ordered=False)
    in_bursts = sum(isinstance(link.loss, GilbertElliott) for link in made)
    assert abs(in_bursts / len(made) - 0.5) < 0.07  # n is about 1600: five sigma


def test_the_recipes_differ_in_their_network_alone() -> None:
    whole = find_recipe("cartpole-paper")
    assert whole.control.features == FeatureSpec(stack=4) and whole.network == "random"
    for name in ("none", "delay", "jitter", "loss"):
        recipe = find_recipe(f"cartpole-paper-{name}")
        assert recipe.network == ("none" if name == "none" else f"random-{name}")
        assert msgspec.structs.replace(
            recipe, name=whole.name, summary=whole.summary, network="random"
        ) == msgspec.structs.replace(whole)


def test_the_whole_as_the_page_shows_it_still_is_the_built_in_one() -> None:
    assert re.findall(r"`(random[a-z-]*)`", PAGE)
    assert {"random", "random-delay", "random-jitter", "random-loss", "clean"} == set(BUILT_IN)
