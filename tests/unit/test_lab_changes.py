"""What ``netlab lab set`` changes it names, also where the rest fails; what is refused first changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from netlab.errors import KernelError, LabError, NetlabError, SpecError
from netlab.holder.changes import LabChanges
from netlab.holder.messages import LinkWish, SetLinks
from netlab.traces.qdisc_state import QdiscState


class FakeMedium:
    """A medium that does as it is told, or fails."""

    def __init__(self, name: str, failure: NetlabError | None = None) -> None:
        self.name = name
        self.applied: list[float | None] = []
        self._failure = failure

    def plan_state(self, *, rate_bps: float | None, queue_packets: int | None) -> QdiscState:
        return QdiscState()

    def apply(self, *, rate_bps: float | None, queue_packets: int | None) -> None:
        if self._failure is not None:
            raise self._failure
        self.applied.append(rate_bps)


class FakeLab:
    """A lab with media alone."""

    name = "two"
    player = None

    def __init__(self, *media: FakeMedium, failure: NetlabError | None = None) -> None:
        self.media = {one.name: one for one in media}
        self.links: dict[str, Any] = {}
        self._failure = failure

    def stop_playing(self) -> None:
        if self._failure is not None:
            raise self._failure


def changes_of(lab: Any) -> LabChanges:
    return LabChanges(lab, 0.0)


def wishes(*names: str) -> list[LinkWish]:
    return [LinkWish(link=name, profile="rate=1mbit") for name in names]


@pytest.mark.parametrize("failure", [KernelError("change it", 12), LabError("the relay died")])
def test_a_failure_on_the_way_names_what_changed_and_what_did_not(failure: NetlabError) -> None:
    first, second, third = FakeMedium("a"), FakeMedium("b", failure), FakeMedium("c")
    changes = changes_of(FakeLab(first, second, third))
    with pytest.raises(KernelError) as caught:
        changes.make(SetLinks(wishes=wishes("medium:a", "medium:b", "medium:c")))
    assert f"medium:b shared: {failure}" in str(caught.value)
    assert "changed all the same: medium:a shared, medium:c shared" in str(caught.value)
    assert [(one.link, bool(one.refusal)) for one in changes.newest()] == [
        ("medium:a", False), ("medium:b", True), ("medium:c", False),
    ]  # fmt: skip
    assert all(0 <= one.asked_s <= one.applied_s for one in changes.newest())


def test_what_is_named_twice_or_unknown_changes_nothing() -> None:
    medium = FakeMedium("a")
    changes = changes_of(FakeLab(medium))
    for names, words in (
        (("medium:a", "medium:a"), "named 2 times"),
        (("medium:a", "nosuch"), "is no link of lab two"),
        (("medium:a", "medium:b"), "is no medium of lab two"),
    ):
        with pytest.raises(SpecError, match=words):
            changes.make(SetLinks(wishes=wishes(*names)))
    assert medium.applied == []
    assert changes.newest() == []


def test_schedules_that_end_badly_change_nothing_and_say_so() -> None:
    medium = FakeMedium("a")
    changes = changes_of(FakeLab(medium, failure=KernelError("apply a step", 12)))
    with pytest.raises(LabError, match=r"schedules are stopped, and no link was changed by hand.*apply a step"):
        changes.make(SetLinks(wishes=wishes("medium:a"), stop_playing=True))
    assert medium.applied == []
