"""A direction of a relayed link against a relay that answers what the test says: what counts as proven."""

from __future__ import annotations

import errno

import pytest

from netlab.errors import KernelError
from netlab.namespaces.relay.direction import RelayDirection
from netlab.namespaces.relay.refusal import Refusal
from netlab.namespaces.relay.requests import LinkPlace, PlainState, Put, PutStates, Read, Reply, to_plain
from netlab.traces.qdisc_state import QdiscState

STATE = QdiscState(latency_ns=5_000_000, seed=1)


class SayingRelay:
    """A relay that takes a state, or not, and shows what it is told to show.

    Attributes:
        shown: What it shows; None for no impairment.
        refusal: What it says to a change.
    """

    def __init__(self) -> None:
        self.shown: PlainState | None = None
        self.refusal: Refusal | None = None
        self.lies: QdiscState | None = None

    def ask(self, request: PutStates | Read, attempt: str) -> Reply:
        if isinstance(request, Read):
            return Reply(state=self.shown)
        (put,) = request.puts
        assert isinstance(put, Put)
        if self.refusal is None:
            self.shown = put.state if self.lies is None else to_plain(self.lies)
        return Reply(refusals=(self.refusal,))


def direction(relay: SayingRelay) -> RelayDirection:
    return RelayDirection(relay, LinkPlace(3, "back"), "link edge-agent, back")  # type: ignore[arg-type]


def test_a_relay_that_shows_what_was_asked_is_proven() -> None:
    one = direction(SayingRelay())
    one.apply(STATE)
    assert one.verify() is True
    assert one.asked == STATE == one.read()


def test_another_state_after_a_change_is_an_error() -> None:
    relay = SayingRelay()
    relay.lies = STATE.replace(latency_ns=6_000_000)
    with pytest.raises(KernelError, match=r"link edge-agent, back in the state.*latency_ns: asked 5000000"):
        direction(relay).apply(STATE)


def test_a_state_that_somebody_else_has_put_is_found_with_each_field() -> None:
    relay = SayingRelay()
    one = direction(relay)
    one.apply_fast(STATE)
    relay.shown = to_plain(STATE.replace(loss=7, limit_packets=9))
    with pytest.raises(KernelError) as caught:
        one.verify()
    assert "loss: " in caught.value.words and "limit_packets: " in caught.value.words
    relay.shown = None
    with pytest.raises(KernelError, match="it has no impairment yet"):
        one.verify()


def test_nothing_is_proven_while_a_change_is_on_its_way_or_before_the_first() -> None:
    one = direction(SayingRelay())
    with pytest.raises(KernelError, match="nothing was sent yet"):
        one.verify()
    one.apply(STATE)
    one.stage(STATE.replace(loss=1))
    assert one.verify() is False
    one.settle(accepted=False)
    assert one.verify() is True


def test_a_refused_change_leaves_what_was_asked_before() -> None:
    relay = SayingRelay()
    one = direction(relay)
    one.apply(STATE)
    relay.refusal = Refusal(kind="kernel", errno=errno.ENODEV, words="no such link")
    with pytest.raises(KernelError, match="change link edge-agent, back"):
        one.apply(STATE.replace(loss=1))
    assert one.asked == STATE
    assert one.verify() is True
