"""The figure ``vector-speed``: measured, and as it says. Not how fast."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from netlab.bench import step_rates, vector_speed
from netlab.cli.main import main


def taking(env_type, clock, seconds):
    """Return the same environment, each step of which takes so long by that clock."""

    class Taking(env_type):
        def step(self, actions):
            clock.now_s += seconds
            return super().step(actions)

    return Taking


@pytest.mark.parametrize(
    ("ours_s", "single_s", "bare_s", "holds"),
    [(1.0, 20.5, 0.34, True), (1.0, 19.5, 0.34, False), (1.0, 20.5, 0.32, False), (1.1, 20.5, 0.34, False)],
    ids=["fast enough", "single ones too fast", "bare too fast", "ours too slow"],
)
def test_the_figure_is_what_the_clock_says_of_steps(monkeypatch, ours_s, single_s, bare_s, holds):
    monkeypatch.setattr(vector_speed, "ENVIRONMENTS", 8)
    monkeypatch.setattr(vector_speed, "ROUNDS", 2)
    monkeypatch.setattr(vector_speed, "VECTOR_CALLS", 40)
    monkeypatch.setattr(vector_speed, "SINGLE_CALLS", 10)
    clock = SimpleNamespace(now_s=0.0)
    clock.perf_counter = clock.process_time = lambda: clock.now_s
    monkeypatch.setattr(step_rates, "time", clock)
    for name, seconds in (("VectorNetwork", ours_s), ("SyncVectorEnv", single_s), ("CartPoleVectorEnv", bare_s)):
        monkeypatch.setattr(vector_speed, name, taking(getattr(vector_speed, name), clock, seconds))
    figure = vector_speed.vector_speed(lambda text: None)
    assert figure.name == "vector-speed" and figure.n == 2 and figure.holds is holds
    assert figure.value == pytest.approx(single_s / ours_s)
    assert figure.unit == f"times single environments; {bare_s / ours_s:.3g} of gymnasium's without a network"
    assert figure.target == "at least 20 times, and at least 0.333"
    assert f"at once {0.008 / ours_s:.3g} [{0.008 / ours_s:.3g}]" in figure.note  # 8 env-steps in that time
    for words in ("at random", "well", "at once", "single ones", "bare", "wifi-normal", "stack of 4"):
        assert words in figure.note


def test_the_worse_way_of_playing_is_judged(monkeypatch):
    def played(name, choose, say):
        ours = {"at random": [30.0, 50.0, 30.0], "well": [25.0, 25.0, 25.0]}[name]
        bare = {"at random": [120.0] * 3, "well": [50.0] * 3}[name]
        rate = vector_speed.StepRates
        rates = rate("at once", ours, ours), rate("single ones", [1.0] * 3, [1.0] * 3), rate("bare", bare, bare)
        return vector_speed._Played(name, rates, 1.0)

    monkeypatch.setattr(vector_speed, "_played", played)
    figure = vector_speed.vector_speed(lambda text: None)
    assert figure.value == 25.0  # the least, well
    assert figure.unit.startswith("times single environments; 0.25 of")  # the least, at random
    assert not figure.holds
    monkeypatch.setattr(vector_speed, "BARE_TARGET", 0.25)
    assert vector_speed.vector_speed(lambda text: None).holds
    monkeypatch.setattr(vector_speed, "SINGLE_TARGET", 26.0)
    assert not vector_speed.vector_speed(lambda text: None).holds


def test_who_plays_well_ends_few_episodes():
    """What sets both ways of playing apart is how many episodes must begin."""
    ended = {}
    for name, choose in vector_speed._ways_of_playing().items():
        env = vector_speed.VectorNetwork(
            vector_speed.make_vector_task("CartPole-v1", 16), vector_speed.NETWORK, vector_speed.NetworkOptions()
        )
        rows, _ = env.reset(seed=1)
        ended[name] = 0
        for _ in range(300):
            rows, _, terminated, truncated, _ = env.step(choose(rows))
            ended[name] += int(np.count_nonzero(terminated | truncated))
    assert ended["at random"] > 100  # 16 rows, 300 steps, some 25 ticks an episode
    assert ended["well"] < ended["at random"] / 5


def test_it_is_refused_in_virtual_time():
    for name in ("vector-speed", "train-speed", "train-time"):
        done = CliRunner().invoke(main, ["bench", name, "--virtual-time"])
        assert done.exit_code == 2 and f"{name} is measured in real time alone" in done.stderr
