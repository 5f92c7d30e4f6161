"""Medium: its states, and what it remembers when a change is refused."""

from __future__ import annotations

import pytest

from netlab.errors import FeatureMissing, KernelError, ProfileError
from netlab.namespaces.medium import Medium
from netlab.namespaces.medium_plan import MediumPlan, plan_medium
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import link_seed

PLAN = plan_medium(0, "ap", "abcdef")


class NotedImpairer:
    def __init__(self, state: QdiscState) -> None:
        self.states = [state]
        self.refuses = False

    def apply(self, state: QdiscState) -> None:
        if self.refuses:
            raise KernelError("change it", 22)
        self.states.append(state)

    def read(self) -> QdiscState:
        return self.states[-1]


class NotedWire:
    def __init__(self, has_netem: bool = True) -> None:
        self.made: list[MediumPlan] = []
        self._has_netem = has_netem

    def require_impairments(self) -> None:
        if not self._has_netem:
            raise FeatureMissing("emulate links")

    def add_medium(self, plan: MediumPlan, state: QdiscState) -> NotedImpairer:
        self.made.append(plan)
        return NotedImpairer(state)


def _medium(wire: NotedWire | None = None, rate_bps: float = 20e6, queue_packets: int = 200) -> Medium:
    return Medium(PLAN, wire or NotedWire(), 7, rate_bps, queue_packets)  # type: ignore[arg-type]


def test_a_medium_is_a_rate_and_a_queue_and_nothing_else() -> None:
    medium = _medium()
    state = medium.read()
    assert state == QdiscState(rate_bytes_per_s=2_500_000, limit_packets=200, seed=state.seed)
    assert (medium.name, medium.rate_bps, medium.queue_packets) == ("ap", 20e6, 200)


def test_its_seed_is_that_of_no_link() -> None:
    seed = _medium().read().seed
    for name in ("ap", "media.ap"):
        assert seed not in {link_seed(7, name, direction, 0) for direction in ("forward", "back")}


def test_a_change_keeps_what_is_not_named() -> None:
    medium = _medium()
    medium.apply(rate_bps=8e6)
    assert (medium.read().rate_bytes_per_s, medium.read().limit_packets) == (1_000_000, 200)
    medium.apply(queue_packets=5)
    assert (medium.read().rate_bytes_per_s, medium.read().limit_packets) == (1_000_000, 5)


def test_a_refused_change_is_not_remembered() -> None:
    medium = _medium()
    medium.impairer.refuses = True  # type: ignore[attr-defined]
    with pytest.raises(KernelError):
        medium.apply(rate_bps=8e6, queue_packets=5)
    assert (medium.rate_bps, medium.queue_packets) == (20e6, 200)


@pytest.mark.parametrize(("rate_bps", "queue_packets"), [(0.0, 200), (float("inf"), 200), (1e6, 0), (1e6, 2**32)])
def test_what_is_no_medium_makes_nothing(rate_bps: float, queue_packets: int) -> None:
    wire = NotedWire()
    with pytest.raises(ProfileError):
        _medium(wire, rate_bps, queue_packets)
    with pytest.raises(FeatureMissing):
        _medium(NotedWire(has_netem=False))
    assert wire.made == []
