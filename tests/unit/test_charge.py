"""What a computation declares that it costs: nothing in real time, exactly that in virtual time."""

from __future__ import annotations

import math
import time

import pytest

from netlab.charge import charge
from netlab.clock_name import clock_name, in_virtual_time
from netlab.cpu_tokens import TOKENS_VARIABLE, CpuTokens
from netlab.errors import ProfileError, SpecError
from netlab.lab_cpus import check_virtual_cpus
from netlab.namespaces.repeatable import require_repeatable
from netlab.traces.qdisc_state import QdiscState


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    naps: list[float] = []
    monkeypatch.setattr(time, "sleep", naps.append)
    monkeypatch.delenv("NETLAB_CLOCK", raising=False)
    monkeypatch.delenv(TOKENS_VARIABLE, raising=False)
    return naps


def test_real_time_adds_nothing(slept: list[float]) -> None:
    charge(3.0)
    assert (slept, clock_name()) == ([], "real")


def test_virtual_time_sleeps_the_cost(slept: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETLAB_CLOCK", "virtual")
    assert in_virtual_time()
    charge(0.004)
    charge(0.0)
    assert slept == [0.004]


def test_the_cost_is_spent_holding_a_token(slept: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setenv("NETLAB_CLOCK", "virtual")
    monkeypatch.setenv(TOKENS_VARIABLE, "7")
    monkeypatch.setattr(CpuTokens, "take", lambda self: done.append("take"))
    monkeypatch.setattr(CpuTokens, "give", lambda self: done.append("give"))

    def interrupted(seconds: float) -> None:
        done.append("sleep")
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        charge(0.004)
    assert done == ["take", "sleep", "give"]


@pytest.mark.parametrize("cost", [-1e-9, math.nan, math.inf])
def test_an_impossible_cost_is_refused_in_real_time_too(cost: float, slept: list[float]) -> None:
    with pytest.raises(ValueError, match="finite and not below 0"):
        charge(cost)


@pytest.mark.parametrize("count", [0, -1, 1025, True, 1.5, "2"])
def test_a_host_has_a_possible_number_of_virtual_cpus(count: object) -> None:
    with pytest.raises(SpecError, match=r"hosts\.robot\.virtual_cpus.*1 \.\. 1024"):
        check_virtual_cpus(count, "hosts.robot.virtual_cpus")


SEEDED = QdiscState(latency_ns=1_000_000, jitter_ns=100, loss=5, seed=1)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (SEEDED.replace(seed=None), "seed = None"),
        (SEEDED.replace(loss_correlation=9), "loss_correlation = 9"),
        (SEEDED.replace(delay_correlation=9), "delay_correlation = 9"),
        (SEEDED.replace(corrupt=9), "corrupt = 9"),
    ],
)
def test_what_comes_by_chance_is_refused_in_virtual_time_alone(
    state: QdiscState, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NETLAB_CLOCK", raising=False)
    require_repeatable(state, "a-b")
    monkeypatch.setenv("NETLAB_CLOCK", "virtual")
    require_repeatable(SEEDED, "a-b")
    with pytest.raises(ProfileError, match=f"link a-b: {says}"):
        require_repeatable(state, "a-b")
