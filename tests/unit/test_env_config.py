"""What a run is asked for: one table of defaults, and contradictions that are refused before anything runs."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from netlab.cli.main import main
from netlab.envs.config import EnvConfig
from netlab.envs.run import run_env_service
from netlab.errors import SpecError

CONTRADICTIONS = [
    ({"actuator": "scheduled"}, ("--actuator", "scheduled"), "horizon_ticks", "netlab profile show"),
    ({"actuator": "newest", "horizon_ticks": 4}, ("--horizon", "4"), "horizon_ticks", "--actuator scheduled"),
    (
        {"actuator": "newest", "horizon_ticks": 0},
        ("--horizon", "adaptive"),
        "horizon_ticks",
        "--actuator scheduled",
    ),
    (
        {"actuator": "stop-and-wait", "horizon_ticks": 4},
        ("--actuator", "stop-and-wait", "--horizon", "4"),
        "horizon_ticks",
        "--actuator scheduled",
    ),
    (
        {"actuator": "stop-and-wait", "fallback": "hold"},
        ("--actuator", "stop-and-wait", "--fallback", "hold"),
        "fallback",
        "--fallback neutral",
    ),
    ({"local_policy": "linear"}, ("--local-policy", "linear"), "local_policy", "--fallback local"),
    ({"fallback": "local"}, ("--fallback", "local"), "fallback", "--local-policy"),
    ({"hold_limit_ticks": 3}, ("--hold-limit", "3"), "hold_limit_ticks", "--fallback hold"),
]


@pytest.mark.parametrize(("fields", "words", "key", "hint"), CONTRADICTIONS, ids=str)
def test_contradictions_are_refused_with_the_remedy(
    fields: dict[str, object], words: tuple[str, ...], key: str, hint: str
) -> None:
    config = EnvConfig(address="127.0.0.1:9", **fields)  # type: ignore[arg-type]
    with pytest.raises(SpecError) as caught:
        run_env_service(config)
    assert caught.value.key == key
    assert hint in caught.value.hint
    result = CliRunner().invoke(main, ["env", "run", "--agent", "127.0.0.1:9", *words])
    assert result.exit_code == 2, result.stderr
    assert hint in result.stderr


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"actuator": "scheduled", "horizon_ticks": 1},
        {"actuator": "scheduled", "horizon_ticks": 0},
        {"actuator": "stop-and-wait"},
        {"fallback": "hold", "hold_limit_ticks": 3},
        {"fallback": "local", "local_policy": "linear"},
    ],
)
def test_what_fits_together_is_taken(fields: dict[str, object]) -> None:
    EnvConfig(address="127.0.0.1:9", **fields).check()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fields",
    [
        {"seed": -1},
        {"seed": 2**64},
        {"episodes": 0},
        {"wait_s": -1.0},
        {"wait_s": float("inf")},
        {"start_delay_s": float("nan")},
    ],
)
def test_numbers_that_no_run_has(fields: dict[str, object]) -> None:
    with pytest.raises(SpecError, match=next(iter(fields))):
        EnvConfig(address="127.0.0.1:9", **fields).check()  # type: ignore[arg-type]


@pytest.mark.parametrize("horizon", ["0", "257", "adaptable", "-1"])
def test_a_horizon_that_is_none(horizon: str) -> None:
    words = ["env", "run", "--agent", "127.0.0.1:9", "--actuator", "scheduled", "--horizon", horizon]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "adaptive" in result.stderr


def test_a_result_does_not_say_where_the_key_is() -> None:
    config = EnvConfig(address="robot:7447", key_path="/secret/robot.key", seed=5)
    assert config.public() == EnvConfig(address="robot:7447", seed=5)
