"""Room for descriptors: as many as a lab's hosts cost, or an error that names the number."""

from __future__ import annotations

import resource

import pytest

from netlab.errors import LabError
from netlab.lab_descriptors import LabDescriptors


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Limits of a process, soft and hard, that are not ours."""
    values = [1024, 4096]

    def set_limits(_: int, new: tuple[int, int]) -> None:
        assert new[1] == values[1]
        values[:] = new

    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(values))
    monkeypatch.setattr(resource, "setrlimit", set_limits)
    return values


def test_a_small_lab_changes_nothing(limits: list[int]) -> None:
    descriptors = LabDescriptors("lab x")
    for _ in range(100):
        descriptors.take_host()
    assert limits == [1024, 4096]


def test_a_large_lab_raises_the_soft_limit_and_no_further_than_the_hard_one(limits: list[int]) -> None:
    LabDescriptors("lab x").make_room(1001)
    assert 2002 < limits[0] <= 4096
    assert limits[1] == 4096


def test_too_many_hosts_are_refused_with_the_number(limits: list[int]) -> None:
    with pytest.raises(
        LabError, match=r"lab x needs 8\d{3} file descriptors: this process may have 4096"
    ) as caught:
        LabDescriptors("lab x").make_room(4000)
    assert "ulimit -Hn 8" in caught.value.hint
    assert limits == [1024, 4096]


def test_hosts_one_by_one_are_counted_now_and_then(limits: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    limits[:] = [resource.RLIM_INFINITY, resource.RLIM_INFINITY]
    descriptors = LabDescriptors("lab x")
    counted = []
    original = LabDescriptors.make_room

    def note(self: LabDescriptors, hosts: int) -> None:
        counted.append(self._room < hosts)
        original(self, hosts)

    monkeypatch.setattr(LabDescriptors, "make_room", note)
    for _ in range(1000):
        descriptors.take_host()
    assert sum(counted) <= 10
