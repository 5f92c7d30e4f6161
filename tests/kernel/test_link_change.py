"""Links changed together on a real kernel: one message, each refusal its own, read back beside it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from netlab.errors import KernelError, LabError
from netlab.lab import Lab
from netlab.namespaces.impairer import Change
from netlab.namespaces.link import Link
from netlab.namespaces.link_change import LinkChange, change_links
from netlab.namespaces.netem_batch import change_netems
from netlab.namespaces.netem_qdisc import NetemQdisc
from netlab.traces.pair import ProfilePair
from netlab.traces.profile import LinkProfile
from netlab.traces.qdisc_state import QdiscState
from netlab.traces.seed import link_seed

MS = 1_000_000
LINKS = 130
"""More than one message to the kernel carries."""


@pytest.fixture
def links() -> Iterator[list[Link]]:
    with Lab(seed=5) as lab:
        hub = lab.add_host("hub")
        yield [
            lab.add_link(hub, lab.add_host(f"spoke{number}"), LinkProfile(delay_s=0.010))
            for number in range(LINKS)
        ]


def _qdiscs(links: list[Link]) -> list[NetemQdisc]:
    found = [qdisc for link in links for qdisc in (link.forward, link.back)]
    assert all(isinstance(qdisc, NetemQdisc) for qdisc in found)
    return [qdisc for qdisc in found if isinstance(qdisc, NetemQdisc)]


def test_many_links_change_together_and_show_it(links: list[Link]) -> None:
    profiles = [LinkProfile(delay_s=0.020 + 0.001 * number, loss=0.01) for number in range(LINKS)]
    asked = [LinkChange(link, profile) for link, profile in zip(links, profiles, strict=True)]
    applied = change_links(links[0].wire, asked)
    assert [(row.link, row.direction) for row in applied] == [
        (link.name, direction) for link in links for direction in ("forward", "back")
    ]
    assert {row.refusal for row in applied} == {None}
    assert len({row.asked_s for row in applied}) == 1
    assert all(row.asked_s <= row.applied_s for row in applied)
    for number, link in enumerate(links):
        shown = link.read()
        assert shown.forward is not None and shown.back is not None
        assert shown.forward.latency_ns == shown.back.latency_ns == (20 + number) * MS
        assert shown.forward.seed == link_seed(5, link.name, "forward", 1)
        assert shown.back.seed == link_seed(5, link.name, "back", 1)


def test_one_message_for_both_directions(links: list[Link], monkeypatch: pytest.MonkeyPatch) -> None:
    qdiscs = _qdiscs(links[:1])
    for qdisc in qdiscs:
        qdisc.apply_fast(QdiscState(latency_ns=11 * MS, seed=3))
    request = qdiscs[0]._request
    assert request is not None
    sent: list[int] = []
    send = request._send

    def noted(data: bytes) -> int:
        sent.append(len(data))
        return send(data)

    monkeypatch.setattr(request, "_send", noted)
    state = QdiscState(latency_ns=12 * MS, seed=4)
    assert change_netems([Change(qdisc, state) for qdisc in qdiscs]) == [None, None]
    assert sent == [2 * len(request.message)]
    assert [qdisc.read().latency_ns for qdisc in qdiscs] == [12 * MS, 12 * MS]


def test_a_refusal_is_its_own(links: list[Link]) -> None:
    qdiscs = _qdiscs(links[:3])
    qdiscs[2].delete()  # as another program might, behind the link's back
    outcomes = change_netems([Change(qdisc, QdiscState(latency_ns=33 * MS, loss=5, seed=6)) for qdisc in qdiscs])
    assert [outcome is None for outcome in outcomes] == [True, True, False, True, True, True]
    assert isinstance(outcomes[2], KernelError) and "interface" in str(outcomes[2])
    others = [*qdiscs[:2], *qdiscs[3:]]
    assert [qdisc.read().latency_ns for qdisc in others] == [33 * MS] * 5
    assert all(qdisc.verify() for qdisc in others)


def test_nothing_twice_and_nothing_foreign(links: list[Link]) -> None:
    qdisc = _qdiscs(links[:1])[0]
    change = Change(qdisc, QdiscState(latency_ns=MS, seed=1))
    with pytest.raises(LabError, match="one direction twice"):
        change_netems([change, change])
    assert qdisc.verify()


def test_a_direction_without_netem_gets_it(links: list[Link]) -> None:
    with Lab(seed=5) as lab:
        link = lab.add_link(lab.add_host("a"), lab.add_host("b"))
        assert link.forward is None
        pair = ProfilePair("p", LinkProfile(delay_s=0.001), LinkProfile(delay_s=0.002))
        assert [row.refusal for row in change_links(link.wire, [LinkChange(link, pair)])] == [None, None]
        shown = link.read()
        assert shown.forward is not None and shown.back is not None
        assert (shown.forward.latency_ns, shown.back.latency_ns) == (MS, 2 * MS)


def test_a_read_back_beside_changes_never_cries_wolf(links: list[Link]) -> None:
    """One thread changes as fast as it can, another verifies: each verdict is of one state or none."""
    qdisc = _qdiscs(links[:1])[0]
    stop = threading.Event()
    problems: list[BaseException] = []
    verdicts = {True: 0, False: 0}

    def read_back() -> None:
        try:
            while not stop.is_set():
                verdicts[qdisc.verify()] += 1
        except BaseException as error:
            problems.append(error)

    reader = threading.Thread(target=read_back)
    reader.start()
    for number in range(3000):
        qdisc.apply_fast(QdiscState(latency_ns=number * 1000, loss=number, seed=number))
    stop.set()
    reader.join()
    print(verdicts)
    assert problems == []
    assert sum(verdicts.values()) > 0
    assert qdisc.verify(), "at rest it tells"
    # And it does tell of a difference: someone else's change.
    qdisc._socket.qdisc_delete(qdisc.ifindex, qdisc.handle, qdisc._parent)
    with pytest.raises(KernelError):
        qdisc.verify()
