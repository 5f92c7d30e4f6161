"""How fast N environments behind a network are stepped at once, in env-steps a second.

::

    VectorNetwork, network and stack   against   SyncVectorEnv of single VirtualNetworks, the same options
                                       against   gymnasium's CartPoleVectorEnv, which has no network at all

Played twice: at random, where an episode ends after some 25 ticks and a new one must begin, and by a rule that
keeps the pole up, where hardly one does. Choosing actions is not counted. The worse of both is judged.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from numpy.typing import NDArray

from netlab.bench.figure import Figure, spread_text
from netlab.bench.step_rates import StepRates, Stopwatch, Way, measure_in_turn, rates_text, ratios
from netlab.control.feature_spec import FeatureSpec
from netlab.envs.cartpole import CartPole
from netlab.envs.registry import make_vector_task
from netlab.envs.vector.network import VectorNetwork
from netlab.envs.virtual.options import NetworkOptions
from netlab.envs.virtual.virtual_network import VirtualNetwork

__all__ = ["vector_speed"]

ENVIRONMENTS = 256
NETWORK = "wifi-normal"
STACK = 4
SINGLE_TARGET = 20.0
BARE_TARGET = 1.0 / 3.0
ROUNDS = 5
VECTOR_CALLS, SINGLE_CALLS = 600, 30
WARM_CALLS = 20
SEED = 1
_UPRIGHT = np.array([0.0, 0.2, 1.0, 0.6])

Choose = Callable[[NDArray[np.float32]], NDArray[np.int64]]


class _Played(NamedTuple):
    """What one way of playing came to.

    Attributes:
        name: Of it.
        rates: Ours, the single environments', the bare one's.
        ticked_ratio: Share of our steps in which a tick was made.
    """

    name: str
    rates: tuple[StepRates, StepRates, StepRates]
    ticked_ratio: float

    @property
    def against_single(self) -> float:
        return statistics.median(ratios(self.rates[0].wall, self.rates[1].wall))

    @property
    def against_bare(self) -> float:
        return statistics.median(ratios(self.rates[0].wall, self.rates[2].wall))


class _Player:
    """Steps a vector environment; counts the time of its steps alone."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self._env = env
        self.ticked = self.steps = 0

    def run(self, choose: Choose, calls: int, watch: Stopwatch) -> int:
        """Begin anew, warm up and step so many times; return the env-steps counted."""
        rows, _ = self._env.reset(seed=SEED)
        for call in range(WARM_CALLS + calls):
            actions = choose(rows)
            is_counted = call >= WARM_CALLS
            if is_counted:
                watch.start()
            rows, _, _, _, infos = self._env.step(actions)
            if is_counted:
                watch.stop()
                self.steps += self._env.num_envs
                self.ticked += int(np.count_nonzero(infos.get("ticked", 0)))
        return calls * self._env.num_envs


def vector_speed(say: Callable[[str], None]) -> Figure:
    """Step 256 environments each way, in turn, playing at random and well."""
    played = [_played(name, choose, say) for name, choose in _ways_of_playing().items()]
    single, bare = min(played, key=lambda one: one.against_single), min(played, key=lambda one: one.against_bare)
    return Figure(
        name="vector-speed",
        value=single.against_single,
        unit=f"times single environments; {bare.against_bare:.3g} of gymnasium's without a network",
        target=f"at least {SINGLE_TARGET:g} times, and at least {BARE_TARGET:.3g}",
        holds=single.against_single >= SINGLE_TARGET and bare.against_bare >= BARE_TARGET,
        n=ROUNDS,
        spread=spread_text(ratios(single.rates[0].wall, single.rates[1].wall), "times")
        + f"; {spread_text(ratios(bare.rates[0].wall, bare.rates[2].wall), 'of the bare one')}",
        note=f"{ENVIRONMENTS} CartPoles, {NETWORK}, stack of {STACK}; medians of ratios within a round, the worse "
        "way of playing; " + "; ".join(map(_text, played)),
    )


def _ways_of_playing() -> dict[str, Choose]:
    draws = np.random.default_rng(SEED)
    return {
        "at random": lambda rows: draws.integers(0, 2, len(rows)),
        "well": lambda rows: (rows[:, :4] @ _UPRIGHT > 0.0).astype(np.int64),
    }


def _played(name: str, choose: Choose, say: Callable[[str], None]) -> _Played:
    say(f"playing {name}")
    options = NetworkOptions(features=FeatureSpec(stack=STACK))
    ours = _Player(VectorNetwork(make_vector_task("CartPole-v1", ENVIRONMENTS), NETWORK, options))
    makers = [lambda: VirtualNetwork(CartPole(), NETWORK, options)] * ENVIRONMENTS
    single = _Player(SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP))
    bare = _Player(CartPoleVectorEnv(ENVIRONMENTS))
    rates = measure_in_turn(
        (
            Way("at once", lambda watch: ours.run(choose, VECTOR_CALLS, watch)),
            Way("single ones", lambda watch: single.run(choose, SINGLE_CALLS, watch)),
            Way("bare", lambda watch: bare.run(choose, VECTOR_CALLS, watch)),
        ),
        ROUNDS,
        say,
    )
    return _Played(name, (rates[0], rates[1], rates[2]), ours.ticked / ours.steps)


def _text(one: _Played) -> str:
    ours, single, bare = (statistics.median(rate.processor) for rate in one.rates)
    return (
        f"{one.name}: {one.against_single:.3g} times, {one.against_bare:.3g} [{ours / single:.3g}, "
        f"{ours / bare:.3g}], {rates_text(one.rates)}, a tick in {one.ticked_ratio:.0%} of the steps"
    )
