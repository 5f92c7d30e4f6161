"""What may not go with an actuator is the same for all who ask for one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from msgspec import Struct

from netlab.actuator_traits import ACTUATOR_TRAITS
from netlab.control.actuators import ACTUATORS
from netlab.control.fallback import Hold, Local, Neutral
from netlab.control.policy import Policy
from netlab.envs.clash import Clash, Combination
from netlab.envs.config import DEFAULT_HOLD_LIMIT_TICKS, EnvConfig
from netlab.envs.make_fallback import make_fallback
from netlab.envs.virtual.options import NetworkOptions
from netlab.episode.spec import EpisodeSpec
from netlab.errors import SpecError
from netlab.messages import ActuatorName
from netlab.modes.plan import RunPlan
from netlab.modes.request import RunRequest


def env_config(asked: Combination) -> None:
    config = EnvConfig(
        address="127.0.0.1:1", actuator=asked.actuator, fallback=asked.fallback, horizon_ticks=asked.horizon,
        hold_limit_ticks=asked.hold_limit_ticks,
    )  # fmt: skip
    config.check()


def network_options(asked: Combination) -> None:
    NetworkOptions(
        actuator=asked.actuator, fallback=asked.fallback, horizon=asked.horizon,
        hold_limit_ticks=asked.hold_limit_ticks,
    ).check()  # fmt: skip


def episode_spec(asked: Combination) -> None:
    spec = EpisodeSpec(
        edge="a", agent="b", actuator=asked.actuator, fallback=asked.fallback, horizon=asked.horizon
    )  # fmt: skip
    spec.check(("a", "b"), [("a", "b")])


def run_plan(asked: Combination) -> None:
    request = RunRequest(
        policy="linear", actuator=asked.actuator, fallback=asked.fallback, horizon_ticks=asked.horizon
    )  # fmt: skip
    RunPlan.of(request, "nothing")


ALL = set(Clash)
ASKERS: list[tuple[Callable[[Combination], None], set[Clash]]] = [
    (env_config, ALL),
    (network_options, ALL),
    (episode_spec, {Clash.HORIZON, Clash.FALLBACK}),
    (run_plan, {Clash.HORIZON, Clash.FALLBACK}),
]


@pytest.mark.parametrize(("asker", "refuses"), ASKERS)
def test_all_who_ask_refuse_the_same(asker: Callable[[Combination], None], refuses: set[Clash]) -> None:
    limits = (None, 3) if Clash.HOLD_LIMIT in refuses else (None,)
    refused = 0
    for actuator, fallback, horizon, limit in product(ACTUATORS, ("neutral", "hold"), (None, 1, 4), limits):
        asked = Combination(actuator=actuator, fallback=fallback, horizon=horizon, hold_limit_ticks=limit)
        problems = [problem for clash, problem in asked.clashes().items() if clash in refuses]
        if not problems:
            asker(asked)
            continue
        with pytest.raises(SpecError) as caught:
            asker(asked)
        assert problems[0] in str(caught.value) and caught.value.hint
        refused += 1
    assert refused


def test_what_clashes() -> None:
    def of(actuator: ActuatorName, **more: object) -> set[Clash]:
        return set(Combination(actuator=actuator, **more).clashes())  # type: ignore[arg-type]

    for name in ACTUATORS:
        assert of(name) == ({Clash.NO_HORIZON} if ACTUATOR_TRAITS[name].has_horizon else set())
        assert of(name, horizon=1) == (set() if ACTUATOR_TRAITS[name].has_horizon else {Clash.HORIZON})
    assert of("newest", fallback="local") == of("newest", fallback="hold", hold_limit_ticks=1) == set()
    assert of("stop-and-wait", fallback="local") == of("stop-and-wait", fallback="hold") == {Clash.FALLBACK}
    assert of("stop-and-wait", fallback=None) == set()
    assert of("newest", fallback="local", hold_limit_ticks=1) == {Clash.HOLD_LIMIT}


class Any0(Struct):
    """A policy that nobody asks."""

    def decide(self, question: object) -> int:
        return 0

    def reset(self) -> None: ...


def test_fallbacks_by_name() -> None:
    assert isinstance(make_fallback("neutral"), Neutral)
    held, longer = make_fallback("hold"), make_fallback("hold", 25)
    assert isinstance(held, Hold) and held.limit_ticks == DEFAULT_HOLD_LIMIT_TICKS
    assert isinstance(longer, Hold) and longer.limit_ticks == 25
    policy: Callable[[], Policy] = Any0
    assert isinstance(make_fallback("local", None, policy), Local)
    for words, asked in (("no policy", ("local",)), ("at least 1", ("hold", 0)), ("'last'", ("last",))):
        with pytest.raises(SpecError, match=words):
            make_fallback(*asked)
