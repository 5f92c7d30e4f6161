"""cartpole-rough: what is played, how it is judged, and that planned does what it is there for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from calf_results import result

from netlab.bench import rough
from netlab.bench.rough import NETWORK, PLAYED, PUSH_N
from netlab.errors import NetlabError
from netlab.scoring.scorer import Overrides, score


def test_it_is_played_in_parts_and_is_what_one_score_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rough, "EPISODES", 3)
    monkeypatch.setattr(rough, "PART_EPISODES", 2)
    told: list[str] = []
    players = [rough._Player("linear", PLAYED), rough._Player("cartpole-paper-2", rough.AS_SHIPPED)]
    played = rough._play(players, told.append)
    assert list(played) == players
    for player in players:
        whole = score(
            player.name,
            NETWORK,
            episodes=3,
            seed=1_000_000,
            overrides=player.overrides,
            options={"push_n": PUSH_N},
        )
        assert tuple(rough._returns(played[player])) == whole.returns
        assert played[player][0].control == whole.control
    assert told[0].startswith("4 parts of 2 episodes or fewer, ")
    assert [line.partition(",")[0] for line in told[1:]] == [f"{n} of 4 parts" for n in (1, 2, 3, 4)]


def test_a_part_that_cannot_be_played_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rough, "EPISODES", 1)
    monkeypatch.setattr(rough, "NETWORK", "wifi-norml")
    with pytest.raises(NetlabError, match=r"linear on wifi-norml, .*unknown network"):
        rough._play([rough._Player("linear", PLAYED)], lambda text: None)


def played(share: Callable[[int, int], float]):
    """Return what plays: the oracle 100, 200, 300 ...; a training seed that share of it in each episode."""

    def play(players, say):
        oracle, *ours, shipped = players
        theirs = [100.0 + 100.0 * (episode % 4) for episode in range(40)]
        found = {
            player: [result(tuple(share(seed, episode) * one for episode, one in enumerate(theirs)))]
            for seed, player in enumerate(ours)
        }
        return found | {oracle: [result(tuple(theirs))], shipped: [result((7.0,) * 40)]}

    return play


@pytest.mark.parametrize(
    ("share", "value", "holds", "words"),
    [
        (lambda seed, episode: 0.97 + 0.001 * (seed - 2), 0.97, True, "at least 0.95 is shown"),
        (lambda seed, episode: 0.97 + 0.03 * (seed - 2), 0.97, True, "at least 0.95 is not shown"),
        (lambda seed, episode: 0.97 + 0.3 * (-1) ** (episode // 4), 0.97, True, "at least 0.95 is not shown"),
        (lambda seed, episode: 0.94 + 0.001 * (seed - 2), 0.94, False, "at least 0.95 is not shown"),
    ],
    ids=["all seeds alike", "seeds differ", "episodes differ", "below"],
)
def test_the_floor_is_of_the_ratio_and_what_is_shown_of_its_lower_end(
    monkeypatch: pytest.MonkeyPatch, share, value: float, holds: bool, words: str
) -> None:
    monkeypatch.setattr(rough, "_play", played(share))
    figure = rough.cartpole_rough(lambda text: None)
    assert figure.value == pytest.approx(value) and figure.holds is holds
    assert words in figure.spread and "5 training seeds " in figure.spread
    assert "as its file says" in figure.note and ": 7; seeds from 1000000" in figure.note


def test_planned_survives_bursts_that_scheduled_does_not():
    """12 episodes with their own seeds, no pushes; of 600 the means are 497 and 411."""
    means = {
        actuator: score(
            "linear-predict", NETWORK, episodes=12, overrides=Overrides(actuator=actuator, horizon=7)
        ).mean
        for actuator in ("scheduled", "planned")
    }
    assert means["planned"] > means["scheduled"] + 20.0, means
