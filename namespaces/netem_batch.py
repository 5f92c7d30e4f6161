"""Several netem qdiscs of one wire changed in one message to the kernel.

::

    Change, Change ... --NetemQdisc.stage--> bytes, bytes ... --send_together--> kernel
                       <-NetemQdisc.settle-- None | KernelError each

    ahead of time      --prepare_netems--> PreparedNetems: the bytes joined, the qdiscs aboard one Flight
    at the deadline    --carry_out--> one mark, one send, one answer, the clock; then each qdisc is told
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from netlab.errors import LabError
from netlab.namespaces.held_state import Flight
from netlab.namespaces.impairer import Change, Refusals
from netlab.namespaces.netem_qdisc import NetemQdisc
from netlab.namespaces.prebuilt_request import JoinedRequests, PrebuiltRequest, send_together
from netlab.namespaces.staged_changes import CarriedOut, change_staged

__all__ = ["PreparedNetems", "change_netems", "prepare_netems"]


def change_netems(changes: Sequence[Change]) -> Refusals:
    """Put qdiscs of one wire in new states, each once, without reading them back.

    Returns:
        For each change its refusal, or None.

    Raises:
        LabError: A change names what is no netem qdisc, or one qdisc comes twice.
    """
    qdiscs = [_netem(change) for change in changes]
    return change_staged(qdiscs, [change.state for change in changes], send_together)


class PreparedNetems:
    """Changes of qdiscs that have their messages ready, joined to what is sent.

    Args:
        changes: What is asked for.
        qdiscs: The qdisc of each change.
        requests: The message of each change, as its qdisc has made it ready.
    """

    __slots__ = ("_changes", "_flight", "_joined", "_qdiscs")

    def __init__(
        self, changes: Sequence[Change], qdiscs: Sequence[NetemQdisc], requests: Sequence[PrebuiltRequest]
    ) -> None:
        self._changes = changes
        self._qdiscs = qdiscs
        self._joined = JoinedRequests(requests)
        self._flight = Flight()
        for qdisc in qdiscs:
            qdisc.board(self._flight)

    def carry_out(self, now_s: Callable[[], float]) -> CarriedOut:
        """Send them; where one of the qdiscs has been changed otherwise since, all the ordinary way.

        Nothing is done qdisc by qdisc before the answer is there.

        Args:
            now_s: Tells the time; asked once, as soon as the answer is there.
        """
        flight, refusals = self._flight, None
        if flight.is_stale:
            return CarriedOut(change_netems(self._changes), now_s())
        try:
            flight.is_under_way = True
            refusals = self._joined.send()
            answered_s = now_s()
        finally:
            self._land(refusals)
        return CarriedOut(list(refusals), answered_s)

    def _land(self, refusals: Sequence[object] | None) -> None:
        """Tell each qdisc what has become of its change; without refusals it is not known of any."""
        for index, qdisc in enumerate(self._qdiscs):
            qdisc.land(refusals is not None and refusals[index] is None)
        self._flight.is_stale = True  # sent once
        self._flight.is_under_way = False


def prepare_netems(changes: Sequence[Change]) -> PreparedNetems | None:
    """Make changes of qdiscs ready to be sent; None where one of them has no message ready.

    Args:
        changes: Each qdisc has been told by ``prepare`` of the state it gets.

    Raises:
        LabError: A change names what is no netem qdisc, or one qdisc comes twice.
    """
    qdiscs = [_netem(change) for change in changes]
    if len({id(qdisc) for qdisc in qdiscs}) != len(qdiscs):
        raise LabError("one direction twice among changes made together", hint="name each direction once")
    requests: list[PrebuiltRequest] = []
    for qdisc, change in zip(qdiscs, changes, strict=True):
        request = qdisc.prepared(change.state)
        if request is None:
            return None
        requests.append(request)
    return PreparedNetems(changes, qdiscs, requests) if requests else None


def _netem(change: Change) -> NetemQdisc:
    if not isinstance(change.impairer, NetemQdisc):
        raise LabError(
            f"{type(change.impairer).__name__} is no netem qdisc of this wire",
            hint="change directions of one lab's wire together, those of another by themselves",
        )
    return change.impairer
