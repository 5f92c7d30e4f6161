"""Seeds of a link's changes: numbered by the link, whoever makes the change; none comes twice."""

from __future__ import annotations

import pytest
from one_by_one import change_one_by_one

from netlab.errors import LabError, ProfileError
from netlab.lab_play import LabPlay
from netlab.namespaces.features import KernelFeatures
from netlab.namespaces.link import Link
from netlab.namespaces.link_plan import LinkPlan, plan_link
from netlab.namespaces.netem_codec import decode_netem
from netlab.namespaces.netem_qdisc import NetemQdisc
from netlab.namespaces.timeline import Track
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import DIRECTIONS, Direction, link_seed


def _features(**lacking: bool) -> KernelFeatures:
    flags = {name: True for name in KernelFeatures.__struct_fields__ if name != "release"}
    return KernelFeatures(release="6.1.0", **(flags | lacking))


class NotedKernel:
    """Takes everything, shows what it took, and notes the seeds."""

    def __init__(self) -> None:
        self.options: dict[int, bytes] = {}
        self.seeds: list[int | None] = []

    def qdisc_add(self, index: int, handle: int, parent: int, kind: str, options: bytes) -> None:
        self.options[index] = options
        self.seeds.append(decode_netem(options).seed)

    qdisc_change = qdisc_add

    def qdisc_prebuilt_change(
        self, index: int, handle: int, parent: int, kind: str, options: bytes
    ) -> tuple[NotedRequest, int]:
        return NotedRequest(self, index, options), 0

    def qdisc_read(self, index: int, handle: int, parent: int) -> object:
        return type("Entry", (), {"kind": "netem", "options": self.options[index]})


class NotedRequest:
    def __init__(self, kernel: NotedKernel, index: int, options: bytes) -> None:
        self.message = bytearray(options)
        self._kernel, self._index = kernel, index

    def send(self) -> None:
        self._kernel.qdisc_add(self._index, 0, 0, "netem", bytes(self.message))


class NotedWire:
    def __init__(self, **lacking: bool) -> None:
        self.qdiscs = NotedKernel()
        self.features = lambda: _features(**lacking)
        self.seeded = self.features().seed

    change_together = staticmethod(change_one_by_one)

    def require_impairments(self) -> None:
        pass

    def impair(self, plan: LinkPlan, direction: Direction, state: QdiscState) -> NetemQdisc:
        end = plan.second if direction == "forward" else plan.first
        qdisc = NetemQdisc(self.qdiscs, end.wire_index, features=self.features())  # type: ignore[arg-type]
        qdisc.add(state)
        return qdisc


def _link(**lacking: bool) -> tuple[Link, NotedKernel]:
    wire = NotedWire(**lacking)
    return Link("a-b", plan_link(0, "abcdef", 0, 0), wire, 9), wire.qdiscs  # type: ignore[arg-type]


def test_play_goes_on_where_the_changes_before_it_ended_and_so_on() -> None:
    link, kernel = _link()
    link.apply(LinkProfile(delay_s=0.001), "forward")
    assert kernel.seeds == [link_seed(9, "a-b", "forward", 0)]
    link.begin_play(lambda: True)
    played = [link.played_seed("forward", step) for step in range(3)]
    assert played == [link_seed(9, "a-b", "forward", number) for number in (1, 2, 3)]
    link.end_play()
    link.apply(LinkProfile(delay_s=0.002), "forward")
    assert kernel.seeds[-1] == link_seed(9, "a-b", "forward", 4)
    link.begin_play(lambda: True)
    assert link.played_seed("forward", 0) == link_seed(9, "a-b", "forward", 5)
    # A step that is superseded is never asked for; its number is used up by the later one.
    assert link.played_seed("forward", 7) == link_seed(9, "a-b", "forward", 12)
    link.end_play()
    link.begin_play(lambda: True)
    assert link.played_seed("forward", 0) == link_seed(9, "a-b", "forward", 13)
    assert link.played_seed("back", 0) == link_seed(9, "a-b", "back", 0)


def _played_link() -> tuple[Link, NotedKernel, LabPlay]:
    link, kernel = _link()
    link.apply(LinkProfile(delay_s=0.001))
    play = LabPlay("lab x")
    states = tuple(QdiscState(latency_ns=number) for number in range(3))
    for direction in DIRECTIONS:
        track = Track(name=direction, starts_s=(0.0, 1e-4, 2e-4), states=states, duration_s=3e-4)
        play.add(link, direction, track)
    return link, kernel, play


def test_no_seed_comes_twice_over_making_playing_and_changing() -> None:
    link, kernel, play = _played_link()
    for _ in range(3):
        player = play.start()
        assert player is not None and player.wait(20)
        link.apply(LinkProfile(delay_s=0.002))  # it has ended by itself
        play.stop()
        link.apply(LinkProfile(delay_s=0.003))
    assert None not in kernel.seeds
    assert len(kernel.seeds) >= 2 * (1 + 3 * (1 + 2))
    assert len(set(kernel.seeds)) == len(kernel.seeds)


def test_stopping_gives_the_link_back_and_may_be_repeated() -> None:
    link, kernel = _link()
    link.apply(LinkProfile(delay_s=0.001), "forward")
    play = LabPlay("lab x")
    play.stop()
    assert play.start() is None
    states = (QdiscState(latency_ns=1), QdiscState(latency_ns=2))
    track = Track(name="t", starts_s=(0.0, 1e-3), states=states, duration_s=2e-3, loop=True)
    play.add(link, "forward", track)
    player = play.start()
    assert player is not None and player.is_playing()
    with pytest.raises(LabError, match="link a-b is being played") as caught:
        link.apply(LinkProfile())
    assert "Lab.stop_playing()" in caught.value.hint
    with pytest.raises(LabError, match="lab x are being played already"):
        play.start()
    for _ in range(2):
        play.stop()
        assert not player.is_playing()
        link.apply(LinkProfile())
    assert play.player is player  # its log is there to be read
    assert len(set(kernel.seeds)) == len(kernel.seeds)


@pytest.mark.parametrize("state", [QdiscState(corrupt=1), QdiscState(loss_correlation=1)])
def test_a_later_step_that_comes_by_chance_is_refused_in_virtual_time(
    state: QdiscState, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, _ = _link()
    play = LabPlay("lab x")
    track = Track(name="t", starts_s=(0.0, 1e-3), states=(QdiscState(), state), duration_s=2e-3)
    play.add(link, "forward", track)
    monkeypatch.setenv("NETLAB_CLOCK", "virtual")
    with pytest.raises(ProfileError, match=r"link a-b: .* in virtual time there is none"):
        play.add(link, "forward", track)


def test_whether_seeds_are_in_force() -> None:
    for features_seed, state, is_seeded in (
        (True, LinkProfile(loss=0.1), True),
        (True, QdiscState(loss=1), False),
        (True, QdiscState(loss=1, seed=5), True),
        (False, LinkProfile(loss=0.1), False),
    ):
        link, _ = _link(seed=features_seed)
        assert link.seeded  # clean: nothing is drawn
        link.apply(state)
        assert link.seeded is is_seeded


def test_a_warning_where_netem_has_no_seeds() -> None:
    assert _features().seed_warning() == ""
    assert _features(netem=False, seed=False).seed_warning() == ""
    text = _features(seed=False).seed_warning()
    assert "kernel 6.1.0" in text and "the seed is not in force" in text and "--on guest" in text
