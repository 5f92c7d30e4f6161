"""Links changed together: named once, each refusal its own, also of what is made for the first time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from netlab.errors import FeatureMissing, KernelError, LabError, ProfileError
from netlab.namespaces.impairer import Change, Refusals
from netlab.namespaces.link import Link
from netlab.namespaces.link_change import LinkChange, change_links
from netlab.namespaces.link_plan import LinkPlan, plan_link
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import Direction, link_seed

STATE = QdiscState(latency_ns=5, seed=1)


class NotedImpairer:
    """Takes every state; ``at_rest`` tells whether nobody else changes it."""

    def __init__(self, state: QdiscState) -> None:
        self.asked = state
        self.at_rest = True

    def apply(self, state: QdiscState) -> None:
        self.asked = state

    def verify(self) -> bool:
        return self.at_rest


class NotedWire:
    """Makes impairers, unless it refuses, and changes them."""

    def __init__(self) -> None:
        self.refusal: Exception | None = None
        self.lacks: FeatureMissing | None = None
        self.batches: list[int] = []

    def require_impairments(self) -> None:
        if self.lacks is not None:
            raise self.lacks

    def impair(self, plan: LinkPlan, direction: Direction, state: QdiscState) -> NotedImpairer:
        if self.refusal is not None and direction == "back":
            raise self.refusal
        return NotedImpairer(state)

    def change_together(self, changes: Sequence[Change]) -> Refusals:
        self.batches.append(len(changes))
        for change in changes:
            change.impairer.asked = change.state  # type: ignore[misc]
        return [None] * len(changes)


@pytest.fixture
def wire() -> NotedWire:
    return NotedWire()


def link_on(wire: NotedWire, name: str = "a-b") -> Link:
    return Link(name, plan_link(0, "abcdef", 0, 0), wire, 9)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "directions", [("forward", "forward"), (None, "back"), (None, None)], ids=["one", "both and one", "both"]
)
@pytest.mark.parametrize("made", [False, True])
def test_a_direction_is_named_once(directions: tuple[Direction | None, ...], made: bool, wire: NotedWire) -> None:
    link = link_on(wire)
    if made:
        link.put("forward", STATE)
        link.put("back", STATE)
    asked = [LinkChange(link, LinkProfile(delay_s=1e-3), direction) for direction in directions]
    with pytest.raises(LabError, match=r"link a-b (forward|back) is named 2 times"):
        change_links(wire, asked)  # type: ignore[arg-type]
    assert (link.impairer("forward") is not None, wire.batches) == (made, [])
    link.apply(LinkProfile(), "forward")
    assert link.forward is not None and link.forward.asked is not None
    assert link.forward.asked.seed == link_seed(9, "a-b", "forward", 0), "no seed was used up"


@pytest.mark.parametrize("refusal", [KernelError("make it", 105), ProfileError("it has slots")])
def test_what_cannot_be_made_is_a_refusal_of_its_own(refusal: Exception, wire: NotedWire) -> None:
    first, second = link_on(wire, "first"), link_on(wire, "second")
    second.put("forward", STATE)
    wire.refusal = refusal
    rows = change_links(wire, [LinkChange(first, STATE), LinkChange(second, STATE)])  # type: ignore[arg-type]
    assert [(row.link, row.direction, row.refusal) for row in rows] == [
        ("first", "forward", None),
        ("first", "back", refusal),
        ("second", "forward", None),
        ("second", "back", refusal),
    ]
    assert wire.batches == [1], "the others are changed all the same"


def test_nothing_changes_where_links_cannot_be_impaired(wire: NotedWire) -> None:
    link = link_on(wire)
    wire.lacks = FeatureMissing("impair links", 0, "no netem")
    with pytest.raises(FeatureMissing):
        change_links(wire, [LinkChange(link, STATE)])  # type: ignore[arg-type]
    assert link.read() == (None, None)


def test_what_was_changing_meanwhile_is_not_called_proven(wire: NotedWire) -> None:
    link = link_on(wire)
    link.put("forward", STATE)
    impairer = link.forward
    assert isinstance(impairer, NotedImpairer)
    impairer.at_rest = False
    (row,) = change_links(wire, [LinkChange(link, STATE, "forward")])  # type: ignore[arg-type]
    assert "nothing is proven" in str(row.refusal)
